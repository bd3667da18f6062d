/** Delays that double from `minMs` to `maxMs`, each with ±25 % jitter; `reset` after a success. */
export class Backoff {
  readonly #minMs: number;
  readonly #maxMs: number;
  readonly #random: () => number;
  #nextMs: number;

  constructor(options: { minMs: number; maxMs: number; random: () => number }) {
    this.#minMs = options.minMs;
    this.#maxMs = options.maxMs;
    this.#random = options.random;
    this.#nextMs = options.minMs;
  }

  /** Milliseconds to wait before the next try. */
  next(): number {
    const base = this.#nextMs;
    this.#nextMs = Math.min(this.#maxMs, base * 2);
    return Math.round(base * (0.75 + this.#random() * 0.5));
  }

  reset(): void {
    this.#nextMs = this.#minMs;
  }
}
