import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { ChannelCredentials } from '@grpc/grpc-js';
import { afterEach, expect, test } from 'vitest';
import type { Backend, Frontend, Ir, NodeFacts } from '../../model/ir.ts';
import { AckTracker } from '../../outputs/xds/acks.ts';
import { serveOnLoopback } from '../../outputs/xds/loopback-bed.ts';
import { ResourceLog } from '../../outputs/xds/resource-log.ts';
import { XdsOutput } from '../../outputs/xds/xds-output.ts';
import { type Clock, ManualClock, systemClock } from '../../runtime/clock.ts';
import type { PeerIdentity } from '../../runtime/identity.ts';
import { silentLog } from '../../runtime/log.ts';
import { Metrics } from '../../runtime/metrics.ts';
import { IrSource } from './ir-source.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const backend: Backend = {
  key: 'selector/shop/store/tcp-8080',
  policy: 'Even',
  groups: [
    {
      cluster: 'east',
      network: 'n1',
      region: 'eu',
      zone: 'a',
      priority: 0,
      weight: 1,
      endpoints: [{ addresses: ['10.0.0.1'], port: 8080, health: 'Healthy', weight: 1 }],
    },
  ],
};
const frontend: Frontend = {
  key: 'gateway/shop/store',
  generation: 1,
  names: ['store.shop.gw.cluster.local'],
  ttl: 5,
  vips: ['10.96.0.1'],
  ports: [{ protocol: 'TCP', port: 80, listeners: ['http'], targets: [{ backend: backend.key, weight: 1 }] }],
};
const ir = (frontends: Frontend[], backends: Backend[], nodes: NodeFacts[] = []): Ir => ({
  frontends: new Map(frontends.map((f) => [f.key, f])),
  backends: new Map(backends.map((b) => [b.key, b])),
  nodes: new Map(nodes.map((n) => [n.name, n])),
});

interface ServeOptions {
  readonly role?: PeerIdentity['role'];
  readonly port?: number;
  readonly refuse?: boolean;
  readonly epoch?: number;
  readonly admitted?: (peer: PeerIdentity) => Promise<void>;
}

async function serve(options: ServeOptions = {}) {
  const log = new ResourceLog();
  const acks = new AckTracker({ head: () => log.position });
  const metrics = new Metrics();
  const output = new XdsOutput({
    log,
    acks,
    origin: { set: 's', cluster: 'east', epoch: options.epoch ?? 1 },
  });
  const server = await serveOnLoopback({
    role: options.role ?? 'agent',
    log,
    acks,
    metrics,
    ...(options.port === undefined ? {} : { port: options.port }),
    ...(options.admitted ? { admitted: options.admitted } : {}),
    ...(options.refuse ? { identify: () => undefined } : {}),
  });
  const close = (): Promise<void> => server.close();
  closers.push(close);
  return { log, acks, output, server, metrics, close };
}

function connect(ports: readonly number[], view: 'agent' | 'dns' = 'agent', clock: Clock = systemClock) {
  const source = new IrSource({
    addresses: ports.map((port) => `127.0.0.1:${port}`),
    credentials: ChannelCredentials.createInsecure(),
    view,
    node: { id: 'e1', cluster: 'east' },
    clock,
    random: () => 0.5,
    log: silentLog,
    metrics: new Metrics(),
  });
  closers.push(() => source.close());
  return source;
}

const eventually = { timeout: 15_000, interval: 20 };
const name = 'gateway/shop/store/tcp-80';
const nodes = [{ name: 'e1', zone: 'a', podCIDRs: ['10.0.0.0/24'] }];
const named = (text: string, vip: string): Frontend => ({
  ...frontend,
  key: `gateway/shop/${text}`,
  vips: [vip],
});

test('an agent holds what a controller serves, and says so', async () => {
  const { output, acks, server } = await serve();
  const position = output.update(ir([frontend], [backend], nodes));
  const source = connect([server.port]);
  source.onChange(() => undefined);
  await expect.poll(() => source.complete, eventually).toBe(true);
  await expect.poll(() => acks.acknowledged('e1', position), eventually).toBe(true);
  expect(source.ir.backends.get(backend.key)).toEqual(backend);
  expect(source.ir.frontends.get(name)).toEqual({ ...frontend, key: name });
  expect(source.ir.nodes.get('e1')).toEqual(nodes[0]);
  expect(acks.programming().get('shop/store')).toMatchObject({ generation: 1, programmed: true });
  output.update(ir([], [], nodes));
  await expect.poll(() => source.ir.frontends.size + source.ir.backends.size, eventually).toBe(0);
});

