import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SlotMap } from './slot-map.ts';

const arbitraryKey = fc
  .tuple(
    fc.constantFrom('10.96.0.1 . 80', '10.96.0.1 . 81', 'fd00::1 . 80'),
    fc.constantFrom(0, 1, 2, 3, 7, 65_535, 65_536, 4e9),
  )
  .map(([port, slot]) => `${port} . ${slot}`);

test('whatever was listed is there, in any order, gaps and strange slots included', () => {
  fc.assert(
    fc.property(
      fc.dictionary(arbitraryKey, fc.constantFrom('a', 'b'), { noNullPrototype: true }),
      (listed) => {
        const elements = new Map(Object.entries(listed));
        const slots = new SlotMap(elements);
        expect(new Map(slots.entries())).toEqual(elements);
        expect(slots.size).toBe(elements.size);
        for (const [key, to] of elements) expect(slots.get(key)).toBe(to);
        expect(slots.get('10.96.0.1 . 80 . 5')).toBe(elements.get('10.96.0.1 . 80 . 5'));
      },
    ),
  );
});

test('a list goes from slot 0 to the first gap; what comes after is a stray until its slot is set', () => {
  const slots = new SlotMap(
    new Map([
      ['v . 80 . 2', 'c'],
      ['v . 80 . 0', 'a'],
    ]),
  );
  expect(slots.of('v . 80')).toEqual(['a']);
  expect([...slots.strays()]).toEqual(['v . 80 . 2']);
  expect(slots.at('v . 80', 2)).toBe('c');
  slots.set('v . 80', 1, 'b');
  slots.set('v . 80', 2, 'd');
  expect(slots.of('v . 80')).toEqual(['a', 'b', 'd']);
  expect([...slots.strays()]).toEqual([]);
  slots.truncate('v . 80', 1);
  expect(slots.size).toBe(1);
  slots.truncate('v . 80', 0);
  expect([...slots.ports()]).toEqual([]);
});
