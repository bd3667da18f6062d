import dnsPacket, { type Answer, type DecodedPacket, type Packet } from 'dns-packet';
import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { expect, test } from 'vitest';
import { recordTypes } from './codes.ts';
import { decodeMessage } from './decode.ts';
import { encodeMessage, encodeQuery } from './encode.ts';
import type { Message, RecordData, ResourceRecord } from './message.ts';
import { noFlags } from './message.ts';

const u8 = fc.nat(0xff);
const u16 = fc.nat(0xffff);
const u32 = fc.integer({ min: 0, max: 0xffffffff });
const bytes = (maxLength: number): fc.Arbitrary<Buffer> =>
  fc.uint8Array({ maxLength }).map((b) => Buffer.from(b));
const bit = fc.boolean();

/** dns-packet knows no escapes: labels of letters, digits, dashes and underscores. */
const label = fc.string({
  unit: fc.constantFrom(...'abcXYZ019-_'),
  minLength: 1,
  maxLength: 20,
});
const name = fc.oneof(
  fc.array(label, { maxLength: 4 }).map((l) => [...l, 'gw', 'cluster', 'local'].join('.')),
  fc.array(label, { minLength: 1, maxLength: 4 }).map((l) => l.join('.')),
  fc.constant('.'),
);
const v4 = fc.tuple(u8, u8, u8, u8).map((b) => b.join('.'));
const v6 = fc.array(u8, { minLength: 16, maxLength: 16 }).map((b) => ipaddr.fromByteArray(b).toString());

const data: fc.Arbitrary<RecordData> = fc.oneof(
  v4.map((address): RecordData => ({ type: 'A', address })),
  v6.map((address): RecordData => ({ type: 'AAAA', address })),
  fc.record({ type: fc.constantFrom('NS', 'CNAME', 'PTR'), target: name }),
  fc.record({ type: fc.constant('SRV'), priority: u16, weight: u16, port: u16, target: name }),
  fc.record({ type: fc.constant('TXT'), strings: fc.array(bytes(40), { minLength: 1, maxLength: 3 }) }),
  fc.record({
    type: fc.constant('SOA'),
    mname: name,
    rname: name,
    serial: u32,
    refresh: u32,
    retry: u32,
    expire: u32,
    minimum: u32,
  }),
);
const records = fc.array(fc.record({ name, class: fc.constant(1), ttl: fc.nat(0x7fffffff), data }), {
  maxLength: 6,
});

const message: fc.Arbitrary<Message> = fc
  .record({
    id: u16,
    flags: fc.record({ qr: bit, aa: bit, tc: bit, rd: bit, ra: bit, ad: bit, cd: bit }),
    opcode: fc.nat(15),
    rcode: fc.nat(15),
    questions: fc.array(fc.record({ name, type: fc.constantFrom(1, 28, 33), class: fc.constant(1) }), {
      maxLength: 2,
    }),
    answers: records,
    authorities: records,
    additionals: records,
    edns: fc.option(
      fc.record({
        // dns-packet writes 4096 for 0.
        udpSize: fc.integer({ min: 1, max: 0xffff }),
        version: fc.nat(3),
        dnssecOk: bit,
        options: fc.array(fc.record({ code: fc.integer({ min: 65001, max: 65534 }), bytes: bytes(20) }), {
          maxLength: 2,
        }),
      }),
      { nil: undefined },
    ),
  })
  .map(({ edns, ...rest }) => (edns ? { ...rest, edns } : rest));

function encoded(m: Message): Buffer {
  const packet = encodeMessage(m);
  if (!packet) throw new Error('has no wire form');
  return packet;
}

test('what is encoded decodes to the same message', () => {
  fc.assert(
    fc.property(message, (m) => {
      expect(decodeMessage(encoded(m))).toEqual(m);
    }),
  );
});

test('names of any octets and records of unknown types survive', () => {
  const odd: Message = {
    ...queryOf('we\\.b\\000\\255.gw'),
    answers: [
      { name: 'x\\\\.gw', class: 254, ttl: 7, data: { type: 'other', code: 65280, bytes: Buffer.of(1, 2) } },
      { name: 'y', class: 1, ttl: 0, data: { type: 'other', code: 65281, bytes: Buffer.of() } },
    ],
    rcode: 0xabc,
    edns: { udpSize: 1232, version: 0, dnssecOk: true, options: [] },
  };
  expect(decodeMessage(encoded(odd))).toEqual(odd);
});

test('dns-packet reads what we encode', () => {
  fc.assert(
    fc.property(message, (m) => {
      expect(fromOracle(dnsPacket.decode(encoded(m)))).toEqual(m);
    }),
  );
});