test('an agent is told nothing before it may be, and the tracker knows it by then', async () => {
  const asked: string[] = [];
  let admit = (): void => {};
  const { output, acks, server } = await serve({
    admitted: ({ node = '' }) => {
      expect(acks.connected).toContain(node);
      asked.push(node);
      return new Promise((resolve) => {
        admit = resolve;
      });
    },
  });
  output.update(ir([frontend], [backend], nodes));
  const source = connect([server.port]);
  source.onChange(() => undefined);
  await expect.poll(() => source.connected && asked, eventually).toEqual(['e1']);
  expect([source.complete, source.ir.frontends.size]).toEqual([false, 0]);
  admit();
  await expect.poll(() => source.complete, eventually).toBe(true);
});

test('dns sees front ends only', async () => {
  const { output, server } = await serve({ role: 'dns' });
  output.update(ir([frontend], [backend], nodes));
  const source = connect([server.port], 'dns');
  source.onChange(() => undefined);
  await expect.poll(() => source.complete, eventually).toBe(true);
  expect([source.ir.frontends.size, source.ir.backends.size, source.ir.nodes.size]).toEqual([1, 0, 0]);
});

test('what was told stays in force while the controller is away, and a restarted one goes on by content', async () => {
  const first = await serve();
  first.output.update(ir([frontend], [backend], nodes));
  const source = connect([first.server.port]);
  const calls: string[][] = [];
  source.onChange((_ir, touched) => {
    calls.push([...touched.frontends, ...touched.backends]);
    return undefined;
  });
  await expect.poll(() => source.complete, eventually).toBe(true);
  await first.close();
  await expect.poll(() => source.connected, eventually).toBe(false);
  expect(source.ir.frontends.size).toBe(1);
  expect(source.complete).toBe(true);

  const second = await serve({ port: first.server.port, epoch: 2 });
  await expect.poll(() => source.connected, eventually).toBe(true);
  expect(source.ir.frontends.size).toBe(1);
  calls.length = 0;
  const position = second.output.update(ir([frontend, named('new', '10.96.0.2')], [backend], nodes));
  await expect.poll(() => second.acks.acknowledged('e1', position), eventually).toBe(true);
  expect(calls.flat()).toEqual(['gateway/shop/new/tcp-80']);
  expect(source.ir.frontends.size).toBe(2);
});

test('a restarted controller that lacks something removes it, one that withholds it does not', async () => {
  const first = await serve();
  const other = { ...backend, key: 'selector/shop/other/tcp-80' };
  first.output.update(ir([frontend], [backend, other], nodes));
  const source = connect([first.server.port]);
  source.onChange(() => undefined);
  await expect.poll(() => source.complete, eventually).toBe(true);
  await first.close();
  const second = await serve({ port: first.server.port });
  const position = second.output.update(ir([frontend], [{ ...backend, groups: [], withheld: true }], nodes));
  await expect.poll(() => second.acks.acknowledged('e1', position), eventually).toBe(true);
  expect(source.ir.backends.get(backend.key)).toEqual(backend);
  expect(source.ir.backends.has(other.key)).toBe(false);
});

test('a new agent is not complete while an assignment is withheld', async () => {
  const { output, server, acks } = await serve();
  const position = output.update(ir([frontend], [{ ...backend, groups: [], withheld: true }], nodes));
  const source = connect([server.port]);
  source.onChange(() => undefined);
  await expect.poll(() => acks.acknowledged('e1', position), eventually).toBe(true);
  expect(source.ir.frontends.size).toBe(1);
  expect(source.ir.backends.get(backend.key)?.withheld).toBe(true);
  expect(source.complete).toBe(false);
  output.update(ir([frontend], [backend], nodes));
  await expect.poll(() => source.complete, eventually).toBe(true);
  expect(source.ir.backends.get(backend.key)).toEqual(backend);
});

test('a refusal is told by name, holds back one Gateway, and is taken back when the agent can', async () => {
  const { output, server, acks, metrics } = await serve();
  output.update(ir([frontend, named('bad', '10.96.0.2')], [backend], nodes));
  const bad = 'gateway/shop/bad/tcp-80';
  let refused = new Map([[bad, 'the kernel said no']]);
  const source = connect([server.port]);
  source.onChange(() => refused);
  const programmed = (gateway: string) => acks.programming().get(`shop/${gateway}`)?.programmed;
  await expect.poll(() => programmed('store'), eventually).toBe(true);
  expect(programmed('bad')).toBe(false);
  expect(acks.snapshot()[0]?.refused).toMatchObject([{ name: bad, message: 'the kernel said no' }]);
  expect(await metrics.registry.getSingleMetricAsString('causeway_xds_nacks_total')).toContain(
    '{role="agent"} 1',
  );
  refused = new Map();
  source.poke();
  await expect.poll(() => programmed('bad'), eventually).toBe(true);
  refused = new Map([[name, 'gone wrong since']]);
  source.poke();
  await expect.poll(() => acks.snapshot()[0]?.refused.map((r) => r.name), eventually).toEqual([name]);
  expect(programmed('store')).toBe(true);
});

