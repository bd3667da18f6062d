import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startLoad } from '../../src/cli/playground/load-process.ts';
import { podObject } from '../../src/cli/playground/pod-objects.ts';
import { composite, consumerOf, providerOf, selector, wholeOf } from './case-objects.ts';
import { caseWorld, Traffic, until } from './case-world.ts';

const host = 'web.shop.gw.cluster.local';

/** The name is in east, all pods are in west. */
const world = caseWorld({
  clusters: { east: { nodes: ['e1', 'e2'], dataPlane: true }, west: { nodes: ['w1', 'w2'] } },
  flags: { controller: ['--audit-interval', '1'], agent: ['--audit-interval', '1'] },
  prepare: async (w) => {
    w.cluster('east').objects.write('web.yaml', ...consumerOf('web'));
    w.cluster('west').objects.write('web.yaml', ...providerOf('web'));
    const ports = [8080, 9090].map((port) => ({ port, protocol: 'TCP' }) as const);
    await Promise.all([w.addClient('east', 'e1'), w.addPods('west', 'web', ['w1', 'w2', 'w1'], { ports })]);
  },
});

const client = () => world().pod('east', 'client-e1').host;
const pods = () => [...world().cluster('west').pods.values()].filter((pod) => pod.name.startsWith('web-'));
const at = (port: number) => pods().map((pod) => `${pod.ip}:${port}`);

test('P1 a pod deleted while an agent is down is gone once the agent is back', async () => {
  const w = world();
  const vip = await w.programmed('east', 'web');
  await w.leadsTo('east', vip, at(8080));
  await w.supervisor.kill('east agent e1');
  const before = at(8080).sort();
  const [gone] = pods();
  if (gone) await w.cluster('west').removePod(gone);
  expect(pods()).toHaveLength(2);
  await until('the other agent knows', async () => {
    expect(await w.targets('east', 'e2', vip)).toEqual(at(8080).sort());
  });
  // Nobody has told the kernel of this node.
  expect(await w.targets('east', 'e1', vip)).toEqual(before);
  await w.supervisor.restart('east agent e1');
  await w.leadsTo('east', vip, at(8080));
  await w.addPods('west', 'web', ['w2'], { ports: gone?.ports ?? [] });
  await w.leadsTo('east', vip, at(8080));
});

test.each(['SIGKILL', 'SIGTERM'] as const)(
  'P2 an agent that restarts (%s) cuts nothing that is remote only',
  async (signal) => {
    const w = world();
    const vip = await w.programmed('east', 'web');
    await w.leadsTo('east', vip, at(8080));
    const traffic = await Traffic.start(client(), { host, port: 80 });
    await w.supervisor.kill('east agent e1', signal);
    await traffic.flows(50);
    expect(await w.targets('east', 'e1', vip)).toEqual(at(8080).sort());
    await w.supervisor.restart('east agent e1');
    expect(await w.targets('east', 'e1', vip)).toEqual(at(8080).sort());
    await traffic.flows(50);
    await traffic.endsWithoutFailure();
  },
);

test('P3 a new node is ready only once it has the complete state, and then nothing is refused', async () => {
  const w = world();
  const east = w.cluster('east');
  const vip = await w.programmed('east', 'web');
  await w.supervisor.kill('east controller');
  await east.addNode('e3');
  const [gated] = await w.addPods('east', 'gated', ['e3'], { ports: [] });
  w.supervisor.launch(await w.plane.agent(east, 'e3'));
  await until('the new agent says what it waits for', async () => {
    expect(await w.page('east agent e3', '/readyz')).toMatch(/^503 waiting for the complete state/);
  });
  expect(await w.page('east agent e3', '/livez')).toBe('ok\n');
  await w.supervisor.restart('east controller');
  await w.supervisor.untilReady('east agent e3');
  const plan = { host: vip, port: 80, protocol: 'TCP', requests: 300, timeoutMs: 10_000 } as const;
  const result = await startLoad(gated?.host ?? client(), plan).done;
  expect(result).toMatchObject({ requests: 300, failed: 0 });
  expect(Object.keys(result.answers)).toEqual(
    pods()
      .map((pod) => pod.answer)
      .sort(),
  );
});

test('P6 a cluster taken off the list leaves, and comes back with exactly what it has', async () => {
  const w = world();
  const vip = await w.programmed('east', 'web');
  await w.leadsTo('east', vip, at(8080));
  w.plane.setMembers(['east']);
  await w.leadsTo('east', vip, ['rejected']);
  await until('east does not show west any more', () => {
    expect(w.standing('east', 'web', 'west')).toBe('not shown');
  });
  const [gone] = pods();
  if (gone) await w.cluster('west').removePod(gone);
  await w.addPods('west', 'web-new', ['w1'], { labels: { app: 'web' }, ports: gone?.ports ?? [] });
  w.plane.setMembers(['east', 'west']);
  await w.leadsTo('east', vip, at(8080));
  await until('west is Synced', () => expect(w.standing('east', 'web', 'west')).toBe('Synced Synced'));
});

