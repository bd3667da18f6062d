import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatName, isWithin, nameKey, parentKey, parseName, readName, skipName } from './name.ts';

const wire = (text: string): Buffer => {
  const name = parseName(text);
  if (!name) throw new Error(`not a name: ${text}`);
  return name;
};
const labels = fc
  .array(fc.uint8Array({ minLength: 1, maxLength: 63 }), { maxLength: 6 })
  .filter((l) => l.reduce((sum, x) => sum + x.length + 1, 1) <= 255);
const toWire = (parts: readonly Uint8Array[]): Buffer =>
  Buffer.concat([...parts.flatMap((l) => [Buffer.of(l.length), Buffer.from(l)]), Buffer.of(0)]);

test('text and wire form are the same name, whatever octets its labels have', () => {
  fc.assert(
    fc.property(labels, (parts) => {
      const name = toWire(parts);
      expect(parseName(formatName(name))).toEqual(name);
    }),
  );
});

test('names that have no wire form are refused', () => {
  for (const bad of ['a..b', '.a', 'a\\', 'a\\30', `${'a'.repeat(64)}.b`, 'ä€.b', 'a\\256']) {
    expect(parseName(bad), bad).toBeUndefined();
  }
  const long = `${`${'a'.repeat(63)}.`.repeat(3)}${'b'.repeat(61)}`;
  expect(wire(long)).toHaveLength(255);
  expect(parseName(`${long}b`)).toBeUndefined();
  expect(wire('a.b.')).toEqual(wire('a.b'));
  expect(wire('.')).toEqual(Buffer.of(0));
  expect(wire('')).toEqual(Buffer.of(0));
});

test('keys fold letters, lead to their parents and know who is within whom, on label borders only', () => {
  const key = (text: string): string => nameKey(wire(text));
  expect(key('Web.Shop.GW')).toBe(key('web.shop.gw'));
  expect(parentKey(key('web.shop.gw'))).toBe(key('shop.gw'));
  expect(parentKey(key('.'))).toBe(key('.'));
  expect(isWithin(key('shop.gw'), key('gw'))).toBe(true);
  expect(isWithin(key('gw'), key('gw'))).toBe(true);
  expect(isWithin(key('xgw'), key('gw'))).toBe(false);
  expect(isWithin(key('a\\002gw'), key('gw'))).toBe(false);
  expect(isWithin(key('b'), key('gw'))).toBe(false);
});

test('readName follows pointers back, and skipName ends where readName says', () => {
  // 0: gw | 4: shop → 0 | 11: web → 4
  const message = Buffer.from([
    2, 0x67, 0x77, 0, 4, 0x73, 0x68, 0x6f, 0x70, 0xc0, 0, 3, 0x77, 0x65, 0x62, 0xc0, 4,
  ]);
  expect(readName(message, 11)).toEqual({ wire: wire('web.shop.gw'), end: 17 });
  expect(skipName(message, 11)).toBe(17);
});

test.each([
  ['a pointer to itself', [0xc0, 0], 0],
  ['a loop of two pointers', [0xc0, 2, 0xc0, 0], 2],
  ['a pointer into its own labels', [1, 0x61, 0xc0, 0], 0],
  ['a pointer ahead', [0xc0, 2, 0], 0],
  ['a pointer without its second octet', [0xc0], 0],
  ['an extended label type', [0x41, 0], 0],
  ['a label that leaves the message', [5, 0x61], 0],
  ['no end', [1, 0x61], 0],
  ['an offset outside', [0], 7],
])('readName refuses %s', (_, bytes, offset) => {
  expect(readName(Buffer.from(bytes), offset)).toBeUndefined();
});

test('readName refuses a name over 255 octets, compressed or not', () => {
  const label = [63, ...Buffer.alloc(63, 0x61)];
  expect(readName(Buffer.from([...label, ...label, ...label, ...label, 0]), 0)).toBeUndefined();
  const tail = [...label, ...label, ...label, 0];
  expect(readName(Buffer.from([...tail, ...label, 0xc0, 0]), tail.length)).toBeUndefined();
});

test('any octets at any offset: a name of at most 255 octets within the message, or undefined', () => {
  const hostile = fc.array(fc.oneof(fc.constantFrom(0, 1, 0xc0, 0x3f, 0x40), fc.nat(255)), { maxLength: 80 });
  fc.assert(
    fc.property(hostile, fc.nat(90), (bytes, offset) => {
      const message = Buffer.from(bytes);
      const name = readName(message, offset);
      const end = skipName(message, offset);
      if (!name) return;
      expect(name.wire.length).toBeLessThanOrEqual(255);
      expect(name.end).toBe(end);
      expect(name.end).toBeLessThanOrEqual(message.length);
      expect(parseName(formatName(name.wire))).toEqual(name.wire);
    }),
    { numRuns: 2000 },
  );
});
