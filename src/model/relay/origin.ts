import type { Refused } from './authority.ts';
import type { ExportTarget, Offer, SharedOffer } from './export-policy.ts';
import { type ContributionName, portKeyOf } from './names.ts';
import type { OriginStatus } from './origin-status.ts';
import type { PeerBudget } from './peer-budget.ts';
import type { Way } from './ways.ts';

/** A contribution's resource as it came from its origin. */
export interface PublishedResource {
  readonly name: string;
  readonly parsed: ContributionName;
  readonly typeUrl: string;
  /** Bytes of the message, forwarded as they came. */
  readonly body: Uint8Array;
  readonly offer: SharedOffer;
  /** The origin's clock when it changed, epoch milliseconds; 0: not said. */
  readonly mark: number;
}

/** A step for whoever serves the resources: in order, what is new before what goes. */
export type Step =
  | { readonly set: PublishedResource }
  | { readonly remove: { readonly typeUrl: string; readonly name: string } };

/** A status as it goes on: with labels, region and network of a certificate, and the relays that it came by. */
export interface HeardStatus {
  readonly status: OriginStatus;
  readonly body: Uint8Array;
  readonly path: readonly string[];
  /** Epoch milliseconds of our clock. */
  readonly heardAt: number;
}

const maxLately = 100;

/**
 * What one link tells of one origin. What comes on a new link is held back until its status says that everything was
 * told: a restart never shrinks what others see. What was told before stays in force without a link.
 */
export class Origin implements Way {
  readonly cluster: string;
  readonly relay: string;
  readonly isWhole: boolean;
  readonly #budget: PeerBudget;
  readonly #committed = new Map<string, PublishedResource>();
  /** Told since the last status; null: removed. */
  readonly #staged = new Map<string, PublishedResource | null>();
  /** Namespace and policy → how many resources in force carry it. */
  readonly #offers = new Map<string, { readonly offer: SharedOffer; count: number }>();
  /** Namespace and policy, of what came lately. */
  readonly #lately = new Map<string, SharedOffer>();
  #isLinked = false;
  #settled = false;
  #complete = false;
  #heard: HeardStatus | undefined;

  constructor(options: {
    readonly cluster: string;
    readonly relay: string;
    readonly isWhole: boolean;
    readonly budget: PeerBudget;
  }) {
    this.cluster = options.cluster;
    this.relay = options.relay;
    this.isWhole = options.isWhole;
    this.#budget = options.budget;
  }

  /** It was heard on the link that is up. */
  get isLinked(): boolean {
    return this.#isLinked;
  }

  /** It has told its complete state at least once. */
  get isComplete(): boolean {
    return this.#complete;
  }

  /** The last status; undefined before the first. */
  get heard(): HeardStatus | undefined {
    return this.#heard;
  }

  get epoch(): number {
    return this.#heard?.status.epoch ?? 0;
  }

  get sequence(): number {
    return this.#heard?.status.sequence ?? 0;
  }

  get sentAt(): number {
    return this.#heard?.status.sentAt ?? 0;
  }

  get path(): readonly string[] {
    return this.#heard?.path ?? [];
  }

  get resources(): Iterable<PublishedResource> {
    return this.#committed.values();
  }

  get size(): number {
    return this.#committed.size;
  }