test('P7 what is changed by hand in the kernel, among the claims and in a status is put right', async () => {
  const w = world();
  const { stateDir } = w.cluster('east');
  const vip = await w.programmed('east', 'web');
  await w.leadsTo('east', vip, at(8080));
  const onNode = w.cluster('east').node('e1').namespace;
  const claims = join(stateDir, 'claims.yaml');
  const status = join(stateDir, 'status', 'Gateway', 'shop_web.yaml');
  const edit = (path: string, change: (text: string) => string): void => {
    const text = change(readFileSync(path, 'utf8'));
    expect(text, path).not.toBe(readFileSync(path, 'utf8'));
    writeFileSync(path, text);
  };
  const repairs = async (): Promise<number> =>
    ((await w.metric('east controller', 'drift_repaired_total')) ?? 0) +
    ((await w.metric('east agent e1', 'drift_repaired_total')) ?? 0);
  // Later claims may come and go; that this one is there is what counts.
  await until('the claim is in the file', () => expect(readFileSync(claims, 'utf8')).toContain(`"${vip}"`));
  const before = await repairs();
  const deleted = await onNode.run([
    'nft',
    'delete',
    'element',
    'inet',
    'causeway',
    'vip4',
    `{ ${vip} . tcp . 80 }`,
  ]);
  expect(deleted).toMatchObject({ code: 0, stderr: '' });
  edit(claims, (text) => text.replace(new RegExp(`^- .*"${vip}".*\\n`, 'm'), ''));
  edit(status, (text) => text.replace(vip, '192.0.2.1'));

  await w.leadsTo('east', vip, at(8080));
  await until('the claim is back', () => expect(readFileSync(claims, 'utf8')).toContain(`"${vip}"`));
  await until('the status has the address', () => expect(w.vip('east', 'web')).toBe(vip));
  await until('each repair is counted', async () => expect(await repairs()).toBe(before + 3));
});

test('P11 another target port in the other cluster is followed, and nothing fails', async () => {
  const w = world();
  const { objects } = w.cluster('west');
  const vip = await w.programmed('east', 'web');
  await w.leadsTo('east', vip, at(8080));
  const traffic = await Traffic.start(client(), { host, port: 80 });
  for (const targetPort of [9090, 8080]) {
    objects.write('web.yaml', composite('web', [{ port: 80, targetPort }], true), selector('web'));
    await w.leadsTo('east', vip, at(targetPort));
  }
  await traffic.flows(50);
  await traffic.endsWithoutFailure();
});

test('P16 after a thousand pods came and went, the other cluster has exactly those that are ready', async () => {
  const w = world();
  const [east, west] = [w.cluster('east'), w.cluster('west')];
  east.objects.write('churn.yaml', ...consumerOf('churn'));
  west.objects.write('churn.yaml', ...wholeOf('churn'));
  const vip = await w.programmed('east', 'churn');
  /** Pod → whether it is ready. */
  const present = new Map<number, boolean>();
  const address = (i: number): string => `10.20.${1 + (i % 2)}.${150 + i}`;
  const ready = (): string[] =>
    [...present].flatMap(([i, isReady]) => (isReady ? [`${address(i)}:8080`] : [])).sort();
  // xorshift32: a failure can be run again.
  let seed = 0x9e3779b9;
  const random = (below: number): number => {
    seed ^= seed << 13;
    seed ^= seed >>> 17;
    seed ^= seed << 5;
    return (seed >>> 0) % below;
  };
  let cameAndWent = 0;
  let untilQuiet = 0;
  while (cameAndWent < 1000) {
    const i = random(60);
    const file = `churn/churn-${i}.yaml`;
    const before = present.get(i);
    // One step in three changes a pod's readiness; those that come or go are counted.
    const flips = before !== undefined && random(3) === 0;
    const next = flips ? !before : before === undefined ? random(4) > 0 : undefined;
    if (!flips) cameAndWent += 1;
    if (next === undefined) {
      west.objects.remove(file);
      present.delete(i);
    } else {
      west.objects.write(file, churnPod(`churn-${i}`, address(i), next));
      present.set(i, next);
    }
    // Changes come in bursts and, when all of it has arrived, alone.
    if (untilQuiet-- > 0) continue;
    await w.leadsTo('east', vip, ready().length > 0 ? ready() : ['rejected']);
    untilQuiet = random(3) === 0 ? 0 : random(200);
  }
  expect(ready().length).toBeGreaterThan(5);
  await w.leadsTo('east', vip, ready());
  // The same set on the way: what west has compiled, what east has, what an agent was told.
  for (const process of ['west controller', 'east controller', 'east agent e1']) {
    const lines = (await w.page(process, '/debug/ir')).match(/10\.20\.\d+\.(1[5-9]\d|2\d\d):8080/g) ?? [];
    expect([...new Set(lines)].sort(), process).toEqual(ready());
  }
});

function churnPod(name: string, ip: string, ready: boolean): object {
  return podObject({
    namespace: 'shop',
    name,
    uid: randomUUID(),
    node: 'w1',
    labels: { app: 'churn' },
    ports: [{ port: 8080, protocol: 'TCP' }],
    ips: [ip],
    hostIp: '172.18.2.1',
    ready,
    created: '2026-01-01T00:00:00Z',
  });
}
