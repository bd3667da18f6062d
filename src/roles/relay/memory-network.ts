/**
 * For tests: delivers messages one at a time, in the order in which they were sent, or, with `pick`, each time the next
 * of some channel. A channel keeps its order.
 */
export class MemoryNetwork {
  readonly #channels = new Map<object, (() => void)[]>();
  readonly #pick: ((channels: number) => number) | undefined;

  constructor(pick?: (channels: number) => number) {
    this.#pick = pick;
  }

  later(channel: object, deliver: () => void): void {
    const key = this.#pick ? channel : this;
    const queue = this.#channels.get(key);
    if (queue) queue.push(deliver);
    else this.#channels.set(key, [deliver]);
  }

  /** Delivers until nothing is under way, or `most` messages. */
  async settle(most = 100_000): Promise<void> {
    for (let quiet = 0, delivered = 0; quiet < 3 && delivered < most; ) {
      const next = this.#next();
      if (next) {
        quiet = 0;
        delivered += 1;
        if (delivered === 100_000) throw new Error('messages go round and round');
        next();
        await undefined;
      } else {
        quiet += 1;
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
  }

  #next(): (() => void) | undefined {
    const channels = [...this.#channels];
    const [key, queue] = channels[this.#pick?.(channels.length) ?? 0] ?? [];
    if (!key || !queue) return undefined;
    const next = queue.shift();
    if (queue.length === 0) this.#channels.delete(key);
    return next;
  }
}
