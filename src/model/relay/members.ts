import { parseRelayName } from './names.ts';

interface Member {
  /** From here on nobody waits for it any longer. */
  readonly waitUntil: number;
  complete: boolean;
}

/**
 * The relay's list of members, and what follows from it for absence. That a member's resource does not exist is a
 * fact only once that member has told everything, or is not a member. That nobody has anything under a glob is a
 * fact once every member has told everything; a member that does not come is waited for `settleMs` and no longer.
 */
export class Members {
  readonly #settleMs: number;
  readonly #members = new Map<string, Member>();
  #known = false;

  constructor(settleMs: number) {
    this.#settleMs = settleMs;
  }

  /** Sorted. */
  get list(): readonly string[] {
    return [...this.#members.keys()].sort();
  }

  has(cluster: string): boolean {
    return this.#members.has(cluster);
  }

  /** Replaces the list; returns who left. Who stays or comes back within one call keeps its state. */
  update(clusters: ReadonlySet<string>, now: number): readonly string[] {
    this.#known = true;
    const left = this.list.filter((c) => !clusters.has(c));
    for (const cluster of left) this.#members.delete(cluster);
    for (const cluster of clusters) {
      if (!this.#members.has(cluster)) {
        this.#members.set(cluster, { waitUntil: now + this.#settleMs, complete: false });
      }
    }
    return left;
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

  /** Is it a fact that `name`, which is not there, does not exist? */
  isAbsent(name: string, now: number): boolean {
    if (name.endsWith('/*')) return this.isSettled(now);
    const parsed = parseRelayName(name);
    return !parsed || (this.#members.get(parsed.cluster)?.complete ?? true);
  }
}
