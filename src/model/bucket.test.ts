import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Bucket } from './bucket.ts';

const key = fc.nat(40).map((n) => `k${n}`);
const operation = fc.oneof(
  fc.tuple(fc.constant('put' as const), key, fc.nat()),
  fc.tuple(fc.constant('put' as const), key, fc.nat()),
  fc.tuple(fc.constant('remove' as const), key, fc.constant(0)),
  fc.tuple(fc.constant('list' as const), key, fc.constant(0)),
);

test('few or many, it lists what it holds in the order of the keys, and old lists never change', () => {
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 150 }), (operations) => {
      const bucket = new Bucket(new Map(), 'b');
      const plain = new Map<string, number>();
      const old: (readonly [readonly unknown[], string])[] = [];
      for (const [what, name, value] of operations) {
        if (what === 'put') {
          bucket.put(name, value);
          plain.set(name, value);
        } else if (what === 'remove') {
          bucket.remove(name);
          plain.delete(name);
        } else {
          const list = bucket.list();
          expect(list).toEqual([...plain].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, v]) => v));
          old.push([list, JSON.stringify(list)]);
        }
        expect(bucket.size).toBe(plain.size);
      }
      expect(new Map(bucket.entries())).toEqual(plain);
      for (const [list, text] of old) expect(JSON.stringify(list)).toBe(text);
    }),
  );
});

test('it is dropped when it is empty and nobody reads it', () => {
  const buckets = new Map<string, Bucket>();
  const bucket = new Bucket(buckets, 'b');
  buckets.set('b', bucket);
  bucket.put('a', 1);
  bucket.remove('a');
  expect(buckets.size).toBe(0);
});
