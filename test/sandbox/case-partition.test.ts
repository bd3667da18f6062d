import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { podObject } from '../../src/cli/playground/pod-objects.ts';
import { providerOf, wholeOf } from './case-objects.ts';
import { caseWorld, Traffic, until } from './case-world.ts';

const of = (app: string) => `${app}.shop.gw.cluster.local`;
/** A pod that only its object says to be there: nobody may ever send to it. */
const unreachable = '10.30.1.7';

const world = caseWorld({
  clusters: {
    east: { nodes: ['e1', 'e2'], dataPlane: true },
    west: { nodes: ['w1'] },
    north: { nodes: [], networkId: 'n2' },
    south: { nodes: ['s1'] },
  },
  prepare: async (w) => {
    const objectsOf = (app: string, expireAfter?: string) =>
      wholeOf(app, expireAfter === undefined ? {} : { disconnect: { expireAfter } });
    w.cluster('east').objects.write('web.yaml', ...objectsOf('web'));
    w.cluster('east').objects.write('short.yaml', ...objectsOf('short', '10s'));
    w.cluster('east').objects.write('long.yaml', ...objectsOf('long', 'Never'));
    for (const app of ['web', 'short', 'long'])
      w.cluster('west').objects.write(`${app}.yaml`, ...providerOf(app));
    w.cluster('east').objects.write('trio.yaml', ...objectsOf('trio'));
    for (const name of ['west', 'south']) w.cluster(name).objects.write('trio.yaml', ...providerOf('trio'));
    w.cluster('north').objects.write('web.yaml', ...providerOf('web'), northPod());
    await Promise.all([
      w.addClient('east', 'e1'),
      w.addPods('east', 'web', ['e2']),
      w.addPods('west', 'web', ['w1', 'w1']),
      w.addPods('east', 'short', ['e2']),
      w.addPods('west', 'short', ['w1']),
      w.addPods('east', 'long', ['e1']),
      w.addPods('east', 'trio', ['e1']),
      w.addPods('west', 'trio', ['w1']),
      w.addPods('south', 'trio', ['s1']),
      w.addPods('west', 'long', ['w1']),
    ]);
  },
});

function northPod(): object {
  return podObject({
    namespace: 'shop',
    name: 'web-0',
    uid: 'f3b4a1de-0000-4000-8000-000000000001',
    node: 'n1',
    labels: { app: 'web' },
    ports: [{ port: 8080, protocol: 'TCP' }],
    ips: [unreachable],
    hostIp: '172.18.3.1',
    ready: true,
    created: '2026-01-01T00:00:00Z',
  });
}

const client = () => world().pod('east', 'client-e1').host;
const pods = (app: string, ...clusters: string[]) =>
  clusters.flatMap((name) =>
    [...world().cluster(name).pods.values()].filter((pod) => pod.name.startsWith(`${app}-`)),
  );
const at = (list: ReturnType<typeof pods>) => list.map((pod) => `${pod.ip}:8080`);

const standing = (app: string, cluster: string, wanted: string): Promise<void> =>
  until(`${cluster} is ${wanted} for ${app}`, () =>
    expect(world().standing('east', app, cluster)).toBe(wanted),
  );

/** What the controller knows of its agents: a position of -1 is an agent that has not acknowledged anything. */
async function agents(): Promise<readonly { node: string; connected: boolean; position: number }[]> {
  return parse(await world().page('east controller', '/debug/nodes'));
}

const agentsHoldAll = (): Promise<void> =>
  until('both agents hold what the controller tells', async () => {
    const known = await agents();
    expect(known.map(({ node, connected }) => [node, connected])).toEqual([
      ['e1', true],
      ['e2', true],
    ]);
    for (const { position } of known) expect(position).toBeGreaterThanOrEqual(0);
  });

