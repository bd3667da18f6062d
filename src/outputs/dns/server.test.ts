import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import type { Frontend } from '../../model/ir.ts';
import { ManualClock } from '../../runtime/clock.ts';
import { silentLog } from '../../runtime/log.ts';
import { Metrics } from '../../runtime/metrics.ts';
import { recordTypes } from '../../wire/dns/codes.ts';
import { decodeMessage } from '../../wire/dns/decode.ts';
import { encodeQuery } from '../../wire/dns/encode.ts';
import { TcpFrames, tcpFrame } from '../../wire/dns/tcp-frames.ts';
import { type DnsServer, type DnsServerOptions, startDnsServer } from './server.ts';
import { respond } from './udp.ts';
import { Zone } from './zone.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const frontend = (i: number): Frontend => ({
  key: `gateway/shop/store/tcp-${i}`,
  generation: 1,
  names: ['store.shop.gw.cluster.local'],
  ttl: 5,
  vips: [`10.96.${i >> 8}.${i & 255}`],
  ports: [],
});

async function start(options: Partial<DnsServerOptions> & { addresses?: number } = {}): Promise<{
  server: DnsServer;
  clock: ManualClock;
  metric: (name: string) => Promise<Record<string, number>>;
}> {
  const zone = new Zone({ zone: 'gw.cluster.local' });
  const frontends = Array.from({ length: options.addresses ?? 1 }, (_, i) => frontend(i + 1));
  zone.update(
    frontends.map((f) => [f.key, f] as const),
    1,
  );
  zone.complete();
  const metrics = new Metrics();
  const clock = new ManualClock();
  const server = await startDnsServer({
    listen: ['127.0.0.1:0'],
    zone,
    clock,
    log: silentLog,
    metrics,
    ...options,
  });
  closers.push(() => server.close());
  const metric = async (name: string): Promise<Record<string, number>> => {
    const values = (await metrics.registry.getSingleMetric(`causeway_${name}`)?.get())?.values ?? [];
    return Object.fromEntries(values.map((v) => [Object.values(v.labels).join() || 'all', v.value]));
  };
  return { server, clock, metric };
}

const query = (id: number, name = 'store.shop.gw.cluster.local'): Buffer =>
  encodeQuery({ id, name, type: recordTypes.A }) as Buffer;

async function client(server: DnsServer): Promise<Socket> {
  const socket = connect(server.port, '127.0.0.1');
  closers.push(() => socket.destroy());
  await once(socket, 'connect');
  return socket;
}

/** Reads until `count` answers have come. */
async function read(socket: Socket, count: number): Promise<Buffer[]> {
  const frames = new TcpFrames();
  const messages: Buffer[] = [];
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    frames.push(chunk as Buffer);
    for (let m = frames.next(); Buffer.isBuffer(m); m = frames.next()) messages.push(m);
    if (messages.length >= count) break;
  }
  return messages;
}

const idOf = (message: Buffer): number => message.readUInt16BE(0);

const ended = (socket: Socket): Promise<unknown> => once(socket.resume(), 'close');

test('the same port answers over UDP and TCP, and counts by response code', async () => {
  const { server, metric } = await start();
  const udp = createSocket('udp4');
  closers.push(() => udp.close());
  for (const [id, name] of [
    [1, 'store.shop.gw.cluster.local'],
    [2, 'none.gw.cluster.local'],
  ] as const) {
    udp.send(query(id, name), server.port, '127.0.0.1');
    const [packet] = (await once(udp, 'message')) as [Buffer];
    expect(decodeMessage(packet)).toMatchObject({ id, rcode: id === 1 ? 0 : 3 });
  }
  const tcp = await client(server);
  tcp.write(tcpFrame(query(3)));
  expect((await read(tcp, 1)).map((m) => decodeMessage(m))).toMatchObject([
    { id: 3, answers: [{ data: { address: '10.96.0.1' } }] },
  ]);
  expect(await metric('dns_answers_total')).toEqual({ NOERROR: 2, NXDOMAIN: 1 });
});

test('packets that are no queries get nothing and are counted', async () => {
  const { server, metric } = await start();
  const udp = createSocket('udp4');
  closers.push(() => udp.close());
  const response = query(1);
  response[2] = 0x80;
  for (const packet of [response, Buffer.alloc(3), query(2)]) udp.send(packet, server.port, '127.0.0.1');
  const [packet] = (await once(udp, 'message')) as [Buffer];
  expect(decodeMessage(packet)?.id).toBe(2);
  expect(await metric('dns_dropped_total')).toEqual({ 'not-a-query': 2 });
});

test('queries that were sent together, or in single octets, are answered in order', async () => {
  const { server } = await start();
  const socket = await client(server);
  const stream = Buffer.concat(Array.from({ length: 3000 }, (_, id) => tcpFrame(query(id))));
  for (const octet of stream.subarray(0, 100)) socket.write(Buffer.of(octet));
  socket.write(stream.subarray(100));
  const messages = await read(socket, 3000);
  expect(messages.map(idOf)).toEqual(Array.from({ length: 3000 }, (_, id) => id));
});

test('queries sent before the client ends its side are answered', async () => {
  const { server } = await start();
  const socket = await client(server);
  socket.end(tcpFrame(query(5)));
  expect((await read(socket, 1)).map(idOf)).toEqual([5]);
});

/** Until five looks in a row show the same number: a server that does not stop goes on between any two. */
async function settled(count: () => Promise<number> | number): Promise<number> {
  let last = -1;
  let same = 0;
  await vi.waitFor(
    async () => {
      const now = await count();
      same = now === last ? same + 1 : 1;
      last = now;
      expect(same).toBe(5);
    },
    { timeout: 15_000, interval: 50 },
  );
  return last;
}

