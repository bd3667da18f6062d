import type { Offer, SharedOffer } from '../../model/relay/export-policy.ts';
import { encodeLinkFacts } from '../../model/relay/link-metadata.ts';
import { formatOriginName, portKeyOf } from '../../model/relay/names.ts';
import type { HeardStatus, Origin, PublishedResource, Step } from '../../model/relay/origin.ts';
import { bestWay } from '../../model/relay/ways.ts';
import { policyVersion } from '../../outputs/relay/policy-version.ts';
import type { Entry, Resource } from '../../outputs/xds/log-entry.ts';
import { contentVersion, ResourceLog } from '../../outputs/xds/resource-log.ts';
import { typeUrls } from '../../wire/proto/type-urls.ts';

/** What views read of an entry. */
export type EntryFacts = SharedOffer;

export interface OriginTableOptions {
  readonly set: string;
  /** Name of this relay. */
  readonly relay: string;
  /** Its readers are relays: they enforce the export policy themselves. */
  readonly isForRelays: boolean;
  /** See `ResourceLogOptions.absent`. */
  readonly absent: (name: string) => boolean;
  /** By a way that is not whole: everything that there is of this port has been told. */
  readonly isAnswered: (way: Origin, port: string) => boolean;
}

/** A log of what origins tell, each by the way that counts. */
export class OriginTable {
  readonly log: ResourceLog;
  readonly #options: OriginTableOptions;
  readonly #chosen = new Map<string, Origin>();
  /** Cluster → names of an earlier way, of which the chosen one does not know yet whether they are there. */
  readonly #leftover = new Map<string, Map<string, PublishedResource>>();
  /** Cluster → a way that is told no more, and that knew more than the chosen one: what it told stays until then. */
  readonly #held = new Map<string, Origin>();

  constructor(options: OriginTableOptions) {
    this.#options = options;
    this.log = new ResourceLog({ absent: (_type, name) => options.absent(name), borrows: true });
  }

  /** The way that counts for a cluster. */
  chosen(cluster: string): Origin | undefined {
    return this.#chosen.get(cluster);
  }

  /** The name of the OriginStatus of the cluster that an entry is of. */
  statusOf({ facts }: Entry): string {
    return this.#statusName((facts as EntryFacts).cluster);
  }

