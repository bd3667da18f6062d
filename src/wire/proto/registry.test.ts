import fc from 'fast-check';
import { expect, test } from 'vitest';
import { codec, describeMessage } from './registry.ts';
import { fromStruct, type Json, toStruct } from './struct.ts';
import { typeUrls } from './type-urls.ts';
import { fromMetadata, toMetadata } from './typed-config.ts';

const struct = codec('google.protobuf.Struct');
const { value } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constant(null),
    fc.boolean(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => (Object.is(n, -0) ? 0 : n)),
    fc.string(),
    fc.array(tie('value'), { maxLength: 4 }),
    fc
      .dictionary(fc.string(), tie('value'), { maxKeys: 4, noNullPrototype: true })
      .filter((d) => !Object.hasOwn(d, '__proto__')),
  ),
}));

test('a Struct carries plain values over the wire', () => {
  fc.assert(
    fc.property(value, (v) => {
      expect(fromStruct(struct.decode(struct.encode(toStruct({ v })))).v).toEqual(v);
    }),
  );
});

test('a Struct has the same bytes whatever the order of its keys', () => {
  const a = struct.encode(toStruct({ a: 1, b: { c: 2, d: 3 } }));
  const b = struct.encode(toStruct({ b: { d: 3, c: 2 }, a: 1 }));
  expect(a).toEqual(b);
});

test('a key that means something to JavaScript does nothing', () => {
  const bytes = Buffer.concat([
    Buffer.from([0x0a, 13, 0x0a, 9]),
    Buffer.from('__proto__'),
    Buffer.from([0x12, 0]),
  ]);
  const plain = fromStruct(struct.decode(bytes));
  expect(Object.getPrototypeOf(plain)).toBe(Object.prototype);
  expect(Object.keys(plain)).toEqual([]);
});

test('nesting is bounded', () => {
  let bytes = Buffer.alloc(0);
  for (let i = 0; i < 1000; i += 1) {
    const value = Buffer.concat([varint(0x2a, bytes.length), bytes]);
    const entry = Buffer.concat([Buffer.from([0x0a, 1, 0x61]), varint(0x12, value.length), value]);
    bytes = Buffer.concat([varint(0x0a, entry.length), entry]);
  }
  expect(() => struct.decode(bytes)).toThrow(/depth/);
});

function varint(tag: number, length: number): Buffer {
  const out = [tag];
  let left = length;
  for (; left > 127; left >>>= 7) out.push((left & 127) | 128);
  return Buffer.from([...out, left]);
}

test('unknown fields are skipped, absent ones have their default', () => {
  const cluster = codec('envoy.config.cluster.v3.Cluster');
  const bytes = Buffer.concat([cluster.encode({ name: 'a' }), Buffer.from([0xfa, 0x3f, 1, 0x78])]);
  const decoded = cluster.decode(bytes);
  expect(decoded.name).toBe('a');
  expect(decoded.metadata ?? undefined).toBeUndefined();
  expect(decoded.type).toBe(0);
});

test('64-bit numbers are numbers', () => {
  const status = codec('causeway.v1.OriginStatus');
  const epoch = Date.UTC(2030, 0, 1);
  expect(status.decode(status.encode({ epoch, counts: { Cluster: 3 } }))).toMatchObject({
    epoch,
    sequence: 0,
    counts: { Cluster: 3 },
  });
});

test('a message is described with its Anys, Structs and enums opened', () => {
  const bytes = codec('envoy.config.cluster.v3.Cluster').encode({
    name: 'a',
    type: 3,
    metadata: toMetadata({ policy: 'Even' }),
  });
  expect(describeMessage(typeUrls.cluster, bytes)).toEqual({
    name: 'a',
    type: 'EDS',
    metadata: { filter_metadata: { 'causeway.dev': { policy: 'Even' } } },
  });
  expect(describeMessage('type.googleapis.com/not.Known', bytes)).toBeUndefined();
  expect(fromMetadata(undefined)).toEqual({});
});
