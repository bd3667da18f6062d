import type { Refused } from './authority.ts';

export interface PeerLimits {
  readonly names: number;
  readonly bytes: number;
  readonly endpointsPerShard: number;
  /** Resources a second, and how many may come at once. */
  readonly rate: number;
  readonly burst: number;
}

export const defaultLimits: PeerLimits = {
  names: 50_000,
  bytes: 256 * 1024 * 1024,
  endpointsPerShard: 1_000,
  rate: 2_000,
  burst: 50_000,
};

/** What one peer's resources take, against its limits. A resource over a limit is refused; the others stay. */
export class PeerBudget {
  readonly #limits: PeerLimits;
  readonly #sizes = new Map<string, number>();
  #bytes = 0;
  #tokens: number;
  #filledAt: number;

  constructor(limits: PeerLimits, now: number) {
    this.#limits = limits;
    this.#tokens = limits.burst;
    this.#filledAt = now;
  }

  get names(): number {
    return this.#sizes.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Accounts for `name` with `bytes`, or refuses and accounts for nothing new. */
  admit(name: string, bytes: number): Refused | undefined {
    const before = this.#sizes.get(name);
    if (before === undefined && this.#sizes.size >= this.#limits.names) {
      return { reason: 'limit', message: `expected at most ${this.#limits.names} resources of one cluster` };
    }
    if (this.#bytes - (before ?? 0) + bytes > this.#limits.bytes) {
      return { reason: 'limit', message: `expected at most ${this.#limits.bytes} bytes of one cluster` };
    }
    this.#bytes += bytes - (before ?? 0);
    this.#sizes.set(name, bytes);
    return undefined;
  }

  release(name: string): void {
    this.#bytes -= this.#sizes.get(name) ?? 0;
    this.#sizes.delete(name);
  }

  /** Milliseconds to wait before the next message is read, after `resources` have come. */
  delayAfter(resources: number, now: number): number {
    const { rate, burst } = this.#limits;
    this.#tokens = Math.min(burst, this.#tokens + ((now - this.#filledAt) * rate) / 1000) - resources;
    this.#filledAt = now;
    return this.#tokens >= 0 ? 0 : Math.ceil((-this.#tokens * 1000) / rate);
  }
}
