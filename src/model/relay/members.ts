import { parseRelayName } from './names.ts';

/** Who a relay listens to. */
export interface MemberList {
  /** Clusters that dial in themselves. */
  readonly clusters: ReadonlySet<string>;
  /** Relays that dial in, and the clusters that each may speak for. */
  readonly relays: ReadonlyMap<string, ReadonlySet<string>>;
}

interface Member {
  /** From here on nobody waits for it any longer. */
  readonly waitUntil: number;
  complete: boolean;
}

/**
 * The relay's list of members, and what follows from it for absence. That a member's resource does not exist is a
 * fact only once that member has told everything, itself or by its relay. That nobody has anything under a glob is a
 * fact once every member has told everything; a member that does not come is waited for `settleMs` and no longer.
 */
export class Members {
  readonly #settleMs: number;
  /** Of clusters, their own members and those of listed relays. */
  readonly #members = new Map<string, Member>();
  #list: MemberList = { clusters: new Set(), relays: new Map() };
  #known = false;

  constructor(settleMs: number) {
    this.#settleMs = settleMs;
  }

  get list(): MemberList {
    return this.#list;
  }

  /** A list was read. */
  get isKnown(): boolean {
    return this.#known;
  }

  /** All clusters, sorted. */
  get clusters(): readonly string[] {
    return [...this.#members.keys()].sort();
  }

  has(cluster: string): boolean {
    return this.#members.has(cluster);
  }

  /** Replaces the list. Who stays or comes back within one call keeps its state. */
  update(list: MemberList, now: number): void {
    this.#known = true;
    this.#list = list;
    const clusters = new Set([...list.clusters, ...[...list.relays.values()].flatMap((of) => [...of])]);
    for (const cluster of this.clusters) if (!clusters.has(cluster)) this.#members.delete(cluster);
    for (const cluster of clusters) {
      if (!this.#members.has(cluster)) {
        this.#members.set(cluster, { waitUntil: now + this.#settleMs, complete: false });
      }
    }
  }

  completed(cluster: string): void {
    const member = this.#members.get(cluster);
    if (member) member.complete = true;
  }

  isComplete(cluster: string): boolean {
    return this.#members.get(cluster)?.complete ?? false;
  }

  /** Every member has told everything, or was waited for long enough. */
  isSettled(now: number): boolean {
    return this.#known && [...this.#members.values()].every((m) => m.complete || now >= m.waitUntil);
  }

  /** When the last wait ends; undefined: nobody is waited for. */
  get nextDeadline(): number | undefined {
    const waits = [...this.#members.values()].filter((m) => !m.complete).map((m) => m.waitUntil);
    return waits.length === 0 ? undefined : Math.max(...waits);
  }

  /** Is it a fact that no member has `name`, which is not there? */
  isAbsent(name: string, now: number): boolean {
    if (name.endsWith('/*')) return this.isSettled(now);
    const parsed = parseRelayName(name);
    return !parsed || (this.#known && (this.#members.get(parsed.cluster)?.complete ?? true));
  }
}
