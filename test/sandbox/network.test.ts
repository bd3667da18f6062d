import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { Cluster } from '../../src/cli/playground/cluster.ts';
import type { Namespace } from '../../src/cli/playground/namespace.ts';
import { Network } from '../../src/cli/playground/network.ts';
import { runCommand } from '../../src/cli/playground/run-command.ts';

let network: Network;
let east: Cluster;
let west: Cluster;

beforeAll(async () => {
  network = await Network.create({ root: '/run/causeway/network-test' });
  [east, west] = await Promise.all([network.addCluster('east'), network.addCluster('west')]);
  await Promise.all([east.addNode('e1', { zone: 'a' }), east.addNode('e2'), west.addNode('w1')]);
  const ports = [
    { name: 'http', port: 8080, protocol: 'TCP' },
    { port: 5353, protocol: 'UDP' },
  ] as const;
  const shop = { namespace: 'shop', labels: { app: 'store' }, ports };
  await Promise.all([
    east.addPod({ ...shop, name: 'store-0', node: 'e1' }),
    east.addPod({ ...shop, name: 'store-1', node: 'e2' }),
    west.addPod({ ...shop, name: 'store-0', node: 'w1' }),
  ]);
});

afterAll(() => network.close());

const pod = (cluster: Cluster, name: string) => {
  const found = cluster.pods.get(`shop/${name}`);
  if (!found) throw new Error(`no pod ${name}`);
  return found;
};

async function ask(from: Namespace, address: string): Promise<string> {
  const host = address.includes(':') ? `[${address}]` : address;
  const done = await from.run(['curl', '-sS', '-m', '5', `http://${host}:8080`]);
  return done.code === 0 ? done.stdout.trim() : done.stderr.trim();
}

test('every host reaches every pod in both families, with its own address', async () => {
  const e0 = pod(east, 'store-0');
  const from: [Namespace, { v4: string; v6: string }][] = [
    [e0.host, e0.address],
    [east.control, east.plan.control],
    [network.client, { v4: '172.18.0.20', v6: 'fd00:18::20' }],
  ];
  for (const [namespace, own] of from) {
    for (const to of [pod(east, 'store-1'), pod(west, 'store-0')]) {
      for (const family of ['v4', 'v6'] as const) {
        const said = await ask(namespace, to.address[family]);
        expect(said).toBe(`${to.answer} hostname=${to.name} client=${own[family]} port=8080`);
      }
    }
  }
});

test('the process that made the network reaches it too', async () => {
  const answer = await fetch(`http://${pod(west, 'store-0').ip}:8080`);
  expect(await answer.text()).toMatch(/^west\/store-0 /);
});

test('an address that no pod has is refused by its node', async () => {
  const said = await ask(pod(west, 'store-0').host, '10.10.1.200');
  // Not 28, which is a timeout.
  expect(said).toMatch(/^curl: \(7\) /);
});

test('the folder says of pods and nodes what an API server would', () => {
  const read = (path: string): unknown => parse(readFileSync(join(east.objects.dir, path), 'utf8'));
  expect(read('pods/shop.store-0.yaml')).toMatchObject({
    kind: 'Pod',
    metadata: { name: 'store-0', namespace: 'shop', labels: { app: 'store' } },
    spec: {
      nodeName: 'e1',
      containers: [{ ports: [{ name: 'http', containerPort: 8080, protocol: 'TCP' }, {}] }],
    },
    status: { podIP: pod(east, 'store-0').ip, phase: 'Running' },
  });
  expect(read('nodes/e1.yaml')).toMatchObject({
    metadata: { labels: { 'topology.kubernetes.io/zone': 'a' } },
    spec: { podCIDRs: [expect.stringMatching(/^10\.\d+\.\d+\.0\/24$/), expect.stringContaining('::/64')] },
  });
  expect(readdirSync(join(east.objects.dir, 'namespaces'))).toEqual(['shop.yaml']);
});

test('a pod that is not ready, terminates and goes leaves its address free of a route', async () => {
  const extra = await east.addPod({ namespace: 'shop', name: 'extra', node: 'e2', ready: false });
  const file = join(east.objects.dir, 'pods', 'shop.extra.yaml');
  expect(readFileSync(file, 'utf8')).toMatch(/type: Ready\n\s+status: "?False/);
  extra.setReady(true);
  expect(readFileSync(file, 'utf8')).toMatch(/type: Ready\n\s+status: "?True/);
  await east.removePod(extra);
  expect(readdirSync(join(east.objects.dir, 'pods'))).not.toContain('shop.extra.yaml');
  expect((await runCommand(['ip', 'netns', 'list'])).stdout).not.toMatch(/east-extra/);
  const routes = await east.node('e2').namespace.run(['ip', 'route']);
  expect(routes.stdout).not.toContain(extra.ip);
});

test('each namespace has a host name and a resolver of its own', async () => {
  const seen = await pod(west, 'store-0').run(['sh', '-c', 'hostname; cat /etc/resolv.conf']);
  expect(seen.stdout).toContain('store-0\nnameserver 172.18.2.100\n');
  expect((await runCommand(['hostname'])).stdout.trim()).not.toBe('store-0');
});

test('the echo server answers lines, silence and datagrams', async () => {
  const { ip } = pod(east, 'store-1');
  const say = async (script: string): Promise<string> =>
    (await network.client.run(['bash', '-c', script], { timeoutMs: 10_000 })).stdout;
  const lines = await say(`exec 3<>/dev/tcp/${ip}/8080; printf 'a\\nb\\n' >&3; head -2 <&3`);
  expect(lines.match(/east\/store-1 /g)).toHaveLength(2);
  expect(await say(`exec 3<>/dev/tcp/${ip}/8080; head -1 <&3`)).toMatch(/^east\/store-1 /);
  expect(await say(`exec 3<>/dev/udp/${ip}/5353; printf x >&3; head -1 <&3`)).toMatch(/^east\/store-1 /);
});
