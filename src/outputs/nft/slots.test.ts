import fc from 'fast-check';
import { expect, test } from 'vitest';
import { assignSlots } from './slots.ts';
import type { Share } from './spread.ts';

const ones = (...to: string[]): Share[] => to.map((t) => ({ to: t, slots: 1 }));

test('a new destination is appended, a lost one is replaced by the last', () => {
  expect(assignSlots(ones('a', 'b'), [])).toEqual(['a', 'b']);
  expect(assignSlots(ones('a', 'aa', 'b'), ['a', 'b'])).toEqual(['a', 'b', 'aa']);
  expect(assignSlots(ones('b', 'c'), ['a', 'b', 'c'])).toEqual(['c', 'b']);
  expect(assignSlots(ones('a', 'c'), ['a', 'b'])).toEqual(['a', 'c']);
});

const shares = fc.uniqueArray(
  fc.record({ to: fc.constantFrom(...'abcdefgh'), slots: fc.integer({ min: 1, max: 9 }) }),
  {
    selector: (s) => s.to,
    maxLength: 8,
  },
);

test('slots are exactly the shares, and no more than necessary move', () => {
  fc.assert(
    fc.property(shares, shares, (first, second) => {
      const before = assignSlots(first, []);
      const after = assignSlots(second, before);
      const count = (of: readonly string[], to: string): number => of.filter((x) => x === to).length;
      for (const { to, slots } of second) expect(count(after, to)).toBe(slots);
      expect(after).toHaveLength(second.reduce((n, s) => n + s.slots, 0));
      const kept = before.slice(0, after.length);
      const possible = [...new Set(kept)].reduce(
        (n, to) => n + Math.min(count(kept, to), count(after, to)),
        0,
      );
      expect(after.filter((to, i) => before[i] === to)).toHaveLength(possible);
    }),
  );
});
