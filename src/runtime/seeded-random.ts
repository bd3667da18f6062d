/** For tests: the same numbers for the same seed. */
export interface SeededRandom {
  /** 0 … n − 1. */
  readonly below: (n: number) => number;
  readonly chance: (probability: number) => boolean;
  readonly pick: <T>(from: readonly T[]) => T;
}

/** mulberry32 */
export function seededRandom(seed: number): SeededRandom {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
  const below = (n: number): number => Math.floor(next() * n);
  return {
    below,
    chance: (probability) => next() < probability,
    pick: <T>(from: readonly T[]): T => from[below(from.length)] as T,
  };
}