test('we read what dns-packet encodes', () => {
  fc.assert(
    fc.property(message, (m) => {
      expect(decodeMessage(dnsPacket.encode(toOracle(m)))).toEqual(m);
    }),
  );
});

test('names are compressed, except SRV targets, and a name that differs in case is not pointed at', () => {
  const record = (data: RecordData): ResourceRecord => ({ name: 'web.gw', class: 1, ttl: 5, data });
  const size = (...answers: ResourceRecord[]): number => encoded({ ...queryOf('web.gw'), answers }).length;
  const base = size();
  expect(size(record({ type: 'A', address: '10.0.0.1' }))).toBe(base + 12 + 4);
  expect(size(record({ type: 'NS', target: 'ns.web.gw' }))).toBe(base + 12 + 5);
  expect(size(record({ type: 'SRV', priority: 0, weight: 0, port: 1, target: 'web.gw' }))).toBe(base + 26);
  expect(size({ ...record({ type: 'A', address: '10.0.0.1' }), name: 'WEB.gw' })).toBe(base + 4 + 12 + 4);
});

test('what has no wire form is not encoded', () => {
  const answer = (data: RecordData): Message => ({
    ...queryOf('a'),
    answers: [{ name: 'a', class: 1, ttl: 0, data }],
  });
  expect(encodeMessage(queryOf('a..b'))).toBeUndefined();
  expect(encodeMessage(answer({ type: 'A', address: '10.0.0.256' }))).toBeUndefined();
  expect(encodeMessage(answer({ type: 'AAAA', address: '10.0.0.1' }))).toBeUndefined();
  expect(encodeMessage(answer({ type: 'TXT', strings: [Buffer.alloc(256)] }))).toBeUndefined();
  const full = { type: 'other', code: 9, bytes: Buffer.alloc(0x8000) } as const;
  expect(encodeMessage({ ...answer(full), authorities: answer(full).answers })).toBeUndefined();
  expect(encodeQuery({ id: 1, name: 'x'.repeat(64), type: 1 })).toBeUndefined();
});

test('a query has one question, asks for recursion and says its UDP size', () => {
  const packet = encodeQuery({ id: 9, name: 'Web.gw', type: recordTypes.SRV, udpSize: 1232 });
  expect(decodeMessage(packet as Buffer)).toEqual({
    ...queryOf('Web.gw', recordTypes.SRV),
    id: 9,
    flags: { ...noFlags, rd: true },
    edns: { udpSize: 1232, version: 0, dnssecOk: false, options: [] },
  });
});

test('any octets decode to a message or to undefined, and never throw', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (b) => {
      decodeMessage(b);
    }),
    { numRuns: 2000 },
  );
});

test('a message with octets changed, cut or added never makes the decoder throw', () => {
  fc.assert(
    fc.property(message, fc.array(fc.tuple(fc.nat(), u8), { maxLength: 8 }), fc.nat(), (m, changes, cut) => {
      const packet = encoded(m);
      for (const [at, byte] of changes) packet[at % packet.length] = byte;
      decodeMessage(packet);
      decodeMessage(packet.subarray(0, cut % packet.length));
    }),
    { numRuns: 1000 },
  );
});

test('counts that the packet cannot hold are refused', () => {
  const packet = encoded(queryOf('a'));
  packet.writeUInt16BE(0xffff, 6);
  expect(decodeMessage(packet)).toBeUndefined();
});

test('record data that is longer or shorter than its type is refused', () => {
  const m = { ...queryOf('a'), answers: [a('10.0.0.1')] };
  for (const wrong of [3, 5]) {
    const packet = Buffer.concat([encoded(m), Buffer.of(0, 0)]);
    packet.writeUInt16BE(wrong, packet.length - 2 - 4 - 2);
    expect(decodeMessage(packet)).toBeUndefined();
  }
});

test('two OPT records, or one that is not at the root, are refused', () => {
  const opt = (name: string): ResourceRecord => ({
    name,
    class: 512,
    ttl: 0,
    data: { type: 'other', code: recordTypes.OPT, bytes: Buffer.of() },
  });
  expect(decodeMessage(encoded({ ...queryOf('a'), additionals: [opt('.')] }))?.edns?.udpSize).toBe(512);
  expect(decodeMessage(encoded({ ...queryOf('a'), additionals: [opt('.'), opt('.')] }))).toBeUndefined();
  expect(decodeMessage(encoded({ ...queryOf('a'), additionals: [opt('a')] }))).toBeUndefined();
});

