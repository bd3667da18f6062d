import { ChannelCredentials, ServerCredentials } from '@grpc/grpc-js';
import { afterEach, expect, test } from 'vitest';
import type { Backend, Frontend, Ir, NodeFacts } from '../../model/ir.ts';
import { AckTracker } from '../../outputs/xds/acks.ts';
import { ResourceLog } from '../../outputs/xds/resource-log.ts';
import { startXdsServer, type XdsServer } from '../../outputs/xds/server.ts';
import { dataPlaneView } from '../../outputs/xds/view.ts';
import { XdsOutput } from '../../outputs/xds/xds-output.ts';
import { systemClock } from '../../runtime/clock.ts';
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

async function serve(node = 'e1', port = 0) {
  const log = new ResourceLog();
  const acks = new AckTracker({ head: () => log.position });
  const output = new XdsOutput({ log, acks, origin: { set: 's', cluster: 'east', epoch: 1 } });
  const server: XdsServer = await startXdsServer({
    listen: `127.0.0.1:${port}`,
    credentials: ServerCredentials.createInsecure(),
    identify: () => ({
      set: 's',
      cluster: 'east',
      role: 'agent',
      node,
      labels: {},
      namespaces: [],
      region: '',
      network: '',
    }),
    views: (peer) => dataPlaneView(peer.role),
    log,
    acks,
    logger: silentLog,
    metrics: new Metrics(),
  });
  closers.push(() => server.close());
  return { log, acks, output, server };
}

function connect(port: number): IrSource {
  const source = new IrSource({
    addresses: [`127.0.0.1:${port}`],
    credentials: ChannelCredentials.createInsecure(),
    view: 'agent',
    node: { id: 'e1', cluster: 'east' },
    clock: systemClock,
    random: () => 0.5,
    log: silentLog,
    metrics: new Metrics(),
  });
  closers.push(() => source.close());
  return source;
}

test('an agent holds what a controller serves, and says so', async () => {
  const { output, acks, server } = await serve();
  const position = output.update(
    ir([frontend], [backend], [{ name: 'e1', zone: 'a', podCIDRs: ['10.0.0.0/24'] }]),
  );
  const source = connect(server.port);
  source.onChange(() => undefined);
  await expect.poll(() => source.complete).toBe(true);
  await expect.poll(() => acks.acknowledged('e1', position)).toBe(true);
  expect(source.ir.backends.get(backend.key)).toEqual(backend);
  expect(source.ir.frontends.get('gateway/shop/store/tcp-80')).toEqual({
    ...frontend,
    key: 'gateway/shop/store/tcp-80',
  });
  expect(source.ir.nodes.get('e1')?.podCIDRs).toEqual(['10.0.0.0/24']);
  expect(acks.programming().get('shop/store')).toMatchObject({ generation: 1, programmed: true });
});
