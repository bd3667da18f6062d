import { authorizePublished, isRefused, type Refused, type Speaker } from '../../model/relay/authority.ts';
import { decodeLinkFacts } from '../../model/relay/link-metadata.ts';
import type { ContributionName } from '../../model/relay/names.ts';
import { parseRelayName } from '../../model/relay/names.ts';
import { Origin, type Step } from '../../model/relay/origin.ts';
import { decodeOriginStatus } from '../../model/relay/origin-status.ts';
import { refusedPath } from '../../model/relay/path.ts';
import { PeerBudget, type PeerLimits } from '../../model/relay/peer-budget.ts';
import type { Clock } from '../../runtime/clock.ts';
import { ownBytes } from '../../wire/own-bytes.ts';
import type { Refusal } from '../../wire/proto/discovery.ts';
import { typeUrls } from '../../wire/proto/type-urls.ts';
import type { ClientUpdate, DeltaClientStream, Upsert } from '../xds/delta-client-stream.ts';
import { BadContent, decodeCluster, decodeShard } from './decode.ts';

/** What became of an origin by one message. */
export interface OriginChange {
  readonly origin: Origin;
  readonly steps: readonly Step[];
  /** The peer does not tell of it any more. */
  readonly isDropped: boolean;
}

export type RefusedName = Refused & { readonly name: string };

interface WordEvents {
  /** Of one message, or of what happened to a link. */
  readonly onChanges: (changes: readonly OriginChange[]) => void;
  /** Of one message. */
  readonly onRefused: (refused: readonly RefusedName[]) => void;
}

export interface OriginWordsOptions extends WordEvents {
  /** Name of this relay. */
  readonly relay: string;
  readonly limits: PeerLimits;
  readonly clock: Clock;
  /** What it told of a cluster is not held any more: it must not be claimed on the next link. */
  readonly onForgotten: (cluster: string) => void;
  /** The peer tells all it has, without being asked for it. */
  readonly isWhole: boolean;
}

/** Who is at the other end. */
export interface Teller extends Speaker {
  /** Name of the relay at the other end; empty: the origin itself. */
  readonly relay: string;
  /** What to pass on of the status that came. */
  readonly stamp: (status: Uint8Array) => Uint8Array;
}

const maxOrigins = 10_000;
const nothing: readonly Step[] = [];

/** What one peer tells of origins: each resource is checked, each origin bounded. It stays without a link. */
export class OriginWords {
  readonly origins = new Map<string, Origin>();
  readonly #options: OriginWordsOptions;
  /** Heard on the link that is up. */
  readonly #heard = new Set<string>();
  /** On it everything has been told. */
  #settled = false;

  constructor(options: OriginWordsOptions) {
    this.#options = options;
  }

  /** A link began. */
  linked(): void {
    this.#heard.clear();
    this.#settled = false;
    for (const origin of this.origins.values()) origin.linked();
  }

  unlinked(): void {
    const changes = [...this.origins.values()].map((origin) => ({
      origin,
      steps: nothing,
      isDropped: false,
    }));
    for (const { origin } of changes) origin.unlinked();
    if (changes.length > 0) this.#options.onChanges(changes);
  }

  /** Forgets origins for which `which` holds. */
  drop(which: (cluster: string, origin: Origin) => boolean): void {
    const changes = [...this.origins].flatMap(([cluster, origin]) =>
      which(cluster, origin) ? this.#drop(cluster) : [],
    );
    if (changes.length > 0) this.#options.onChanges(changes);
  }

