/** Tells what has stayed the same for a while: writers that do not rename are seen half way. */
export class Settling {
  readonly #seen = new Map<string, { state: string; since: number }>();

  /** Milliseconds until `state` has lasted `settleMs`; 0: it has, and is forgotten. */
  wait(key: string, state: string, now: number, settleMs: number): number {
    const seen = this.#seen.get(key);
    if (seen?.state !== state) {
      this.#seen.set(key, { state, since: now });
      return settleMs;
    }
    const left = seen.since + settleMs - now;
    if (left > 0) return left;
    this.#seen.delete(key);
    return 0;
  }
}
