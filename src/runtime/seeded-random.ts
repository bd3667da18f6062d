/** For tests: the same numbers for the same seed. */
export interface SeededRandom {
  /** From 0 to 1, without 1. */
  readonly next: () => number;
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
    next,
    below,
    chance: (probability) => next() < probability,
    pick: <T>(from: readonly T[]): T => {
      if (from.length === 0) throw new Error('there is nothing to pick from');
      return from[below(from.length)] as T;
    },
  };
}

const variable = 'CAUSEWAY_SEED';

/** The seed that a failed run told, to play it again. Throws where it is no whole number. */
export function givenSeed(): number | undefined {
  const given = process.env[variable];
  if (given === undefined) return undefined;
  const seed = Number(given);
  if (!/^\d+$/.test(given) || !Number.isSafeInteger(seed))
    throw new Error(`${variable}: expected a whole number, found ${JSON.stringify(given)}`);
  return seed;
}

/** For messages: how a run is played again. */
export const playedAgainBy = (seed: number): string => `${variable}=${seed}`;