  /** Nothing is held of it, in force or held back. */
  get isEmpty(): boolean {
    for (const staged of this.#staged.values()) if (staged) return false;
    return this.#committed.size === 0;
  }

  get usage(): { readonly names: number; readonly bytes: number } {
    return { names: this.#budget.names, bytes: this.#budget.bytes };
  }

  has(name: string): boolean {
    return this.#committed.has(name);
  }

  /** A link began: what comes is held back until `hear`. Held back from an earlier link stays held back. */
  linked(): void {
    this.#isLinked = false;
    this.#settled = false;
  }

  unlinked(): void {
    this.#isLinked = false;
  }

  /** Takes a resource; bounds are the peer's. Its steps are empty while it is held back. */
  put(resource: PublishedResource): readonly Step[] | Refused {
    const refused = this.#budget.admit(resource.name, resource.body.length);
    if (refused) return refused;
    this.#staged.set(resource.name, resource);
    return [];
  }

  remove(name: string): readonly Step[] {
    if (!this.#settled) {
      // What is not in force is not remembered as gone: a peer could name anything.
      if (this.#committed.has(name)) this.#staged.set(name, null);
      else if (this.#staged.delete(name)) this.#budget.release(name);
      return [];
    }
    this.#staged.delete(name);
    return this.#apply(name, null);
  }

  /** Everything of a port goes. */
  forgetPort(port: string): readonly Step[] {
    const names = new Set<string>();
    for (const { name, parsed } of this.#committed.values()) if (portKeyOf(parsed) === port) names.add(name);
    for (const [name, staged] of this.#staged) {
      if (staged && portKeyOf(staged.parsed) === port) names.add(name);
    }
    for (const name of names) this.#staged.delete(name);
    return [...names].flatMap((name) => this.#apply(name, null));
  }

  /**
   * The link has told everything that was asked. Where its status is among it, all counts; without, nothing more is
   * told of it for now: what was said to be gone is gone, and what will be goes at once.
   */
  settle(): readonly Step[] {
    if (this.#isLinked) return this.#heard?.status.synced ? this.#commit() : [];
    this.#settled = true;
    const gone = [...this.#staged].flatMap(([name, staged]) => (staged ? [] : [name]));
    for (const name of gone) this.#staged.delete(name);
    return gone.flatMap((name) => this.#apply(name, null));
  }

  /** A status came. If it says so, everything has been told. */
  hear(heard: HeardStatus): readonly Step[] {
    this.#heard = heard;
    this.#isLinked = true;
    this.#settled = false;
    return heard.status.synced ? this.#commit() : [];
  }

  /** Something that it offers is for somebody; or else not even its existence is. */
  offers(isFor: (offer: Offer) => boolean): boolean {
    for (const { offer } of this.#offers.values()) if (isFor(offer)) return true;
    return false;
  }

  /** One object for equal offers. */
  offer(namespace: string, to: readonly ExportTarget[]): SharedOffer {
    const policy = JSON.stringify(to);
    const key = offerKey({ namespace, policy });
    const known = this.#offers.get(key)?.offer ?? this.#lately.get(key);
    if (known) return known;
    const made = { cluster: this.cluster, namespace, to, policy };
    if (this.#lately.size >= maxLately) this.#lately.clear();
    this.#lately.set(key, made);
    return made;
  }

  #commit(): readonly Step[] {
    this.#complete = true;
    const staged = [...this.#staged];
    this.#staged.clear();
    const steps: Step[] = [];
    for (const [name, value] of staged) if (value) steps.push(...this.#apply(name, value));
    for (const [name, value] of staged) if (!value) steps.push(...this.#apply(name, null));
    return steps;
  }

  #apply(name: string, next: PublishedResource | null): readonly Step[] {
    const before = this.#committed.get(name);
    if (before) this.#count(before, -1);
    if (next) {
      this.#count(next, 1);
      this.#committed.set(name, next);
      return [{ set: next }];
    }
    this.#budget.release(name);
    if (!before) return [];
    this.#committed.delete(name);
    return [{ remove: { typeUrl: before.typeUrl, name } }];
  }

  #count({ offer }: PublishedResource, by: 1 | -1): void {
    const key = offerKey(offer);
    const counted = this.#offers.get(key) ?? { offer, count: 0 };
    counted.count += by;
    if (counted.count > 0) this.#offers.set(key, counted);
    else this.#offers.delete(key);
  }
}

const offerKey = ({ namespace, policy }: Pick<SharedOffer, 'namespace' | 'policy'>): string =>
  `${namespace} ${policy}`;