test('O4 a cluster of another network without a gateway gives no endpoint, and the status says why', async () => {
  const w = world();
  const vip = await w.programmed('east', 'web');
  await standing('web', 'north', 'Synced NoGatewayAddress');
  await standing('web', 'west', 'Synced Synced');
  await w.leadsTo('east', vip, at(pods('web', 'east', 'west')));
  for (const process of ['east controller', 'east agent e1']) {
    expect(await w.metric(process, 'endpoints', { cluster: 'west', state: 'healthy' })).toBeGreaterThan(0);
    expect((await w.metric(process, 'endpoints', { cluster: 'north' })) ?? 0).toBe(0);
    expect(await w.page(process, '/debug/ir')).not.toContain(unreachable);
  }
  // It was offered: the relay has it.
  expect(await w.page('relay', '/debug/wanted')).toContain('shop/web/tcp-80/north');
});

test.each(['SIGKILL', 'SIGTERM'] as const)(
  'design restart a controller that restarts (%s) under traffic cuts nothing',
  async (signal) => {
    const w = world();
    const vip = await w.programmed('east', 'web');
    const all = pods('web', 'east', 'west');
    await w.leadsTo('east', vip, at(all));
    const traffic = await Traffic.start(client(), { host: of('web'), port: 80 });
    for (const name of ['east controller', 'west controller']) {
      await w.supervisor.kill(name, signal);
      await traffic.flows(30);
      await w.supervisor.restart(name);
      await traffic.flows(30);
    }
    await agentsHoldAll();
    await standing('web', 'west', 'Synced Synced');
    await w.leadsTo('east', vip, at(all));
    await traffic.comesOnlyFrom(all);
    await traffic.endsWithoutFailure();
    expect(w.vip('east', 'web')).toBe(vip);
  },
);

test('D2 the other cluster’s control plane is away: its pods go on, and the state says Stale', async () => {
  const w = world();
  const vip = await w.programmed('east', 'web');
  const all = pods('web', 'east', 'west');
  await w.leadsTo('east', vip, at(all));
  const traffic = await Traffic.start(client(), { host: of('web'), port: 80 });
  await w.supervisor.kill('west controller');
  await standing('web', 'west', 'Stale NoContact');
  await w.supervisor.kill('relay');
  await until('each of its pods is probed several times', async () => {
    const passed = await w.metric('east controller', 'probes_total', { result: 'passed' });
    expect(passed).toBeGreaterThan(10);
  });
  await traffic.flows(300);
  await standing('web', 'west', 'Stale NoContact');
  expect(await w.metric('east controller', 'endpoints_unreachable', { cluster: 'west' })).toBe(0);
  await w.leadsTo('east', vip, at(all));
  await traffic.comesOnlyFrom(all);
  await Promise.all(['relay', 'west controller'].map((name) => w.supervisor.restart(name)));
  await standing('web', 'west', 'Synced Synced');
  await w.leadsTo('east', vip, at(all));
  await traffic.endsWithoutFailure();
});

/** Drops whatever goes between these namespaces, whichever way it comes. */
async function cut(from: readonly string[], to: readonly string[]): Promise<() => Promise<void>> {
  const w = world();
  const rules = from.flatMap((a) =>
    to.map((b) => `ip saddr ${a} ip daddr ${b} drop; ip saddr ${b} ip daddr ${a} drop;`),
  );
  const table = `table ip cut { chain c { type filter hook forward priority -10; ${rules.join(' ')} }; }`;
  const nft = async (command: string): Promise<void> => {
    expect(await w.network.router.run(['nft', command])).toMatchObject({ code: 0 });
  };
  await nft(table);
  return () => nft('delete table ip cut');
}

