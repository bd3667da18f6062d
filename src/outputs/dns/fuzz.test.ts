import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import type { Frontend } from '../../model/ir.ts';
import { Fuzz, fuzz } from '../../runtime/fuzz-bed.ts';
import { rcodes, recordTypes } from '../../wire/dns/codes.ts';
import { decodeMessage } from '../../wire/dns/decode.ts';
import { encodeMessage } from '../../wire/dns/encode.ts';
import { type Message, noFlags, type ResourceRecord } from '../../wire/dns/message.ts';
import { answer } from './answer.ts';
import { listenUdp } from './udp.ts';
import { Zone } from './zone.ts';

const cases = 800_000;
const apex = 'gw.cluster.local';
const front = (name: string, vips: readonly string[]): Frontend => ({
  key: `gateway/shop/${name}-${vips[0]}`,
  generation: 1,
  names: [`${name}.shop.${apex}`],
  ttl: 5,
  vips,
  ports: [{ protocol: 'TCP', port: 80, listeners: ['http'], targets: [] }],
});

function zone(): Zone {
  const made = new Zone({ zone: apex });
  const crowd = Array.from({ length: 150 }, (_, i) => front('crowd', [`10.97.0.${i + 1}`]));
  const all = [front('store', ['10.96.0.7', 'fd00:96::7']), ...crowd];
  made.update(
    all.map((f) => [f.key, f] as const),
    1,
  );
  made.complete();
  return made;
}

/** Queries as resolvers send them, and packets that are none. */
function seeds(): readonly Buffer[] {
  const names = ['store.shop', '_http._tcp.store.shop', 'crowd.shop', 'none.shop', 'shop'].map(
    (n) => `${n}.${apex}`,
  );
  const types = [recordTypes.A, recordTypes.AAAA, recordTypes.SRV, recordTypes.ANY, recordTypes.AXFR, 65];
  const sizes = [undefined, 0, 512, 1232, 4096, 65_535];
  const options = [{ code: 10, bytes: Buffer.alloc(8, 1) }];
  const record: ResourceRecord = { name: 'a.b', class: 1, ttl: 1, data: { type: 'A', address: '10.0.0.1' } };
  const messages: Message[] = [];
  for (const name of [
    ...names,
    apex,
    '.',
    'STORE.shop.gw.cluster.local',
    'example.com',
    `${'x'.repeat(63)}.${apex}`,
  ]) {
    for (const type of types) {
      for (const udpSize of sizes) {
        messages.push({
          ...{ id: 7, flags: { ...noFlags, rd: true }, opcode: 0, rcode: 0 },
          questions: [{ name, type, class: 1 }],
          ...{ answers: [], authorities: [], additionals: [] },
          ...(udpSize === undefined ? {} : { edns: { udpSize, version: 0, dnssecOk: true, options } }),
        });
      }
    }
  }
  const [first] = messages as [Message];
  messages.push(
    { ...first, flags: { ...noFlags, qr: true }, answers: [record] },
    { ...first, answers: [record], authorities: [record], additionals: [record] },
    { ...first, questions: [...first.questions, ...first.questions] },
    { ...first, opcode: 5 },
  );
  return [...messages.flatMap((m) => encodeMessage(m) ?? []), Buffer.alloc(0), Buffer.alloc(12)];
}

/** What may be sent for a packet: at most one answer, to a query only, no larger than its sender takes. */
function check(of: Zone, packet: Buffer, transport: 'udp' | 'tcp'): number | undefined {
  const given = answer(of, packet, transport);
  if (packet.length < 12 || ((packet[2] as number) & 0x80) !== 0) {
    if (given) throw new Error('what is no query is answered');
    return undefined;
  }
  if (!given) throw new Error('a query is not answered');
  const told = decodeMessage(given.packet);
  if (!told) throw new Error(`the answer is malformed: ${given.packet.toString('hex')}`);
  if (told.id !== packet.readUInt16BE(0) || !told.flags.qr || told.rcode !== given.rcode)
    throw new Error('another answer');
  const asked = decodeMessage(packet);
  // What a strict reader does not understand of a query may still have an OPT; the answer then has one too.
  const size = asked ? asked.edns?.udpSize : told.edns && 1232;
  const most = transport === 'tcp' ? 65_535 : Math.min(Math.max(size ?? 512, 512), 1232);
  if (given.packet.length > most) throw new Error(`${given.packet.length} octets for ${most}`);
  if (told.rcode !== rcodes.NOERROR && told.answers.length > 0) throw new Error('an error with records');
  return given.packet.length;
}

test(`${cases} packets: no crash, no answer to what is no query, none that is too large or malformed`, async () => {
  const [served, packets] = [zone(), seeds()];
  const unready = new Zone({ zone: apex });
  let answered = 0;
  await fuzz(cases, (random, i) => {
    const seed = random.pick(packets);
    const packet = i < packets.length ? (packets[i] as Buffer) : random.mutated(seed, random.pick(packets));
    const size = check(i % 16 === 0 ? unready : served, packet, i % 8 === 0 ? 'tcp' : 'udp');
    if (size !== undefined) answered += 1;
  });
  expect(answered).toBeGreaterThan(cases / 2);
}, 900_000);

test('whatever decodes has one meaning: what it is encoded to decodes to the same', async () => {
  const packets = seeds();
  let decoded = 0;
  await fuzz(20_000, (random) => {
    const message = decodeMessage(random.mutated(random.pick(packets), random.pick(packets)));
    const again = message && encodeMessage(message);
    if (!again) return;
    decoded += 1;
    expect(decodeMessage(again)).toEqual(message);
  });
  expect(decoded).toBeGreaterThan(2_000);
}, 300_000);

test('over a socket nothing is answered twice, and responses are not answered', async () => {
  const [served, packets] = [zone(), seeds().filter((p) => p.length >= 12)];
  const server = await listenUdp({
    ...{ host: '127.0.0.1', port: 0 },
    answer: (packet) => answer(served, packet, 'udp')?.packet,
    ...{ onUnsent: () => {}, onError: (error) => expect.fail(error.message) },
  });
  const client = createSocket('udp4');
  const answers = new Map<number, number>();
  client.on('message', (packet) => {
    const id = packet.readUInt16BE(0);
    answers.set(id, (answers.get(id) ?? 0) + 1);
  });
  client.connect(server.port, '127.0.0.1');
  await once(client, 'connect');
  const random = new Fuzz(1);
  const responses = new Set<number>();
  for (let id = 1; id <= 2_000; id += 1) {
    const packet = Buffer.from(random.pick(packets));
    packet.writeUInt16BE(id, 0);
    if (random.chance(30)) packet[2] = (packet[2] as number) | 0x80;
    if ((packet[2] as number) & 0x80) responses.add(id);
    await new Promise<void>((resolve) => client.send(packet, () => resolve()));
    if (id % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  const last = Buffer.from(packets[0] as Buffer);
  last.writeUInt16BE(0xffff, 0);
  await expect
    .poll(
      () => {
        client.send(last);
        return answers.get(0xffff);
      },
      { timeout: 15_000 },
    )
    .toBeGreaterThan(0);
  answers.delete(0xffff);
  expect(answers.size).toBeGreaterThan(500);
  expect([...answers.values()].filter((n) => n > 1)).toEqual([]);
  expect([...answers.keys()].filter((id) => responses.has(id))).toEqual([]);
  client.close();
  await server.close();
}, 60_000);
