import dnsPacket from 'dns-packet';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Frontend } from '../../model/ir.ts';
import { rcodes, recordTypes } from '../../wire/dns/codes.ts';
import { decodeMessage } from '../../wire/dns/decode.ts';
import { encodeMessage } from '../../wire/dns/encode.ts';
import { type Message, noFlags, type ResourceRecord } from '../../wire/dns/message.ts';
import { answer } from './answer.ts';
import { Zone } from './zone.ts';
import { formatZone } from './zone-text.ts';

const { A, AAAA, SRV, SOA, NS, TXT, ANY, AXFR } = recordTypes;

function store(zone: string, changes: Partial<Frontend> = {}): Frontend {
  return {
    key: 'gateway/shop/store/tcp-80',
    generation: 1,
    names: [`store.shop.${zone}`],
    ttl: 5,
    vips: ['10.96.0.7'],
    ports: [{ protocol: 'TCP', port: 80, listeners: ['http'], targets: [] }],
    ...changes,
  };
}

function zoneOf(
  frontends: readonly Frontend[] = [store('gw.cluster.local')],
  name = 'gw.cluster.local',
): Zone {
  const zone = new Zone({ zone: name });
  zone.update(
    frontends.map((f) => [f.key, f] as const),
    42,
  );
  zone.complete();
  return zone;
}

const edns = { udpSize: 4096, version: 0, dnssecOk: false, options: [] };

function query(name: string, type: number, changes: Partial<Message> = {}): Buffer {
  return encodeMessage({
    id: 0xbeef,
    flags: { ...noFlags, rd: true },
    opcode: 0,
    rcode: 0,
    questions: [{ name, type, class: 1 }],
    answers: [],
    authorities: [],
    additionals: [],
    ...changes,
  }) as Buffer;
}

/** The answer, read by our decoder and checked to be readable by another one. */
function ask(zone: Zone, packet: Buffer, transport: 'udp' | 'tcp' = 'udp'): Message {
  const bytes = answer(zone, packet, transport)?.packet as Buffer;
  dnsPacket.decode(bytes);
  const message = decodeMessage(bytes);
  if (!message) throw new Error('the answer is malformed');
  return message;
}

const soaOf = (zone: string): ResourceRecord => ({
  name: zone,
  class: 1,
  ttl: 5,
  data: {
    type: 'SOA',
    mname: `ns.${zone}`,
    rname: `hostmaster.${zone}`,
    serial: 42,
    refresh: 7200,
    retry: 1800,
    expire: 86_400,
    minimum: 5,
  },
});
const soa = soaOf('gw.cluster.local');
const record = (name: string, data: ResourceRecord['data']): ResourceRecord => ({
  name,
  class: 1,
  ttl: 5,
  data,
});

test('a name and its address: authoritative, RD copied, RA clear, the question in the case it was asked in', () => {
  expect(ask(zoneOf(), query('sTore.shop.GW.cluster.local', A))).toEqual({
    id: 0xbeef,
    flags: { ...noFlags, qr: true, aa: true, rd: true },
    opcode: 0,
    rcode: 0,
    questions: [{ name: 'sTore.shop.GW.cluster.local', type: A, class: 1 }],
    answers: [record('sTore.shop.GW.cluster.local', { type: 'A', address: '10.96.0.7' })],
    authorities: [],
    additionals: [],
  });
  expect(ask(zoneOf(), query('store.shop.gw.cluster.local', A, { flags: noFlags })).flags.rd).toBe(false);
});

test('SRV gives port and target, and the addresses of the target', () => {
  const zone = zoneOf([store('gw.cluster.local', { vips: ['10.96.0.7', 'fd00:96::7'] })]);
  const target = 'store.shop.gw.cluster.local';
  expect(ask(zone, query(`_http._tcp.${target}`, SRV))).toMatchObject({
    rcode: 0,
    answers: [record(`_http._tcp.${target}`, { type: 'SRV', priority: 0, weight: 100, port: 80, target })],
    authorities: [],
    additionals: [
      record(target, { type: 'A', address: '10.96.0.7' }),
      record(target, { type: 'AAAA', address: 'fd00:96::7' }),
    ],
  });
});

