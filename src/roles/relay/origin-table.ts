import type { ExportTarget } from '../../model/relay/export-policy.ts';
import { encodeLinkFacts } from '../../model/relay/link-metadata.ts';
import { formatOriginName, portKeyOf } from '../../model/relay/names.ts';
import type { Origin, PublishedResource, Step } from '../../model/relay/origin.ts';
import { bestWay } from '../../model/relay/ways.ts';
import { policyVersion } from '../../outputs/relay/policy-version.ts';
import { contentVersion, ResourceLog } from '../../outputs/xds/resource-log.ts';
import { typeUrls } from '../../wire/proto/type-urls.ts';

/** What views read of an entry. */
export interface EntryFacts {
  readonly cluster: string;
  readonly namespace: string;
  readonly to: readonly ExportTarget[];
  /** Of `to`. */
  readonly policy: string;
}

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

  constructor(options: OriginTableOptions) {
    this.#options = options;
    this.log = new ResourceLog({ absent: (_type, name) => options.absent(name) });
  }

  /** The way that counts for a cluster. */
  chosen(cluster: string): Origin | undefined {
    return this.#chosen.get(cluster);
  }

  /**
   * A way of this cluster has changed, by these steps, or is there no more. True: streams must look again at what they
   * may see. To be followed by a flush of the log.
   */
  update(cluster: string, ways: readonly Origin[], changed: Origin, steps: readonly Step[]): boolean {
    const before = this.#chosen.get(cluster);
    const next = bestWay(ways.filter((way) => way.isComplete));
    let refresh = false;
    if (changed === before) for (const step of steps) refresh = this.#step(step) || refresh;
    if (next !== before) refresh = this.#choose(cluster, before, next) || refresh;
    if (next?.heard) refresh = this.#setStatus(next) || refresh;
    return refresh;
  }

  /** Ways may know of more ports now whether something is there. */
  answered(): void {
    for (const cluster of [...this.#leftover.keys()]) {
      const way = this.#chosen.get(cluster);
      if (way) this.#clear(way);
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
  #set({ typeUrl, name, body, parsed, policy, mark }: PublishedResource): boolean {
    const { isForRelays } = this.#options;
    const before = this.log.get(typeUrl, name);
    const facts: EntryFacts = {
      cluster: parsed.cluster,
      namespace: parsed.namespace,
      to: policy,
      policy: JSON.stringify(policy),
    };
    const same = before?.state === 'set' && (before.facts as EntryFacts).policy === facts.policy;
    this.log.set(typeUrl, {
      name,
      body,
      version: isForRelays ? policyVersion(body, policy) : contentVersion(body),
      metadata: encodeLinkFacts({ ...(isForRelays ? { export: policy } : {}), path: [], mark }),
      facts: same ? before.facts : facts,
    });
    return !same;
  }

  /** The path rides beside the status: it is the same for all that an origin tells. */
  #setStatus({ cluster, heard, path }: Origin): boolean {
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
