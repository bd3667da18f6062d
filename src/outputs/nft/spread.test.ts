import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Part, spread } from './spread.ts';

const even = (prefix: string, n: number): Part[] =>
  Array.from({ length: n }, (_, i) => ({ weight: 1, of: `${prefix}${String(i).padStart(3, '0')}` }));
const counts = (parts: readonly Part[]) => spread(parts).map((s) => s.slots);

test('equal shares are one slot each', () => {
  expect(counts(even('a', 3))).toEqual([1, 1, 1]);
});

test('dataplane 4 a 90/10 split over 1 and 1 endpoints is 9 and 1 slots, over 9 and 3 it is 3 and 1 each', () => {
  expect(
    counts([
      { weight: 90, of: 'a' },
      { weight: 10, of: 'b' },
    ]),
  ).toEqual([9, 1]);
  const split = spread([
    { weight: 90, of: even('a', 9) },
    { weight: 10, of: even('b', 3) },
  ]);
  expect(split.map((s) => s.slots)).toEqual([...Array(9).fill(3), 1, 1, 1]);
});

test('dataplane 4 weight 0 gets no slot', () => {
  expect(
    spread([
      { weight: 0, of: 'a' },
      { weight: 7, of: 'b' },
    ]),
  ).toEqual([{ to: 'b', slots: 1 }]);
  expect(spread([{ weight: 0, of: 'a' }])).toEqual([]);
});

test('dataplane 23 an endpoint behind both back ends adds up', () => {
  expect(
    spread([
      { weight: 1, of: even('a', 2) },
      { weight: 1, of: [{ weight: 1, of: 'a000' }] },
    ]),
  ).toEqual([
    { to: 'a000', slots: 3 },
    { to: 'a001', slots: 1 },
  ]);
});

test('above the cap every destination keeps a slot and the rest is by largest remainder', () => {
  expect(
    spread([
      { weight: 1_000_000, of: 'a' },
      { weight: 1, of: 'b' },
    ]),
  ).toEqual([
    { to: 'a', slots: 999 },
    { to: 'b', slots: 1 },
  ]);
  const heavy = spread([
    { weight: 3, of: 'heavy' },
    { weight: 1, of: even('x', 400) },
  ]);
  expect(heavy.map((x) => x.slots)).toEqual([600, ...Array(400).fill(1)]);
});

test('more destinations than the cap get a slot each', () => {
  const many = spread([
    { weight: 3, of: even('a', 1500) },
    { weight: 1, of: even('b', 1500) },
  ]);
  expect(many).toHaveLength(3000);
  expect(many.every((s) => s.slots === 1)).toBe(true);
});

const tree = fc.array(
  fc.record({
    weight: fc.nat({ max: 1000 }),
    of: fc.oneof(
      fc.constantFrom('a', 'b', 'c', 'd'),
      fc.array(fc.record({ weight: fc.nat({ max: 20 }), of: fc.constantFrom('a', 'b', 'e', 'f') }), {
        maxLength: 5,
      }),
    ),
  }),
  { maxLength: 6 },
);

test('shares are within one slot of the exact product of weights, whatever the order', () => {
  fc.assert(
    fc.property(tree, (parts) => {
      const result = spread(parts as Part[]);
      expect(spread([...(parts as Part[])].reverse())).toEqual(result);
      const exact = new Map<string, number>();
      const add = (of: readonly Part[], share: number): void => {
        const total = of.reduce((n, p) => n + p.weight, 0);
        for (const p of of) {
          if (p.weight === 0) continue;
          if (typeof p.of === 'string') exact.set(p.of, (exact.get(p.of) ?? 0) + (share * p.weight) / total);
          else add(p.of, (share * p.weight) / total);
        }
      };
      add(parts as Part[], 1);
      const lost = [...exact.values()].reduce((a, b) => a + b, 0);
      const slots = result.reduce((n, s) => n + s.slots, 0);
      expect(slots).toBeLessThanOrEqual(1000);
      for (const s of result) {
        expect(s.slots).toBeGreaterThanOrEqual(1);
        const ideal = ((exact.get(s.to) ?? 0) / lost) * slots;
        expect(Math.abs(s.slots - ideal)).toBeLessThanOrEqual(result.length + 1);
      }
      expect(result.map((s) => s.to)).toEqual([...exact.keys()].sort());
    }),
  );
});
