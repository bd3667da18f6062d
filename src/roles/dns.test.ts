import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { ChannelCredentials } from '@grpc/grpc-js';
import { afterEach, expect, test, vi } from 'vitest';
import type { Frontend } from '../model/ir.ts';
import { serveOnLoopback } from '../outputs/xds/loopback-bed.ts';
import { ResourceLog } from '../outputs/xds/resource-log.ts';
import type { XdsServer } from '../outputs/xds/server.ts';
import { XdsOutput } from '../outputs/xds/xds-output.ts';
import { systemClock } from '../runtime/clock.ts';
import { type Log, silentLog } from '../runtime/log.ts';
import { Metrics } from '../runtime/metrics.ts';
import { rcodes, recordTypes } from '../wire/dns/codes.ts';
import { decodeMessage } from '../wire/dns/decode.ts';
import { encodeQuery } from '../wire/dns/encode.ts';
import type { Message } from '../wire/dns/message.ts';
import { type Dns, startDns } from './dns.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const frontend = (name: string, vip: string): Frontend => ({
  key: `gateway/shop/${name}`,
  generation: 1,
  names: [`${name}.shop.gw.cluster.local`],
  ttl: 5,
  vips: [vip],
  ports: [
    { protocol: 'TCP', port: 80, listeners: ['http'], targets: [] },
    { protocol: 'UDP', port: 53, listeners: ['dns'], targets: [] },
  ],
});
const store = frontend('store', '10.96.0.7');

interface Controller {
  readonly server: XdsServer;
  update(...frontends: readonly Frontend[]): void;
}

async function serve(port: number, ...frontends: readonly Frontend[]): Promise<Controller> {
  const log = new ResourceLog();
  const output = new XdsOutput({ log, origin: { set: 's', cluster: 'east', epoch: 1 } });
  const update = (...all: readonly Frontend[]): void => {
    const ir = { frontends: new Map(all.map((f) => [f.key, f])), backends: new Map(), nodes: new Map() };
    output.update(ir);
  };
  const server = await serveOnLoopback({ role: 'dns', port, log });
  closers.push(() => server.close());
  update(...frontends);
  return { server, update };
}

async function start(controllerPort: number, log: Log = silentLog): Promise<{ dns: Dns; metrics: Metrics }> {
  const metrics = new Metrics();
  const dns = await startDns({
    cluster: 'east',
    controllers: [`127.0.0.1:${controllerPort}`],
    listen: ['127.0.0.1:0'],
    zone: 'gw.cluster.local',
    credentials: ChannelCredentials.createInsecure(),
    log,
    metrics,
    clock: systemClock,
    random: Math.random,
  });
  closers.push(() => dns.close());
  return { dns, metrics };
}

async function ask(dns: Dns, name: string, type: number = recordTypes.A): Promise<Message> {
  const socket = createSocket('udp4');
  try {
    socket.send(encodeQuery({ id: 1, name, type }) as Buffer, dns.port, '127.0.0.1');
    const [packet] = (await once(socket, 'message')) as [Buffer];
    return decodeMessage(packet) as Message;
  } finally {
    socket.close();
  }
}

const answersWith = (dns: Dns, name: string, address: string): Promise<void> =>
  vi.waitFor(
    async () => {
      const { answers } = await ask(dns, name);
      expect(answers.map((a) => a.data)).toEqual([{ type: 'A', address }]);
    },
    { timeout: 15_000 },
  );

test('N8 SERVFAIL until the controller has told everything, then answers, also while it is away', async () => {
  const other = await serve(0);
  const { port } = other.server;
  await other.server.close();
  const { dns, metrics } = await start(port);
  expect(await ask(dns, 'store.shop.gw.cluster.local')).toMatchObject({ rcode: rcodes.SERVFAIL });
  expect(dns.waitingFor).toContain(`127.0.0.1:${port}`);
  expect(dns.debug.wanted()).toContain('not complete yet');

  const first = await serve(port, store);
  await answersWith(dns, 'store.shop.gw.cluster.local', '10.96.0.7');
  expect(dns.waitingFor).toBeUndefined();
  expect(await ask(dns, 'none.shop.gw.cluster.local')).toMatchObject({ rcode: rcodes.NXDOMAIN });
  expect(await metrics.registry.getSingleMetricAsString('causeway_dns_names')).toContain(
    'causeway_dns_names 3',
  );

  await first.server.close();
  await vi.waitFor(() => expect(dns.debug.inputs()).toContain('connected: false'), { timeout: 15_000 });
  await answersWith(dns, 'store.shop.gw.cluster.local', '10.96.0.7');
  expect(dns.waitingFor).toBeUndefined();

  await serve(port, frontend('store', '10.96.0.8'), frontend('cart', '10.96.0.9'));
  await answersWith(dns, 'store.shop.gw.cluster.local', '10.96.0.8');
  await answersWith(dns, 'cart.shop.gw.cluster.local', '10.96.0.9');
});

test('N8 a cluster without front ends is complete too: NXDOMAIN, not SERVFAIL', async () => {
  const { server } = await serve(0);
  const { dns } = await start(server.port);
  await vi.waitFor(() => expect(dns.waitingFor).toBeUndefined(), { timeout: 15_000 });
  expect(await ask(dns, 'store.shop.gw.cluster.local')).toMatchObject({ rcode: rcodes.NXDOMAIN });
});

test('a Gateway with two ports comes in two parts, is one name, and leaves as one; each change is one line', async () => {
  const lines: object[] = [];
  const log: Log = {
    ...silentLog,
    info: (fields, message) => message === 'the zone changed' && lines.push(fields),
    child: () => log,
  };
  const { server, update } = await serve(0, store);
  const { dns } = await start(server.port, log);
  await answersWith(dns, 'store.shop.gw.cluster.local', '10.96.0.7');
  expect(dns.debug.wanted().split('\n').slice(3)).toEqual([
    'store.shop 5 IN A 10.96.0.7',
    '_http._tcp.store.shop 5 IN SRV 0 100 80 store.shop',
    '_dns._udp.store.shop 5 IN SRV 0 100 53 store.shop',
    '',
  ]);
  expect(dns.debug.ir()).toContain('gateway/shop/store/udp-53:');
  const { answers } = await ask(dns, '_dns._udp.store.shop.gw.cluster.local', recordTypes.SRV);
  expect(answers).toMatchObject([{ data: { port: 53, target: 'store.shop.gw.cluster.local' } }]);
  update();
  await vi.waitFor(
    async () => {
      const { rcode } = await ask(dns, 'store.shop.gw.cluster.local');
      expect(rcode).toBe(rcodes.NXDOMAIN);
    },
    { timeout: 15_000 },
  );
  expect(lines).toMatchObject([
    { added: 3, changed: 0, removed: 0, names: 3 },
    { added: 0, changed: 0, removed: 3, names: 0 },
  ]);
});