  /** Something of a cluster that the log holds is for somebody. */
  offers(cluster: string, isFor: (offer: Offer) => boolean): boolean {
    const way = this.#held.get(cluster) ?? this.#chosen.get(cluster);
    if (way?.offers(isFor)) return true;
    for (const { offer } of this.#leftover.get(cluster)?.values() ?? []) if (isFor(offer)) return true;
    return false;
  }

  /**
   * A way of this cluster has changed, by these steps, or is there no more. True: streams must look again at what they
   * may see. To be followed by a flush of the log.
   */
  update(cluster: string, ways: readonly Origin[], changed: Origin, steps: readonly Step[]): boolean {
    const before = this.#chosen.get(cluster);
    const next = bestWay(ways.filter((way) => way.isComplete));
    const at = this.log.position;
    let refresh = false;
    if (changed === before && !this.#held.has(cluster)) {
      for (const step of steps) refresh = this.#step(step) || refresh;
    }
    if (next && before && !ways.includes(before) && !this.#held.has(cluster)) this.#held.set(cluster, before);
    const held = this.#held.get(cluster);
    if (next && held && isBehind(next, held)) {
      this.#chosen.set(cluster, next);
      refresh ||= next !== before;
    } else if (next !== before || held) {
      this.#held.delete(cluster);
      refresh = this.#choose(cluster, held ?? before, next) || refresh;
    }
    if (next) refresh = this.#tellStatus(next, this.log.position !== at) || refresh;
    return refresh;
  }

  /** Ways may know of more ports now whether something is there. */
  answered(): void {
    for (const cluster of [...this.#leftover.keys()]) {
      const way = this.#chosen.get(cluster);
      if (!way || this.#held.has(cluster)) continue;
      const at = this.log.position;
      this.#clear(way);
      this.#tellStatus(way, this.log.position !== at);
    }
  }

  /** New before old, so that nothing is missing on the way. */
  #choose(cluster: string, before: Origin | undefined, next: Origin | undefined): boolean {
    const left = this.#leftover.get(cluster) ?? new Map<string, PublishedResource>();
    this.#leftover.set(cluster, left);
    for (const resource of before?.resources ?? []) left.set(resource.name, resource);
    if (next) {
      this.#chosen.set(cluster, next);
      for (const resource of next.resources) this.#set(resource);
      this.#clear(next);
      return true;
    }
    this.#chosen.delete(cluster);
    this.#leftover.delete(cluster);
    for (const { typeUrl, name } of left.values()) this.log.remove(typeUrl, name);
    this.log.remove(typeUrls.originStatus, this.#statusName(cluster));
    return true;
  }

  #clear(way: Origin): void {
    const left = this.#leftover.get(way.cluster);
    for (const { name, typeUrl, parsed } of left?.values() ?? []) {
      if (!way.has(name)) {
        if (!way.isWhole && !this.#options.isAnswered(way, portKeyOf(parsed))) continue;
        this.log.remove(typeUrl, name);
      }
      left?.delete(name);
    }
    if (left?.size === 0) this.#leftover.delete(way.cluster);
  }

  #step(step: Step): boolean {
    if ('set' in step) return this.#set(step.set);
    this.log.remove(step.remove.typeUrl, step.remove.name);
    return true;
  }

  /** Whether somebody may see more or less than before. */
  #set(resource: PublishedResource): boolean {
    const { typeUrl, name, offer } = resource;
    const before = this.log.get(typeUrl, name);
    const same = before?.state === 'set' && (before.facts as EntryFacts).policy === offer.policy;
    this.log.set(typeUrl, new PassedResource(resource, this.#options.isForRelays));
    return !same;
  }

  /** A change counts for relays that read it once a status follows it. */
  #tellStatus(way: Origin, hasChanged: boolean): boolean {
    const { cluster } = way;
    const heard = (this.#held.get(cluster) ?? way).heard;
    const at = this.log.position;
    const refresh = this.#setStatus(cluster, heard, way.path);
    if (hasChanged && this.log.position === at) {
      this.log.tellAgain(typeUrls.originStatus, this.#statusName(cluster));
    }
    return refresh;
  }

  /** The path rides beside the status: it is the same for all that an origin tells. */
  #setStatus(cluster: string, heard: HeardStatus | undefined, path: readonly string[]): boolean {
    const name = this.#statusName(cluster);
    const before = this.log.get(typeUrls.originStatus, name);
    const { labels, region, network } = heard?.status ?? {};
    // What views look at, of this entry and of who is offered something.
    const policy = JSON.stringify([path, labels, region, network]);
    const same = before?.state === 'set' && (before.facts as EntryFacts).policy === policy;
    this.log.set(typeUrls.originStatus, {
      name,
      body: heard?.body ?? Buffer.alloc(0),
      metadata: encodeLinkFacts({ path: [...path, this.#options.relay], mark: 0 }),
      facts: same ? before.facts : ({ cluster, namespace: '', to: [], policy } satisfies EntryFacts),
    });
    return !same;
  }

  #statusName(cluster: string): string {
    return formatOriginName({ set: this.#options.set, cluster });
  }
}

/** Of the same life, and it does not know yet what the other one knew. */
const isBehind = (way: Origin, other: Origin): boolean =>
  way.epoch === other.epoch && way.sequence < other.sequence;

/** As readers get it, over the bytes that the origin holds: what rides beside them is encoded when it is sent. */
class PassedResource implements Resource {
  readonly #from: PublishedResource;
  readonly #isForRelays: boolean;

  constructor(from: PublishedResource, isForRelays: boolean) {
    this.#from = from;
    this.#isForRelays = isForRelays;
  }

  get name(): string {
    return this.#from.name;
  }

  get body(): Uint8Array {
    return this.#from.body;
  }

  get version(): string {
    const { body, offer } = this.#from;
    return this.#isForRelays ? policyVersion(body, offer.to) : contentVersion(body);
  }

  get metadata(): Buffer {
    const { offer, mark } = this.#from;
    return encodeLinkFacts({ ...(this.#isForRelays ? { export: offer.to } : {}), path: [], mark });
  }

  get facts(): EntryFacts {
    return this.#from.offer;
  }
}