function queryOf(name: string, type: number = recordTypes.A): Message {
  return {
    id: 1,
    flags: noFlags,
    opcode: 0,
    rcode: 0,
    questions: [{ name, type, class: 1 }],
    answers: [],
    authorities: [],
    additionals: [],
  };
}

function a(address: string): ResourceRecord {
  return { name: 'a', class: 1, ttl: 5, data: { type: 'A', address } };
}

const typeNames = new Map<number, string>(Object.entries(recordTypes).map(([k, v]) => [v, k]));

function toOracle(m: Message): Packet {
  const f = m.flags;
  const flags =
    (f.aa ? 0x400 : 0) |
    (f.tc ? 0x200 : 0) |
    (f.rd ? 0x100 : 0) |
    (f.ra ? 0x80 : 0) |
    (f.ad ? 0x20 : 0) |
    (f.cd ? 0x10 : 0) |
    (m.opcode << 11) |
    m.rcode;
  const record = (r: ResourceRecord): Answer => {
    const { data } = r;
    const common = { name: r.name, type: data.type, class: 'IN', ttl: r.ttl };
    if (data.type === 'A' || data.type === 'AAAA') return { ...common, data: data.address } as Answer;
    if ('strings' in data) return { ...common, data: data.strings } as Answer;
    return { ...common, data: data.type === 'SRV' || data.type === 'SOA' ? data : target(data) } as Answer;
  };
  const opt = m.edns && {
    type: 'OPT',
    name: '.',
    udpPayloadSize: m.edns.udpSize,
    extendedRcode: m.rcode >> 4,
    ednsVersion: m.edns.version,
    flags: m.edns.dnssecOk ? 0x8000 : 0,
    options: m.edns.options.map((o) => ({ code: o.code, data: o.bytes })),
  };
  return {
    type: f.qr ? 'response' : 'query',
    id: m.id,
    flags,
    questions: m.questions.map((q) => ({ name: q.name, type: typeNames.get(q.type), class: 'IN' })),
    answers: m.answers.map(record),
    authorities: m.authorities.map(record),
    additionals: [...m.additionals.map(record), ...(opt ? [opt] : [])],
  } as unknown as Packet;
}

const target = (data: RecordData): string => ('target' in data ? data.target : '.');

function fromOracle(p: DecodedPacket): Message {
  const has = (mask: number): boolean => ((p.flags ?? 0) & mask) !== 0;
  const record = (r: Answer): ResourceRecord => {
    const raw = r as unknown as { name: string; type: string; ttl: number; data: unknown };
    const code = recordTypes[raw.type as keyof typeof recordTypes];
    return { name: raw.name, class: 1, ttl: raw.ttl, data: dataOf(raw.type, code, raw.data) };
  };
  const isOpt = (r: Answer): boolean => r.type === 'OPT';
  const opt = p.additionals?.find(isOpt) as unknown as
    | {
        udpPayloadSize: number;
        ednsVersion: number;
        flags: number;
        options: { code: number; data: Buffer }[];
      }
    | undefined;
  return {
    id: p.id ?? 0,
    flags: {
      qr: p.type === 'response',
      aa: has(0x400),
      tc: has(0x200),
      rd: has(0x100),
      ra: has(0x80),
      ad: has(0x20),
      cd: has(0x10),
    },
    opcode: ((p.flags ?? 0) >> 11) & 15,
    rcode: (p.flags ?? 0) & 15,
    questions: (p.questions ?? []).map((q) => ({
      name: q.name,
      type: recordTypes[q.type as keyof typeof recordTypes],
      class: 1,
    })),
    answers: (p.answers ?? []).map(record),
    authorities: (p.authorities ?? []).map(record),
    additionals: (p.additionals ?? []).filter((r) => !isOpt(r)).map(record),
    ...(opt
      ? {
          edns: {
            udpSize: opt.udpPayloadSize,
            version: opt.ednsVersion,
            dnssecOk: (opt.flags & 0x8000) !== 0,
            options: opt.options.map((o) => ({ code: o.code, bytes: o.data })),
          },
        }
      : {}),
  };
}

function dataOf(type: string, code: number, value: unknown): RecordData {
  if (type === 'A' || type === 'AAAA') {
    return { type, address: ipaddr.parse(value as string).toString() };
  }
  if (type === 'NS' || type === 'CNAME' || type === 'PTR') return { type, target: value as string };
  if (type === 'TXT') return { type, strings: value as Buffer[] };
  if (type === 'SRV' || type === 'SOA') return { type, ...(value as object) } as RecordData;
  return { type: 'other', code, bytes: value as Buffer };
}