  /** The peer has told everything: of an origin that it did not tell, and of which nothing is left, it knows nothing. */
  settle(): void {
    this.#settled = true;
    const changes = [...this.origins.values()].flatMap((origin): OriginChange[] => {
      const steps = origin.settle();
      if (this.#heard.has(origin.cluster))
        return steps.length > 0 ? [{ origin, steps, isDropped: false }] : [];
      const isDropped = this.#isForgotten(origin);
      if (isDropped) this.#drop(origin.cluster);
      return [{ origin, steps, isDropped }];
    });
    if (changes.length > 0) this.#options.onChanges(changes);
  }

  /** A port is not asked for any more. */
  forgetPort(port: string): void {
    const changes = [...this.origins.values()].map((origin) => ({
      origin,
      steps: origin.forgetPort(port),
      isDropped: false,
    }));
    if (changes.length > 0) this.#options.onChanges(changes);
  }

  apply(update: ClientUpdate, teller: Teller): readonly Refusal[] {
    const refused: RefusedName[] = [];
    const steps = new Map<Origin, Step[]>();
    for (const upsert of update.upserts) {
      const result = this.#upsert(update.typeUrl, upsert, teller);
      if (isRefused(result)) refused.push({ ...result, name: upsert.name });
      else add(steps, result.origin, result.steps);
    }
    const dropped: OriginChange[] = [];
    for (const text of update.removals) {
      const name = parseRelayName(text);
      const origin = name && this.origins.get(name.cluster);
      if (!name || !origin) continue;
      if (name.kind === 'contribution') {
        add(steps, origin, origin.remove(text));
        if (this.#isForgotten(origin)) dropped.push(...this.#drop(name.cluster));
      } else if (update.typeUrl === typeUrls.originStatus) dropped.push(...this.#drop(name.cluster));
    }
    const changes = [...steps].map(([origin, of]) => ({ origin, steps: of, isDropped: false }));
    if (changes.length + dropped.length > 0) this.#options.onChanges([...changes, ...dropped]);
    if (refused.length > 0) this.#options.onRefused(refused);
    return refused.map(({ name, message }) => ({ name, message }));
  }

  #isForgotten(origin: Origin): boolean {
    return this.#settled && !this.#heard.has(origin.cluster) && origin.isEmpty;
  }

  #drop(cluster: string): OriginChange[] {
    const origin = this.origins.get(cluster);
    this.origins.delete(cluster);
    this.#options.onForgotten(cluster);
    return origin ? [{ origin, steps: nothing, isDropped: true }] : [];
  }

  #upsert(typeUrl: string, upsert: Upsert, teller: Teller): Pick<OriginChange, 'origin' | 'steps'> | Refused {
    const parsed = authorizePublished(upsert.name, teller);
    if (isRefused(parsed)) return parsed;
    const expected = parsed.kind === 'origin' ? typeUrls.originStatus : typeUrls[parsed.type];
    if (typeUrl !== expected) {
      return { reason: 'type', message: 'expected a name of the type that it is published as' };
    }
    const facts = decodeLinkFacts(upsert.metadata);
    if (!facts) return { reason: 'content', message: 'expected export, path and mark beside the resource' };
    if (parsed.kind === 'origin') return this.#putStatus(parsed.cluster, upsert, facts.path, teller);
    const { name, body } = upsert;
    const wrong = this.#contentError(parsed, name, body);
    if (wrong) return { reason: 'content', message: wrong.message };
    const origin = this.#origin(parsed.cluster, teller);
    if (isRefused(origin)) return origin;
    // A copy: what came is a part of a whole message.
    const { mark, export: to = [] } = facts;
    const offer = origin.offer(parsed.namespace, to);
    const steps = origin.put({ name, parsed, typeUrl, body: ownBytes(body), offer, mark });
    return isRefused(steps) ? steps : { origin, steps };
  }

  #putStatus(
    cluster: string,
    { body: received }: Upsert,
    path: readonly string[],
    teller: Teller,
  ): Pick<OriginChange, 'origin' | 'steps'> | Refused {
    const wrong = refusedPath(path, this.#options.relay);
    if (wrong) return wrong;
    const origin = this.#origin(cluster, teller);
    if (isRefused(origin)) return origin;
    try {
      const body = ownBytes(teller.stamp(received));
      const status = decodeOriginStatus(body);
      this.#heard.add(cluster);
      return { origin, steps: origin.hear({ status, body, path, heardAt: this.#options.clock.now() }) };
    } catch {
      return { reason: 'content', message: 'expected a causeway.v1.OriginStatus' };
    }
  }

  #origin(cluster: string, { relay }: Teller): Origin | Refused {
    const known = this.origins.get(cluster);
    if (known) return known;
    if (this.origins.size >= maxOrigins) {
      return { reason: 'limit', message: `expected at most ${maxOrigins} clusters of one relay` };
    }
    const { limits, clock, isWhole } = this.#options;
    const budget = new PeerBudget(limits, clock.now());
    const made = new Origin({ cluster, relay, isWhole, budget });
    this.origins.set(cluster, made);
    return made;
  }

  #contentError(parsed: ContributionName, name: string, body: Uint8Array): BadContent | undefined {
    const { endpointsPerShard: limit } = this.#options.limits;
    const result =
      parsed.type === 'cluster'
        ? decodeCluster(body, name)
        : decodeShard(body, { name, cluster: parsed.cluster, limit });
    return result instanceof BadContent ? result : undefined;
  }
}

function add(all: Map<Origin, Step[]>, origin: Origin, steps: readonly Step[]): void {
  const known = all.get(origin);
  if (known) known.push(...steps);
  else all.set(origin, [...steps]);
}

/** So that `stream` does not claim what was dropped of a cluster. */
export function forgetCluster(stream: DeltaClientStream, cluster: string): void {
  for (const typeUrl of [typeUrls.cluster, typeUrls.assignment]) {
    stream.forget(typeUrl, (name) => parseRelayName(name)?.cluster === cluster);
  }
}