test('D1 nothing goes between two clusters any more: probes fail, its endpoints leave, and come back', async () => {
  const w = world();
  const vip = await w.programmed('east', 'web');
  const all = pods('web', 'east', 'west');
  await standing('web', 'west', 'Synced Synced');
  await w.leadsTo('east', vip, at(all));
  // The relay is on west's side of the cut.
  const heal = await cut(['172.18.1.0/24', '10.10.0.0/16'], ['172.18.2.0/24', '10.20.0.0/16', '172.18.0.10']);
  await standing('web', 'west', 'Stale Unreachable');
  await w.leadsTo('east', vip, at(pods('web', 'east')));
  expect(await w.metric('east controller', 'endpoints_unreachable', { cluster: 'west' })).toBeGreaterThan(0);
  const traffic = await Traffic.start(client(), { host: of('web'), port: 80 });
  await traffic.flows(100);
  await traffic.comesOnlyFrom(pods('web', 'east'));
  await heal();
  await standing('web', 'west', 'Synced Synced');
  await w.leadsTo('east', vip, at(all));
  await traffic.comesOnlyFrom(all);
  await traffic.endsWithoutFailure();
});

test('D4 a controller that restarts while relay and peers are away has the same in force at once', async () => {
  const w = world();
  const vip = await w.programmed('east', 'web');
  const all = pods('web', 'east', 'west');
  await standing('web', 'west', 'Synced Synced');
  await w.leadsTo('east', vip, at(all));
  const traffic = await Traffic.start(client(), { host: of('web'), port: 80 });
  const away = ['relay', 'west controller'];
  for (const name of away) await w.supervisor.kill(name);
  for (const name of ['west', 'north']) await standing('web', name, 'Stale NoContact');
  const clusters = () => w.status('east', 'CompositeBackend', 'web').clusters;
  const before = clusters();
  for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
    await w.supervisor.restart('east controller', signal);
    await agentsHoldAll();
    expect(clusters()).toEqual(before);
    expect(await w.metric('east controller', 'source_synced', { cluster: 'west' })).toBe(0);
    for (const node of ['e1', 'e2']) expect(await w.targets('east', node, vip)).toEqual(at(all).sort());
  }
  // What was kept is complete: an agent that starts now becomes ready with it.
  await w.supervisor.restart('east agent e1');
  for (const node of ['e1', 'e2']) expect(await w.targets('east', node, vip)).toEqual(at(all).sort());
  // Of what is new nobody has ever given anything: our own endpoints serve.
  w.cluster('east').objects.write('new.yaml', ...wholeOf('new'));
  await w.addPods('east', 'new', ['e2']);
  await w.leadsTo('east', await w.programmed('east', 'new'), at(pods('new', 'east')));
  await traffic.comesOnlyFrom(all);
  for (const name of away) await w.supervisor.restart(name);
  await standing('web', 'west', 'Synced Synced');
  await w.leadsTo('east', vip, at(all));
  await traffic.endsWithoutFailure();
});

test('D4 a controller that starts while one cluster is black-holed serves its own pods and the other clusters’', async () => {
  const w = world();
  const vip = await w.programmed('east', 'trio');
  await w.leadsTo('east', vip, at(pods('trio', 'east', 'west', 'south')));
  const heal = await cut(['172.18.2.0/24', '10.20.0.0/16'], ['172.18.1.0/24', '10.10.0.0/16', '172.18.0.10']);
  await standing('trio', 'west', 'Stale Unreachable');
  await w.leadsTo('east', vip, at(pods('trio', 'east', 'south')));
  const traffic = await Traffic.start(client(), { host: of('trio'), port: 80 });
  await until('what fails is on disk', () => {
    const [, kept = '{}'] = readFileSync(join(w.cluster('east').stateDir, 'peers.json'), 'utf8').split('\n');
    const { failing } = JSON.parse(kept) as { failing?: Record<string, unknown> };
    expect(failing).toHaveProperty(['shop/trio/tcp-80/west']);
  });
  await w.supervisor.restart('east controller', 'SIGKILL');
  await agentsHoldAll();
  await standing('trio', 'south', 'Synced Synced');
  await w.addPods('south', 'trio-more', ['s1'], { labels: { app: 'trio' } });
  // What west gave is in force from the disk, and so is that nobody there took connections.
  await w.leadsTo('east', vip, at(pods('trio', 'east', 'south')));
  await traffic.comesOnlyFrom(pods('trio', 'east', 'south'));
  await heal();
  await standing('trio', 'west', 'Synced Synced');
  await w.leadsTo('east', vip, at(pods('trio', 'east', 'west', 'south')));
  await traffic.comesOnlyFrom(pods('trio', 'east', 'west', 'south'));
  await traffic.endsWithoutFailure();
});