test('a Gateway with an IPv6 address alone', () => {
  const zone = zoneOf([store('gw.cluster.local', { vips: ['fd00:96::7'] })]);
  const name = 'store.shop.gw.cluster.local';
  expect(ask(zone, query(name, AAAA)).answers).toEqual([
    record(name, { type: 'AAAA', address: 'fd00:96::7' }),
  ]);
  expect(ask(zone, query(name, A))).toMatchObject({ rcode: 0, answers: [], authorities: [soa] });
  expect(ask(zone, query(`_http._tcp.${name}`, SRV)).additionals).toHaveLength(1);
});

test('the apex has SOA and NS', () => {
  expect(ask(zoneOf(), query('gw.cluster.local', SOA)).answers).toEqual([soa]);
  expect(ask(zoneOf(), query('gw.cluster.local', NS)).answers).toEqual([
    record('gw.cluster.local', { type: 'NS', target: 'ns.gw.cluster.local' }),
  ]);
});

test.each([
  ['another family of a known name', 'store.shop.gw.cluster.local', AAAA],
  ['another type of a known name', 'store.shop.gw.cluster.local', TXT],
  ['the address of the apex', 'gw.cluster.local', A],
  ['a namespace with a Gateway in it', 'shop.gw.cluster.local', A],
  ['ANY at a name without records', 'shop.gw.cluster.local', ANY],
  ['the name above SRV names', '_tcp.store.shop.gw.cluster.local', SRV],
  ['the name server that SOA names', 'ns.gw.cluster.local', A],
])('N8 %s: NOERROR with SOA', (_, name, type) => {
  expect(ask(zoneOf(), query(name, type))).toMatchObject({
    rcode: rcodes.NOERROR,
    flags: { aa: true },
    answers: [],
    authorities: [soa],
  });
});

test.each([
  ['an unknown name', 'none.shop.gw.cluster.local', A],
  ['an unknown namespace', 'none.gw.cluster.local', A],
  ['a name below a known one', 'x.store.shop.gw.cluster.local', A],
  ['an unknown listener', '_none._tcp.store.shop.gw.cluster.local', SRV],
  ['a listener of another protocol', '_http._udp.store.shop.gw.cluster.local', SRV],
  ['a label with the zone inside', 'a\\002gw\\007cluster.gw.cluster.local', A],
])('N8 %s: NXDOMAIN with SOA', (_, name, type) => {
  expect(ask(zoneOf(), query(name, type))).toMatchObject({
    rcode: rcodes.NXDOMAIN,
    flags: { aa: true },
    answers: [],
    authorities: [soa],
  });
});

test('N8 before the first complete state: SERVFAIL for everything in the zone, known or not', () => {
  const zone = new Zone({ zone: 'gw.cluster.local' });
  const f = store('gw.cluster.local');
  zone.update([[f.key, f]], 1);
  for (const [name, type] of [
    ['store.shop.gw.cluster.local', A],
    ['none.shop.gw.cluster.local', A],
    ['gw.cluster.local', SOA],
  ] as const) {
    expect(ask(zone, query(name, type)), name).toMatchObject({
      rcode: rcodes.SERVFAIL,
      flags: { aa: false },
      answers: [],
      authorities: [],
    });
  }
  expect(ask(zone, query('example.org', A)).rcode).toBe(rcodes.REFUSED);
});

test('N8 a Gateway without an address: its name exists, without data', () => {
  const zone = zoneOf([store('gw.cluster.local', { vips: [] })]);
  for (const type of [A, AAAA, SRV]) {
    expect(ask(zone, query('store.shop.gw.cluster.local', type))).toMatchObject({
      rcode: rcodes.NOERROR,
      answers: [],
      authorities: [soa],
    });
  }
  expect(ask(zone, query('_http._tcp.store.shop.gw.cluster.local', SRV)).rcode).toBe(rcodes.NXDOMAIN);
});

test('N3 a front end alone makes its name: no back end, Service or endpoint is needed', () => {
  const f = store('gw.cluster.local', {
    ports: [
      {
        protocol: 'TCP',
        port: 80,
        listeners: ['http'],
        targets: [{ backend: 'composite/shop/web/tcp-80', weight: 1 }],
      },
      { protocol: 'TCP', port: 81, listeners: [], targets: [{ backend: null, weight: 1 }] },
    ],
  });
  expect(ask(zoneOf([f]), query('store.shop.gw.cluster.local', A)).answers).toEqual([
    record('store.shop.gw.cluster.local', { type: 'A', address: '10.96.0.7' }),
  ]);
});

