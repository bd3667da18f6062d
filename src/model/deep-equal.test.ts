import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { deepEqual } from './deep-equal.ts';

const data = fc.object({
  maxDepth: 3,
  withMap: true,
  withSet: true,
  withNullPrototype: true,
  key: fc.constantFrom('a', 'b', '__proto__'),
});

/** Maps of prototypes and sets by reference are not told apart the way Node does: the rest agrees with it. */
const plain = fc.jsonValue({ maxDepth: 3 });

test('agrees with Node on plain data', () => {
  fc.assert(fc.property(plain, plain, (a, b) => deepEqual(a, b) === isDeepStrictEqual(a, b)));
});

test('a copy is equal, and a change is noticed', () => {
  fc.assert(
    fc.property(plain, (value) => {
      expect(deepEqual(value, structuredClone(value))).toBe(true);
      expect(deepEqual([value, 1], [value, 2])).toBe(false);
      expect(deepEqual({ a: value, b: undefined }, { a: value })).toBe(false);
    }),
  );
  fc.assert(fc.property(data, (value) => deepEqual(value, value)));
});

test('maps and sets', () => {
  expect(deepEqual(new Map([['a', [1]]]), new Map([['a', [1]]]))).toBe(true);
  expect(deepEqual(new Map([['a', [1]]]), new Map([['a', [2]]]))).toBe(false);
  expect(deepEqual(new Map([['a', 1]]), new Map([['b', 1]]))).toBe(false);
  expect(deepEqual(new Set(['a']), new Set(['b']))).toBe(false);
  expect(deepEqual(new Set(['a']), ['a'])).toBe(false);
  expect(deepEqual({}, [])).toBe(false);
  expect(deepEqual({}, new Map())).toBe(false);
});