test('design withheld a controller that lost what peers gave shrinks nothing for its agents without a relay', async () => {
  const w = world();
  const vip = await w.programmed('east', 'web');
  const all = pods('web', 'east', 'west');
  await w.leadsTo('east', vip, at(all));
  await standing('web', 'west', 'Synced Synced');
  const traffic = await Traffic.start(client(), { host: of('web'), port: 80 });
  await w.supervisor.kill('relay');
  await w.supervisor.kill('east controller');
  writeFileSync(join(w.cluster('east').stateDir, 'peers.json'), 'half a file');
  await w.supervisor.restart('east controller');
  await agentsHoldAll();
  for (const node of ['e1', 'e2']) expect(await w.targets('east', node, vip)).toEqual(at(all).sort());
  // An agent restarts as well: what its kernel holds is not thrown away for what the controller knows now.
  await w.supervisor.kill('east agent e1');
  w.supervisor.launch(w.supervisor.spec('east agent e1'));
  await until('the new agent is told what there is', async () => {
    expect(await agents()).toMatchObject([{ node: 'e1', connected: true }, { node: 'e2' }]);
    expect(await w.page('east agent e1', '/debug/inputs')).toContain('connected: true');
  });
  expect(await w.page('east agent e1', '/readyz')).toMatch(/^503 waiting for the complete state/);
  await traffic.flows(100);
  for (const node of ['e1', 'e2']) expect(await w.targets('east', node, vip)).toEqual(at(all).sort());
  await traffic.comesOnlyFrom(all);

  const [first] = pods('web', 'west');
  const more = await w.addPods('west', 'web-more', ['w1'], { labels: { app: 'web' } });
  await w.supervisor.restart('relay');
  await standing('web', 'west', 'Synced Synced');
  await w.leadsTo('east', vip, at(pods('web', 'east', 'west')));
  expect(pods('web', 'west')).toEqual(expect.arrayContaining([first, ...more]));
  await traffic.endsWithoutFailure();
  await w.supervisor.untilReady('east agent e1');
  await agentsHoldAll();
});

test('D3 without contact endpoints leave after expireAfter, and stay where it is Never', async () => {
  const w = world();
  const [short, long] = [await w.programmed('east', 'short'), await w.programmed('east', 'long')];
  await w.leadsTo('east', short, at(pods('short', 'east', 'west')));
  await w.leadsTo('east', long, at(pods('long', 'east', 'west')));
  const traffic = await Traffic.start(client(), { host: of('short'), port: 80 });
  await w.supervisor.kill('relay');
  await w.supervisor.kill('west controller');
  await standing('short', 'west', 'Stale NoContact');
  expect(await w.targets('east', 'e1', short)).toEqual(at(pods('short', 'east', 'west')).sort());
  await standing('short', 'west', 'Expired Expired');
  await w.leadsTo('east', short, at(pods('short', 'east')));
  await traffic.comesOnlyFrom(pods('short', 'east'));
  for (const app of ['long', 'web']) await standing(app, 'west', 'Stale NoContact');
  await w.leadsTo('east', long, at(pods('long', 'east', 'west')));
  await Promise.all(['relay', 'west controller'].map((name) => w.supervisor.restart(name)));
  for (const app of ['short', 'long']) await standing(app, 'west', 'Synced Synced');
  await w.leadsTo('east', short, at(pods('short', 'east', 'west')));
  await w.leadsTo('east', long, at(pods('long', 'east', 'west')));
  await traffic.endsWithoutFailure();
});