test.each(['gw.deva.example', 'example', '.'])(
  'N6 any zone works, and no other name is in its answers: %s',
  (name) => {
    const suffix = name === '.' ? 'shop' : `shop.${name}`;
    const f = store(name, { names: [`store.${suffix}`] });
    const zone = zoneOf([f], name);
    const said: string[] = [formatZone(zone)];
    const inZone = (...messages: Message[]): void => {
      for (const m of messages) said.push(JSON.stringify(m));
    };
    const hit = ask(zone, query(`store.${suffix}`, A));
    expect(hit.answers).toEqual([record(`store.${suffix}`, { type: 'A', address: '10.96.0.7' })]);
    const srv = ask(zone, query(`_http._tcp.store.${suffix}`, SRV));
    expect(srv.answers[0]?.data).toMatchObject({ port: 80, target: `store.${suffix}` });
    const miss = ask(zone, query(`none.${suffix}`, A));
    expect(miss).toMatchObject({ rcode: rcodes.NXDOMAIN });
    if (name !== '.') {
      expect(miss.authorities).toEqual([soaOf(name)]);
      expect(ask(zone, query('store.shop.gw.cluster.local', A)).rcode).toBe(rcodes.REFUSED);
    }
    inZone(hit, srv, miss, ask(zone, query(name, SOA)), ask(zone, query(name, NS)));
    expect(said.join('\n')).not.toContain('cluster.local');
  },
);

test.each([
  ['another zone', query('example.org', A)],
  ['the parent zone', query('cluster.local', A)],
  ['a zone that ends alike', query('xgw.cluster.local', A)],
  ['a label that holds the zone', query('a\\002gw\\007cluster\\005local', A)],
  ['the root, as health checks ask', query('.', NS)],
  ['a zone transfer', query('gw.cluster.local', AXFR)],
  ['class CH', query('version.bind', TXT, { questions: [{ name: 'version.bind', type: TXT, class: 3 }] })],
  ['class ANY', query('', A, { questions: [{ name: 'store.shop.gw.cluster.local', type: A, class: 255 }] })],
])('%s is REFUSED, with the question and without authority', (_, packet) => {
  expect(ask(zoneOf(), packet)).toMatchObject({
    id: 0xbeef,
    rcode: rcodes.REFUSED,
    flags: { qr: true, aa: false, rd: true },
    questions: decodeMessage(packet)?.questions,
    answers: [],
    authorities: [],
  });
});

test('malformed packets, other opcodes and EDNS versions', () => {
  const broken = query('a', A, { questions: [] });
  expect(ask(zoneOf(), broken)).toMatchObject({ id: 0xbeef, rcode: rcodes.FORMERR, questions: [] });
  expect(ask(zoneOf(), query('a', A, { opcode: 4 }))).toMatchObject({ opcode: 4, rcode: rcodes.NOTIMP });
  const versioned = query('store.shop.gw.cluster.local', A, { edns: { ...edns, version: 1 } });
  expect(ask(zoneOf(), versioned)).toMatchObject({
    rcode: rcodes.BADVERS,
    answers: [],
    edns: { version: 0, udpSize: 1232 },
  });
  expect(answer(zoneOf(), versioned, 'udp')?.rcode).toBe(rcodes.BADVERS);
  const response = query('store.shop.gw.cluster.local', A, { flags: { ...noFlags, qr: true } });
  expect(answer(zoneOf(), response, 'udp')).toBeUndefined();
  expect(answer(zoneOf(), Buffer.alloc(11), 'udp')).toBeUndefined();
});

test('EDNS is answered with EDNS and only then, on every rcode; options are ignored, DO is copied', () => {
  const options = [{ code: 10, bytes: Buffer.alloc(8, 1) }];
  for (const name of ['store.shop.gw.cluster.local', 'none.gw.cluster.local', 'example.org']) {
    expect(ask(zoneOf(), query(name, A)).edns).toBeUndefined();
    const asked = ask(zoneOf(), query(name, A, { edns: { ...edns, dnssecOk: true, options } }));
    expect(asked.edns).toEqual({ udpSize: 1232, version: 0, dnssecOk: true, options: [] });
  }
});

test('ANY gets one set, not everything', () => {
  const zone = zoneOf([store('gw.cluster.local', { vips: ['10.96.0.7', 'fd00:96::7'] })]);
  expect(ask(zone, query('store.shop.gw.cluster.local', ANY)).answers).toHaveLength(1);
});

