import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isLive, type Part } from './part.ts';
import { spread } from './spread.ts';

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

const slotsOf = (parts: readonly Part[], prefix: string): number =>
  spread(parts).reduce((sum, { to, slots }) => sum + (to.startsWith(prefix) ? slots : 0), 0);

test('above the cap every destination keeps a slot', () => {
  expect(
    spread([
      { weight: 1_000_000, of: 'a' },
      { weight: 1, of: 'b' },
    ]),
  ).toEqual([
    { to: 'a', slots: 999 },
    { to: 'b', slots: 1 },
  ]);
});

test('many destinations with a small share do not take from the others', () => {
  const canary: Part[] = [
    { weight: 90, of: even('a', 10) },
    { weight: 10, of: even('b', 500) },
  ];
  expect(slotsOf(canary, 'a')).toBe(4500);
  expect(slotsOf(canary, 'b')).toBe(500);
  const heavy = spread([
    { weight: 3, of: 'heavy' },
    { weight: 1, of: even('x', 400) },
  ]);
  expect(heavy.map((x) => x.slots)).toEqual([1200, ...Array(400).fill(1)]);
});

test('slots are bounded: 16 for each destination, 16,384, or one for each', () => {
  const slots = (small: number): number =>
    slotsOf(
      [
        { weight: 1_000_000, of: 'a' },
        { weight: 1, of: even('b', small) },
      ],
      '',
    );
  expect(slots(99)).toBe(1600);
  expect(slots(4999)).toBe(16_384);
  expect(slots(19_999)).toBe(20_000);
});

test('dataplane 4 a route to a canary of ten percent, each of several clusters, is rounded level by level', () => {
  const composite: Part[] = [
    { weight: 7, of: even('e', 7) },
    { weight: 23, of: even('w', 31) },
  ];
  const parts: Part[] = [
    { weight: 9, of: even('s', 13) },
    { weight: 1, of: composite },
  ];
  expect(slotsOf(parts, '')).toBe(1000);
  expect(slotsOf(parts, 's')).toBe(900);
  expect(slotsOf(parts, 'e')).toBe(23);
  expect(slotsOf(parts, 'w')).toBe(77);
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

/** The exact share of every path, and how many levels of siblings lead to it. */
function exactShares(
  parts: readonly Part[],
  share = 1,
  depth = 1,
): { to: string; share: number; depth: number }[] {
  const live = parts.filter(isLive);
  const total = live.reduce((sum, p) => sum + p.weight, 0);
  return live.flatMap(({ weight, of }) => {
    const own = (share * weight) / total;
    return typeof of === 'string' ? [{ to: of, share: own, depth }] : exactShares(of, own, depth + 1);
  });
}

test('slots are as exact as they can be, whatever the order', () => {
  fc.assert(
    fc.property(tree, (parts) => {
      const result = spread(parts as Part[]);
      expect(spread([...(parts as Part[])].reverse())).toEqual(result);
      const paths = exactShares(parts as Part[]);
      const slots = result.reduce((sum, s) => sum + s.slots, 0);
      expect(result.map((s) => s.to)).toEqual([...new Set(paths.map(({ to }) => to))].sort());
      expect(slots).toBeLessThanOrEqual(1000);
      // Without a share below a slot nobody gets one as a gift, so each level is off by less than one.
      const gifts = slots < 1000 ? 0 : paths.filter(({ share }) => share * slots < 1).length;
      for (const { to, slots: found } of result) {
        expect(found).toBeGreaterThanOrEqual(1);
        const own = paths.filter((p) => p.to === to);
        const ideal = own.reduce((sum, p) => sum + p.share * slots, 0);
        const off = slots < 1000 ? 1e-6 : own.reduce((sum, p) => sum + p.depth, 0) + gifts;
        expect(Math.abs(found - ideal)).toBeLessThanOrEqual(off);
      }
    }),
    { numRuns: 1000 },
  );
});

test('a weight of the first level is within a slot of its part, as long as nobody needs a gift', () => {
  const level = fc.array(
    fc.record({
      weight: fc.integer({ min: 1, max: 100 }),
      of: fc.integer({ min: 1, max: 60 }).map((n) => even('', n)),
    }),
    { minLength: 1, maxLength: 5 },
  );
  fc.assert(
    fc.property(level, (groups) => {
      const parts = groups.map(
        ({ weight, of }, i): Part => ({
          weight,
          of: of.map((p) => ({ weight: 1, of: `${i}/${String(p.of)}` })),
        }),
      );
      const weights = groups.reduce((sum, g) => sum + g.weight, 0);
      const slots = slotsOf(parts, '');
      for (const [i, { weight }] of groups.entries()) {
        const ideal = (weight / weights) * slots;
        const gifts = groups.some(({ weight: w, of }) => (w / weights) * slots < of.length);
        if (!gifts) expect(Math.abs(slotsOf(parts, `${i}/`) - ideal)).toBeLessThan(1);
      }
    }),
    { numRuns: 300 },
  );
});
