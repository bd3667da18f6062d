import type { Peer, Refused } from './authority.ts';
import { type ExportTarget, isOfferedTo } from './export-policy.ts';
import type { ContributionName } from './names.ts';
import type { PeerBudget } from './peer-budget.ts';

/** A contribution's resource as it came from its origin. */
export interface PublishedResource {
  readonly name: string;
  readonly parsed: ContributionName;
  readonly typeUrl: string;
  /** Bytes of the message, forwarded as they came. */
  readonly body: Uint8Array;
  readonly policy: readonly ExportTarget[];
  /** Relays it came by, this one included. */
  readonly path: readonly string[];
  /** The origin's clock when it changed, epoch milliseconds; 0: not said. */
  readonly mark: number;
}

/** What is remembered of one: who serves it has the body. */
export type HeldResource = Omit<PublishedResource, 'body'>;

/** A step for whoever serves the resources: in order, what is new before what goes. */
export type Step =
  | { readonly set: PublishedResource }
  | { readonly remove: { readonly typeUrl: string; readonly name: string } };

/**
 * What one member publishes. What it tells on a new link is held back until it says that it has told everything:
 * a restarted member never shrinks what others see. What it told before stays in force without a link.
 */
export class Origin {
  readonly cluster: string;
  readonly #budget: PeerBudget;
  #peer: Peer | undefined;
  readonly #committed = new Map<string, HeldResource>();
  /** Told since the link began; null: removed. Undefined: the link has told everything, changes pass at once. */
  #staged: Map<string, PublishedResource | null> | undefined = new Map();
  /** Namespace and policy → how many resources carry it. */
  readonly #offers = new Map<
    string,
    { readonly namespace: string; readonly to: readonly ExportTarget[]; count: number }
  >();
  #complete = false;

  constructor(cluster: string, budget: PeerBudget) {
    this.cluster = cluster;
    this.#budget = budget;
  }

  /** Of the last link; undefined before the first. */
  get peer(): Peer | undefined {
    return this.#peer;
  }

  /** It has told its complete state at least once. */
  get isComplete(): boolean {
    return this.#complete;
  }

  get resources(): Iterable<HeldResource> {
    return this.#committed.values();
  }

  get size(): number {
    return this.#committed.size;
  }

  /** A link began: what comes is held back until `commit`. Held back from an earlier link stays held back. */
  linked(peer: Peer): void {
    this.#peer = peer;
    this.#staged ??= new Map();
  }

  /** Takes a resource; bounds are the peer's. Its steps are empty while it is held back. */
  put(resource: PublishedResource): readonly Step[] | Refused {
    const refused = this.#budget.admit(resource.name, resource.body.length);
    if (refused) return refused;
    if (this.#staged) {
      this.#staged.set(resource.name, resource);
      return [];
    }
    return this.#apply(resource.name, resource);
  }

  remove(name: string): readonly Step[] {
    if (this.#staged) {
      this.#staged.set(name, null);
      return [];
    }
    return this.#apply(name, null);
  }

  /** It has told everything. */
  commit(): readonly Step[] {
    this.#complete = true;
    const staged = this.#staged;
    this.#staged = undefined;
    const steps: Step[] = [];
    for (const [name, value] of staged ?? []) if (value) steps.push(...this.#apply(name, value));
    for (const [name, value] of staged ?? []) if (!value) steps.push(...this.#apply(name, null));
    return steps;
  }

  /** It offers something to `consumer`, or nothing at all (then not even its existence). */
  offersTo(consumer: Peer): boolean {
    for (const { namespace, to } of this.#offers.values()) {
      if (isOfferedTo(consumer, { cluster: this.cluster, namespace, to })) return true;
    }
    return false;
  }

  #apply(name: string, next: PublishedResource | null): readonly Step[] {
    const before = this.#committed.get(name);
    if (before) this.#count(before, -1);
    if (next) {
      this.#count(next, 1);
      const { body: _, ...held } = next;
      this.#committed.set(name, held);
      return [{ set: next }];
    }
    this.#budget.release(name);
    if (!before) return [];
    this.#committed.delete(name);
    return [{ remove: { typeUrl: before.typeUrl, name } }];
  }

  #count(resource: HeldResource, by: 1 | -1): void {
    const { namespace } = resource.parsed;
    const key = JSON.stringify([namespace, resource.policy]);
    const offer = this.#offers.get(key) ?? { namespace, to: resource.policy, count: 0 };
    offer.count += by;
    if (offer.count > 0) this.#offers.set(key, offer);
    else this.#offers.delete(key);
  }
}