const many = Array.from({ length: 200 }, (_, i) =>
  store('gw.cluster.local', {
    key: `many-${i}`,
    vips: [`10.97.0.${i}`],
    ports: [{ protocol: 'TCP', port: 1000 + i, listeners: ['http'], targets: [] }],
  }),
);

test.each([
  ['no EDNS: 512 octets', undefined, 512],
  ['EDNS of 100: 512 octets', 100, 512],
  ['EDNS of 800: 800 octets', 800, 800],
  ['EDNS of 65535: 1232 octets', 65_535, 1232],
])('an answer that is too large for UDP is cut at a record and says so; %s', (_, udpSize, limit) => {
  const zone = zoneOf(many);
  for (const [name, type, size] of [
    ['store.shop.gw.cluster.local', A, 16],
    ['_http._tcp.store.shop.gw.cluster.local', SRV, 12 + 6 + 29],
  ] as const) {
    const packet = query(name, type, udpSize === undefined ? {} : { edns: { ...edns, udpSize } });
    const bytes = answer(zone, packet, 'udp')?.packet as Buffer;
    expect(bytes.length).toBeLessThanOrEqual(limit);
    expect(bytes.length).toBeGreaterThan(limit - size);
    const message = ask(zone, packet);
    expect(message).toMatchObject({ rcode: 0, flags: { tc: true, aa: true }, additionals: [] });
    const whole = ask(zone, packet, 'tcp');
    expect(whole.flags.tc).toBe(false);
    expect(whole.answers).toHaveLength(200);
    expect(whole.answers.slice(0, message.answers.length)).toEqual(message.answers);
  }
});

test('additional addresses that do not fit are left out without truncation', () => {
  const label = (letter: string): string => letter.repeat(63);
  const long = `${label('a')}.${label('b')}.${label('c')}.ddddddddd.gw.cluster.local`;
  const f = store('gw.cluster.local', { names: [long], vips: ['10.96.0.7', 'fd00:96::7'] });
  const zone = zoneOf([f]);
  const packet = query(`_http._tcp.${long}`, SRV);
  expect(ask(zone, packet)).toMatchObject({ flags: { tc: false }, additionals: [{ data: { type: 'A' } }] });
  expect(ask(zone, packet).additionals).toHaveLength(1);
  expect(ask(zone, packet, 'tcp').additionals).toHaveLength(2);
});

test('any packet over any transport: no throw, and an answer that is a well-formed response to it, in bounds', () => {
  const zone = zoneOf([...many, store('gw.cluster.local')]);
  const names = [
    'store.shop.gw.cluster.local',
    '_http._tcp.store.shop.gw.cluster.local',
    'none.gw.cluster.local',
    'gw.cluster.local',
    'example.org',
  ];
  const shaped = fc
    .record({
      name: fc.constantFrom(...names),
      type: fc.oneof(fc.constantFrom(A, AAAA, SRV, SOA, ANY), fc.nat(0xffff)),
      withEdns: fc.boolean(),
      octets: fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 5 }),
      cut: fc.oneof(fc.constant(0), fc.nat(40)),
    })
    .map(({ name, type, withEdns, octets, cut }) => {
      const packet = query(name, type, withEdns ? { edns } : {});
      for (const [at, octet] of octets) packet[at % packet.length] = octet;
      return packet.subarray(0, packet.length - cut);
    });
  const random = fc.uint8Array({ maxLength: 80 }).map((b) => Buffer.from(b));
  fc.assert(
    fc.property(
      fc.oneof(shaped, random),
      fc.constantFrom('udp' as const, 'tcp' as const),
      (packet, transport) => {
        const asked = Buffer.from(packet);
        const given = answer(zone, packet, transport);
        expect(packet.equals(asked)).toBe(true);
        if (!given) {
          expect(packet.length < 12 || (packet[2] as number) >= 0x80).toBe(true);
          return;
        }
        const message = decodeMessage(given.packet);
        expect(message).toMatchObject({
          id: packet.readUInt16BE(0),
          rcode: given.rcode,
          flags: { qr: true },
        });
        if (transport === 'udp') expect(given.packet.length).toBeLessThanOrEqual(1232);
        if (message?.rcode === 0 && message.answers.length === 0) expect(message.authorities).toHaveLength(1);
      },
    ),
    { numRuns: 3000 },
  );
});
