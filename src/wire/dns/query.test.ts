import fc from 'fast-check';
import { expect, test } from 'vitest';
import { rcodes, recordTypes } from './codes.ts';
import { decodeMessage } from './decode.ts';
import { encodeMessage } from './encode.ts';
import { type Message, noFlags } from './message.ts';
import { nameKey, parseName } from './name.ts';
import { parseQuery } from './query.ts';

const base: Message = {
  id: 0x1234,
  flags: { ...noFlags, rd: true },
  opcode: 0,
  rcode: 0,
  questions: [{ name: 'Store.Shop.gw', type: recordTypes.A, class: 1 }],
  answers: [],
  authorities: [],
  additionals: [],
};
const packet = (changes: Partial<Message> = {}): Buffer => encodeMessage({ ...base, ...changes }) as Buffer;
const edns = { udpSize: 1400, version: 0, dnssecOk: true, options: [{ code: 10, bytes: Buffer.alloc(8) }] };
const nothing = { name: 'x', class: 1, ttl: 0, data: { type: 'TXT', strings: [Buffer.of(1)] } } as const;

test('a query gives a key in lower case and its type, class and EDNS', () => {
  expect(parseQuery(packet({ edns }))).toEqual({
    name: nameKey(parseName('store.shop.gw') as Buffer),
    type: recordTypes.A,
    class: 1,
    questionEnd: 12 + 15 + 4,
    edns: { udpSize: 1400, version: 0, dnssecOk: true },
  });
  expect(parseQuery(packet())).toMatchObject({ edns: undefined });
  expect(parseQuery(packet({ additionals: [nothing], edns }))).toMatchObject({ edns: { udpSize: 1400 } });
});

test('packets that must not be answered', () => {
  expect(parseQuery(packet({ flags: { ...noFlags, qr: true } }))).toBeUndefined();
  expect(parseQuery(Buffer.alloc(0))).toBeUndefined();
  expect(parseQuery(packet().subarray(0, 11))).toBeUndefined();
});

test.each([
  ['opcode STATUS', packet({ opcode: 2 }), rcodes.NOTIMP],
  ['opcode UPDATE', packet({ opcode: 5 }), rcodes.NOTIMP],
  ['no question', packet({ questions: [] }), rcodes.FORMERR],
  ['two questions', packet({ questions: [...base.questions, ...base.questions] }), rcodes.FORMERR],
  ['a header alone', packet().subarray(0, 12), rcodes.FORMERR],
  ['a question cut short', packet().subarray(0, -1), rcodes.FORMERR],
  ['an OPT cut short', packet({ edns }).subarray(0, -1), rcodes.FORMERR],
  ['a compressed question', question([0xc0, 12, 0, 1, 0, 1]), rcodes.FORMERR],
  ['an extended label', question([0x41, 0, 0, 1, 0, 1]), rcodes.FORMERR],
  ['a name over 255 octets', question([...Array(128).fill([1, 0x61]).flat(), 0, 0, 1, 0, 1]), rcodes.FORMERR],
  ['EDNS version 1', packet({ edns: { ...edns, version: 1 } }), rcodes.BADVERS],
])('%s is refused', (_, bytes, rcode) => {
  expect(parseQuery(bytes)).toMatchObject({ refuse: rcode });
});

test('a second OPT and an OPT below the root are FORMERR; an OPT in another section is none', () => {
  const opt = (name: string) => ({
    name,
    class: 512,
    ttl: 0,
    data: { type: 'other' as const, code: recordTypes.OPT, bytes: Buffer.of() },
  });
  expect(parseQuery(packet({ additionals: [opt('.')], edns }))).toMatchObject({ refuse: rcodes.FORMERR });
  expect(parseQuery(packet({ additionals: [opt('x')] }))).toMatchObject({ refuse: rcodes.FORMERR });
  expect(parseQuery(packet({ answers: [opt('.')] }))).toMatchObject({ edns: undefined });
});

test('octets that changed on the way: refused, or the same question as the full decoder reads', () => {
  const changes = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 6 });
  fc.assert(
    fc.property(changes, fc.nat({ max: 4 }), fc.boolean(), (octets, cut, withEdns) => {
      const bytes = packet(withEdns ? { edns } : {});
      for (const [at, octet] of octets) bytes[at % bytes.length] = octet;
      const query = parseQuery(bytes.subarray(0, bytes.length - cut));
      if (!query || query.refuse !== undefined) return;
      expect(query.questionEnd).toBeLessThanOrEqual(bytes.length - cut);
      const whole = decodeMessage(bytes.subarray(0, bytes.length - cut));
      if (!whole) return;
      expect(nameKey(parseName(whole.questions[0]?.name as string) as Buffer)).toBe(query.name);
      expect(whole.questions[0]).toMatchObject({ type: query.type, class: query.class });
      expect(query.edns?.udpSize).toBe(whole.edns?.udpSize);
    }),
    { numRuns: 3000 },
  );
});

test('any octets never throw', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
      parseQuery(Buffer.from(bytes));
    }),
    { numRuns: 2000 },
  );
});

function question(bytes: readonly number[]): Buffer {
  return Buffer.concat([packet().subarray(0, 12), Buffer.from(bytes)]);
}
