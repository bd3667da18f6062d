import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SortedMap } from './sorted-map.ts';

const key = fc.constantFrom('a', 'b', 'b/c', 'B', 'ä', '', '10', '9');
const operation = fc.oneof(
  fc.tuple(fc.constant('set' as const), key, fc.nat(3)),
  fc.tuple(fc.constant('delete' as const), key),
  fc.tuple(fc.constant('look' as const)),
);

test('it is a map that iterates in the order of its keys', () => {
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 60 }), (operations) => {
      const sorted = new SortedMap<number>();
      const plain = new Map<string, number>();
      const look = () =>
        expect([...sorted]).toEqual([...plain].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
      for (const [what, name, value] of operations) {
        if (what === 'set') {
          sorted.set(name, value);
          plain.set(name, value);
        } else if (what === 'delete') {
          expect(sorted.delete(name)).toBe(plain.delete(name));
        } else look();
        expect(sorted.size).toBe(plain.size);
      }
      look();
      expect([...sorted.keys()]).toEqual([...sorted.entries()].map(([k]) => k));
      expect([...sorted.values()]).toEqual([...sorted.entries()].map(([, v]) => v));
    }),
  );
});
