import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { byCluster, criticalChiSquare, matchesShares, percentages } from './proportions.ts';

describe('matchesShares', () => {
  test('critical values are close to the exact ones and not below them for one in a million', () => {
    const exact = [
      [1, 23.93],
      [2, 27.63],
      [4, 33.38],
      [10, 46.86],
    ] as const;
    for (const [degrees, value] of exact) {
      expect(criticalChiSquare(degrees)).toBeGreaterThanOrEqual(value);
      expect(criticalChiSquare(degrees)).toBeLessThan(value * 1.16);
    }
  });

  test.each([
    ['exact', { a: 900, b: 100 }, { a: 9, b: 1 }, true],
    ['three sigma off', { a: 872, b: 128 }, { a: 9, b: 1 }, true],
    ['another canary', { a: 800, b: 200 }, { a: 9, b: 1 }, false],
    ['one of two silent', { a: 400 }, { a: 1, b: 1 }, false],
    ['a stranger', { a: 200, b: 200, c: 1 }, { a: 1, b: 1 }, false],
    ['an answer where nothing should go', { a: 1, b: 400 }, { a: 0, b: 1 }, false],
    ['everything to one', { b: 400 }, { a: 0, b: 1 }, true],
    ['nothing at all', {}, { a: 1, b: 1 }, false],
  ])('%s', (_, counts, shares, expected) => {
    expect(matchesShares(counts, shares)).toBe(expected);
  });

  test('real draws are right, draws from clearly other shares are not', () => {
    const draws = (seed: number, n: number, shares: number[]): Record<string, number> => {
      const random = seededRandom(seed);
      const counts: Record<string, number> = {};
      const sum = shares.reduce((a, b) => a + b, 0);
      for (let i = 0; i < n; i++) {
        let at = random.next() * sum;
        const index = shares.findIndex((s) => {
          at -= s;
          return at < 0;
        });
        counts[index] = (counts[index] ?? 0) + 1;
      }
      return counts;
    };
    for (let seed = 1; seed <= 200; seed++) {
      const even = draws(seed, 600, [1, 1, 1, 1, 1]);
      expect(matchesShares(even, { 0: 1, 1: 1, 2: 1, 3: 1, 4: 1 })).toBe(true);
      expect(matchesShares(even, { 0: 3, 1: 1, 2: 1, 3: 1, 4: 1 })).toBe(false);
    }
  });
});

test('answers are summed by cluster', () => {
  expect(byCluster({ 'east/a': 3, 'east/b': 1, 'west/a': 4 })).toEqual({ east: 4, west: 4 });
});

test('percentages add up to 100', () => {
  expect(percentages({ a: 1, b: 1, c: 1 })).toEqual({ a: 34, b: 33, c: 33 });
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 1000 }), { minLength: 1, maxLength: 9 }), (ns) => {
      const got = percentages(Object.fromEntries(ns.map((n, i) => [`k${i}`, n])));
      expect(Object.values(got).reduce((a, b) => a + b, 0)).toBe(100);
    }),
  );
});