test('a client that takes no answers gets no more made, and gets all of them once it takes them', async () => {
  const { server, metric } = await start({ addresses: 1000 });
  const socket = await client(server);
  const total = 3000; // 16 kB each: more than the kernel buffers between two sockets
  socket.write(Buffer.concat(Array.from({ length: total }, (_, id) => tcpFrame(query(id)))));
  const made = await settled(async () => (await metric('dns_answers_total')).NOERROR ?? 0);
  expect(made).toBeGreaterThan(0);
  expect(made).toBeLessThan(total);
  expect((await read(socket, total)).map(idOf)).toEqual(Array.from({ length: total }, (_, id) => id));
});

test('a client that takes no answers is not read from', async () => {
  const { server } = await start({ addresses: 1000 });
  const socket = await client(server);
  const queries = Buffer.concat(Array.from({ length: 1000 }, (_, id) => tcpFrame(query(id))));
  const total = 500; // 22 MB: more than the kernel buffers
  let taken = 0;
  const send = (): void => {
    socket.write(queries, () => {
      taken += 1;
      if (taken < total) send();
    });
  };
  send();
  expect(await settled(() => taken)).toBeLessThan(total);
});

test('a connection without a whole query for the idle time is closed, whatever trickles in', async () => {
  const { server, clock, metric } = await start({ tcp: { idleMs: 10_000 } });
  const [slow, busy] = [await client(server), await client(server)];
  await vi.waitFor(async () => expect(await metric('dns_tcp_connections')).toEqual({ all: 2 }), {
    timeout: 15_000,
  });
  clock.advance(6000);
  slow.write(Buffer.of(0));
  busy.write(tcpFrame(query(1)));
  await read(busy, 1);
  clock.advance(6000);
  await ended(slow);
  busy.write(tcpFrame(query(2)));
  expect((await read(busy, 1)).map(idOf)).toEqual([2]);
  expect(await metric('dns_tcp_closed_total')).toEqual({ idle: 1 });
  expect(await metric('dns_tcp_connections')).toEqual({ all: 1 });
});

test('one connection too many closes the one that was longest without a query', async () => {
  const { server, metric } = await start({ tcp: { connections: 2 } });
  const [first, second] = [await client(server), await client(server)];
  for (const [id, socket] of [first, second, first].entries()) {
    socket.write(tcpFrame(query(id)));
    await read(socket, 1);
  }
  const third = await client(server);
  await ended(second);
  for (const socket of [first, third]) {
    socket.write(tcpFrame(query(9)));
    expect((await read(socket, 1)).map(idOf)).toEqual([9]);
  }
  expect(await metric('dns_tcp_closed_total')).toEqual({ limit: 1 });
});

test('a query over the limit closes its connection', async () => {
  const { server, metric } = await start({ tcp: { queryBytes: 100 } });
  const socket = await client(server);
  socket.write(Buffer.of(0, 101));
  await ended(socket);
  expect(await metric('dns_tcp_closed_total')).toEqual({ 'too-long': 1 });
});

test('close ends what is open and frees the port', async () => {
  const { server } = await start();
  const socket = await client(server);
  const end = ended(socket);
  await server.close();
  await end;
  const again = await start({ listen: [`127.0.0.1:${server.port}`] });
  expect(again.server.port).toBe(server.port);
});

test('a port that is taken is an error that names address, port, transport and flag; nothing stays open', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  closers.push(() => taken.close());
  await once(taken, 'listening');
  const { port } = taken.address() as { port: number };
  await expect(start({ listen: ['127.0.0.1:0', `127.0.0.1:${port}`] })).rejects.toMatchObject({
    code: 'E_LISTEN',
    message: expect.stringMatching(
      `cannot listen on 127.0.0.1:${port} over TCP \\(--listen\\):.*EADDRINUSE.*another program`,
    ),
  });
  const udp = createSocket('udp4').bind(0, '127.0.0.1');
  closers.push(() => udp.close());
  await once(udp, 'listening');
  const listen = [`127.0.0.1:${udp.address().port}`];
  await expect(start({ listen })).rejects.toMatchObject({ message: expect.stringContaining('over UDP') });
  const free = createServer().listen(udp.address().port, '127.0.0.1');
  closers.push(() => free.close());
  await once(free, 'listening');
});

test('a listening address that is a name, or that the machine does not have', async () => {
  await expect(start({ listen: ['localhost:0'] })).rejects.toMatchObject({
    code: 'E_USAGE',
    message: '--listen localhost:0: expected an IP address before the port, found localhost',
  });
  await expect(start({ listen: ['192.0.2.1:0'] })).rejects.toMatchObject({ code: 'E_LISTEN' });
});

test('answers are dropped, not kept, when the kernel takes no more or the sender has no port', () => {
  const sent: unknown[] = [];
  let unsent = 0;
  const options = { answer: (packet: Buffer) => packet, onUnsent: () => (unsent += 1) };
  const socket = (queued: number) => ({
    getSendQueueSize: () => queued,
    send: (...args: unknown[]) => sent.push(args),
  });
  const from = { address: '192.0.2.1', port: 4000 };
  respond(socket(0) as never, query(1), from, options);
  respond(socket(2 << 20) as never, query(1), from, options);
  respond(socket(0) as never, query(1), { ...from, port: 0 }, options);
  expect([sent.length, unsent]).toEqual([1, 2]);
});