test('nothing is acknowledged before the handler has applied it', async () => {
  const { output, server, acks } = await serve();
  const position = output.update(ir([frontend], [backend], nodes));
  let answer: 'later' | undefined = 'later';
  let calls = 0;
  const source = connect([server.port]);
  source.onChange(() => {
    calls += 1;
    if (calls === 3) throw new Error('busy');
    return answer;
  });
  await expect.poll(() => source.complete, eventually).toBe(true);
  expect(acks.acknowledged('e1', position)).toBe(false);
  // The third call fails, whatever it would have answered: it is made again.
  const again = () => {
    source.poke();
    return calls;
  };
  await expect.poll(again, eventually).toBeGreaterThan(3);
  expect(acks.acknowledged('e1', position)).toBe(false);
  answer = undefined;
  source.poke();
  await expect.poll(() => acks.acknowledged('e1', position), eventually).toBe(true);
});

test('another address is tried when a server is not there, or refuses', async () => {
  const gone = await serve();
  await gone.close();
  const refusing = await serve({ refuse: true });
  refusing.output.update(ir([], []));
  const good = await serve();
  good.output.update(ir([frontend], [backend], nodes));
  const source = connect([gone.server.port, refusing.server.port, good.server.port]);
  source.onChange(() => undefined);
  await expect.poll(() => source.complete, eventually).toBe(true);
});

test('a server that takes connections and says nothing is given up for the next', async () => {
  const silent = createServer((socket) => closers.push(() => socket.destroy()));
  silent.listen(0, '127.0.0.1');
  closers.push(() => silent.close());
  await once(silent, 'listening');
  const good = await serve();
  good.output.update(ir([frontend], [backend], nodes));
  const clock = new ManualClock();
  const source = connect([(silent.address() as AddressInfo).port, good.server.port], 'agent', clock);
  source.onChange(() => undefined);
  const after = (ms: number) => () => {
    clock.advance(ms);
    return source.complete;
  };
  await expect.poll(after(500), eventually).toBe(true);
});

test('an agent says that its packets bypass the table and where its admin pages are, and a peer can be sent away', async () => {
  const { output, server, acks } = await serve();
  output.update(ir([frontend], [backend], nodes));
  const source = connect([server.port]);
  source.onChange(() => undefined);
  await expect.poll(() => acks.programming().get('shop/store')?.programmed, eventually).toBe(true);
  expect(acks.adminOf('e1')).toBe('');
  source.announce({ adminPort: 9103 });
  await expect.poll(() => acks.adminOf('e1'), eventually).toBe('127.0.0.1:9103');
  source.announce({ bypassed: true });
  await expect.poll(() => acks.programming().get('shop/store')?.bypassed, eventually).toBe(true);
  expect(server.streams()).toMatchObject([{ peer: 'east/agent/e1', view: 'agent' }]);
  server.disconnect((peer) => peer.node === 'e1', 'the node is not wanted here');
  expect(server.streams()).toEqual([]);
  await expect.poll(() => server.streams().length, eventually).toBe(1);
  await expect.poll(() => acks.snapshot()[0]?.bypassed, eventually).toBe(true);
  expect(acks.adminOf('e1')).toBe('127.0.0.1:9103');
  source.announce({ adminPort: 70_000 });
  await expect.poll(() => acks.adminOf('e1'), eventually).toBe('');
});

test('a thousand front ends and back ends arrive in pieces and whole', async () => {
  const { output, server, acks, metrics } = await serve();
  const many = Array.from({ length: 1000 }, (_, i) => i);
  const endpoints = Array.from({ length: 40 }, (_, i) => ({
    addresses: [`10.0.1.${i + 1}`, `fd00::${i + 1}`],
    port: 8080,
    health: 'Healthy' as const,
    weight: 1,
    snat: true,
  }));
  const groups = backend.groups.map((group) => ({ ...group, endpoints }));
  const position = output.update(
    ir(
      many.map((i) => named(`s${i}`, `10.96.${i >> 8}.${i & 255}`)),
      many.map((i) => ({ ...backend, key: `selector/shop/s${i}/tcp-80`, groups })),
      nodes,
    ),
  );
  const source = connect([server.port]);
  source.onChange(() => undefined);
  await expect.poll(() => acks.acknowledged('e1', position), eventually).toBe(true);
  await expect.poll(() => source.complete, eventually).toBe(true);
  expect([source.ir.frontends.size, source.ir.backends.size]).toEqual([1000, 1000]);
  const text = await metrics.registry.metrics();
  expect(text).toContain('causeway_xds_client_lag{node="e1"} 0');
  expect(text).toContain('causeway_xds_streams{role="agent"} 1');
  expect(Number(/xds_push_bytes_total\{role="agent"\} (\d+)/.exec(text)?.[1])).toBeGreaterThan(2_000_000);
  expect(source.ir.backends.get('selector/shop/s999/tcp-80')?.groups).toEqual(groups);
});
