import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Cluster } from '../../src/cli/playground/cluster.ts';
import { Network } from '../../src/cli/playground/network.ts';
import type { Pod } from '../../src/cli/playground/pod.ts';
import { SceneRecord } from '../../src/cli/playground/scene-record.ts';
import { Stage } from '../../src/cli/playground/stage.ts';
import type { World } from '../../src/cli/playground/world.ts';

/** What scenes are made of, with a few rules by hand in the place of a control plane. */

const vip = { host: '10.96.0.1', port: 80, protocol: 'TCP' } as const;

let network: Network;
let east: Cluster;
let pods: Pod[];
let stage: Stage;
let record: SceneRecord;

beforeAll(async () => {
  network = await Network.create({ root: '/run/causeway/stage-test' });
  east = await network.addCluster('east');
  await east.addNode('e1');
  await east.addPod({ namespace: 'shop', name: 'client', node: 'e1', ports: [] });
  pods = await Promise.all(['a', 'b'].map((name) => east.addPod({ namespace: 'shop', name, node: 'e1' })));
});

beforeEach(() => {
  record = new SceneRecord({ letter: 't', name: 'test', subject: '' });
  stage = new Stage({ network } as World, record, new AbortController().signal, () => performance.now());
});

afterAll(() => network.close());

/** New connections to the VIP go to these pods, in equal parts. */
async function program(to: readonly Pod[]): Promise<void> {
  const map = to.map((pod, i) => `${i} : ${pod.ip}`).join(', ');
  const rule = `ip daddr ${vip.host} tcp dport 80 dnat ip to numgen random mod ${to.length} map { ${map} } : 8080`;
  const input =
    'add table ip t\ndelete table ip t\nadd table ip t\n' +
    `add chain ip t nat { type nat hook prerouting priority -105; }\nadd rule ip t nat ${rule}\n`;
  const done = await east.node('e1').namespace.run(['nft', '-f', '-'], { input });
  expect(done.stderr).toBe('');
}

test('a measurement counts who answered and judges shares and failures', async () => {
  await program(pods);
  await stage.settle(east, vip, { 'east/a': 1, 'east/b': 1 });
  const result = await stage.measure(east, vip, 400);
  stage.expectNoFailure(result);
  stage.expectShares('half each', result, { 'east/a': 1, 'east/b': 1 });
  expect(record.ok).toBe(true);
  expect(record.outcome()).toMatchObject({ requests: 400, failed: 0 });
  stage.expectShares('all to one', result, { 'east/a': 1 });
  expect(record.ok).toBe(false);
});

test('pods that are taken away are killed when traffic has left them, and nothing fails', async () => {
  const extra = await east.addPod({ namespace: 'shop', name: 'c', node: 'e1' });
  await program([...pods, extra]);
  const traffic = stage.background(east, vip);
  await stage.expectAnswers(traffic, extra);
  const going = stage.takeAway(traffic, [extra]);
  await program(pods);
  await going;
  const result = await traffic.stop();
  stage.expectNoFailure(result);
  expect(record.expectations).toEqual([{ text: 'nothing failed', holds: true }]);
  expect(record.notes.join()).toMatch(/east\/c answers: after .*east\/c terminating: asked last after/);
  expect(east.pods.has('shop/c')).toBe(false);
});

test('a pod that dies under traffic shows as failures', async () => {
  const extra = await east.addPod({ namespace: 'shop', name: 'd', node: 'e1' });
  await program([...pods, extra]);
  const traffic = stage.background(east, vip);
  await stage.expectAnswers(traffic, extra);
  await extra.stopEcho();
  await stage.until('failures', () => traffic.recent().result.failed > 0);
  stage.expectNoFailure(await traffic.stop());
  expect(record.ok).toBe(false);
  await east.removePod(extra);
});
