import { afterEach, beforeAll, expect, test } from 'vitest';
import type { Pod } from '../../src/cli/playground/pod.ts';
import { composite, frontEnd, gateway, providerOf, route, selector, wholeOf } from './case-objects.ts';
import { caseWorld, Traffic, until } from './case-world.ts';
import { EnvoyProcess } from './envoy-process.ts';
import { HeldConnection } from './held-connection.ts';

/** A stock Envoy instead of an agent: it follows the controller of east and takes connections to its VIPs. */

const near = { distribution: { policy: 'PreferLocal', localThresholdPercent: 50 } };
const ordered = { distribution: { policy: 'Ordered', order: [{ names: ['west'] }] } };
const http = { port: 80, targetPort: 8080 };
const apps = { store: {}, near, ordered };

/** Two composites behind one listener. */
const canary = (first: number, second: number): object => {
  const whole = route('canary', { port: 80 }) as { spec: { rules: { backendRefs: object[] }[] } };
  const [rule] = whole.spec.rules;
  const ref = (name: string, weight: number) => ({ ...rule?.backendRefs[0], name, weight });
  return {
    ...whole,
    spec: { ...whole.spec, rules: [{ backendRefs: [ref('v1', first), ref('v2', second)] }] },
  };
};

const world = caseWorld({
  clusters: { east: { nodes: ['e1', 'e2'] }, west: { nodes: ['w1'] } },
  prepare: async (w) => {
    const [east, west] = [w.cluster('east').objects, w.cluster('west').objects];
    for (const [app, spec] of Object.entries(apps)) {
      east.write(`${app}.yaml`, ...wholeOf(app, spec));
      west.write(`${app}.yaml`, ...providerOf(app));
    }
    east.write('both.yaml', gateway('both', [http], ['0.0.0.0', '::']), route('both', http, 'store'));
    const local = { import: { from: [] } };
    for (const app of ['v1', 'v2'])
      east.write(`${app}.yaml`, composite(app, [http], true, local), selector(app));
    east.write('canary.yaml', gateway('canary', [{ port: 80 }]), canary(3, 1));
    // What an Envoy does not take must not be told to it.
    const echo = { port: 53, protocol: 'UDP' as const, targetPort: 5353 };
    east.write('echo.yaml', ...frontEnd('echo', [echo]), composite('echo', [echo], true), selector('echo'));
    await Promise.all([
      w.addClient('east', 'e1'),
      ...['store', 'near', 'ordered'].flatMap((app) => [
        w.addPods('east', app, ['e1', 'e2']),
        w.addPods('west', app, ['w1']),
      ]),
      w.addPods('east', 'v1', ['e2']),
      w.addPods('east', 'v2', ['e2']),
      w.addPods('east', 'echo', ['e2'], { ports: [{ port: 5353, protocol: 'UDP' }] }),
    ]);
  },
  start: async (w) => {
    await Promise.all([w.startRelay(), w.startController('east'), w.startController('west')]);
    await w.startDns('east');
  },
});

let envoy: EnvoyProcess;
beforeAll(async () => {
  const w = world();
  for (const app of Object.keys(apps)) await standing(app, 'west', 'Synced Synced');
  envoy = await EnvoyProcess.start(w, w.pod('east', 'client-e1'));
});
afterEach(() => refusedNothing());

const client = () => world().pod('east', 'client-e1').host;
const of = (app: string): string => `${app}.shop.gw.cluster.local`;
const backend = (app: string): string => `composite/shop/${app}/tcp-80`;
const podsOf = (app: string, ...clusters: string[]): Pod[] =>
  clusters.flatMap((name) =>
    [...world().cluster(name).pods.values()].filter((pod) => pod.name.startsWith(`${app}-`)),
  );

const standing = (app: string, cluster: string, wanted: string): Promise<void> =>
  until(`${cluster} is ${wanted} for ${app}`, () =>
    expect(world().standing('east', app, cluster)).toBe(wanted),
  );

/** Envoy has these endpoints, by priority. */
const holds = (app: string, ...priorities: readonly (readonly Pod[])[]): Promise<void> =>
  until(`Envoy has the endpoints of ${app}`, async () =>
    expect((await envoy.endpoints(backend(app))) ?? []).toEqual(
      priorities.flatMap((pods, priority) => pods.map((pod) => `${priority} ${pod.ip}:8080`)).sort(),
    ),
  );

/** Neither side counts a refusal. */
async function refusedNothing(): Promise<void> {
  const rejected = await envoy.stats('update_rejected');
  for (const name of ['cluster_manager.cds', 'listener_manager.lds', `cluster.${backend('store')}`]) {
    expect(rejected.get(`${name}.update_rejected`), name).toBe(0);
  }
  expect([...rejected].filter(([, count]) => count > 0)).toEqual([]);
  expect((await world().metric('east controller', 'xds_nacks_total', { role: 'proxy' })) ?? 0).toBe(0);
}

async function answers(host: string, port: number, requests: number) {
  const traffic = await Traffic.start(client(), { host, port, rate: 400, requests });
  return await traffic.endsWithoutFailure();
}

test('design Envoy a stock Envoy takes all that it may see: by VIP of both families, by name, and by back end', async () => {
  const w = world();
  const everywhere = podsOf('store', 'east', 'west');
  await holds('store', everywhere);
  const { addresses = [] } = w.status('east', 'Gateway', 'both');
  const vips = addresses.map(({ value }) => value);
  expect(vips).toHaveLength(w.cluster('east').serviceCidrs.length);
  for (const host of [...vips, of('store')]) {
    const traffic = await Traffic.start(client(), { host, port: 80 });
    await traffic.comesOnlyFrom(everywhere);
    await traffic.endsWithoutFailure();
  }
  const direct = await Traffic.start(client(), { host: '127.0.0.1', port: 8080 });
  await direct.comesOnlyFrom(everywhere);
  await direct.endsWithoutFailure();
  // A port that no Listener is for leads nowhere, not somewhere else.
  const other = await client().run(['curl', '-sS', '-m', '5', `http://${vips[0]}:81`]);
  expect(other).toMatchObject({ code: expect.toSatisfy((code) => code !== 0), stdout: '' });
  // UDP front ends and what is for nodes only it is not told of.
  const dump = await envoy.configDump();
  expect(dump).toContain('"gateway/shop/store/tcp-80"');
  expect(dump).not.toContain('gateway/shop/echo');
  expect(await envoy.endpoints('nodes')).toBeUndefined();
  expect(await envoy.stat('listener_manager.total_listeners_active')).toBe(2 + 5);
});

test('design Envoy a stock Envoy shows its configuration with our metadata', async () => {
  const { configs } = JSON.parse(await envoy.configDump()) as { configs: Record<string, unknown>[] };
  const types = configs.map((config) => String(config['@type']).split('.').at(-1));
  expect(types).toEqual(
    expect.arrayContaining(['ListenersConfigDump', 'ClustersConfigDump', 'EndpointsConfigDump']),
  );
  const text = JSON.stringify(configs);
  const facts = { key: 'gateway/shop/store', names: [of('store')], protocol: 'TCP', port: 80 };
  for (const [key, value] of Object.entries(facts)) {
    expect(text).toContain(`"${key}":${JSON.stringify(value)}`);
  }
  expect(text).toContain('"causeway.dev":{"policy":"PreferLocal"}');
});

test('design Envoy a stock Envoy follows the weights of a route', async () => {
  const { objects } = world().cluster('east');
  await holds('v1', podsOf('v1', 'east'));
  await holds('v2', podsOf('v2', 'east'));
  const split = await answers(of('canary'), 80, 800);
  expect((split.answers['east/v1-0'] ?? 0) / split.requests).toBeCloseTo(0.75, 0);
  expect(Math.abs((split.answers['east/v1-0'] ?? 0) / split.requests - 0.75)).toBeLessThan(0.1);
  const traffic = await Traffic.start(client(), { host: of('canary'), port: 80 });
  objects.write('canary.yaml', gateway('canary', [{ port: 80 }]), canary(0, 1));
  await traffic.comesOnlyFrom(podsOf('v2', 'east'));
  objects.write('canary.yaml', gateway('canary', [{ port: 80 }]), canary(1, 0));
  await traffic.comesOnlyFrom(podsOf('v1', 'east'));
  await traffic.endsWithoutFailure();
});

test('design Envoy a stock Envoy prefers and falls over by priority, as PreferLocal and Ordered say', async () => {
  await holds('near', podsOf('near', 'east'), podsOf('near', 'west'));
  await holds('ordered', podsOf('ordered', 'west'), podsOf('ordered', 'east'));
  const [nearby, inOrder] = [
    await Traffic.start(client(), { host: of('near'), port: 80 }),
    await Traffic.start(client(), { host: of('ordered'), port: 80 }),
  ];
  await nearby.comesOnlyFrom(podsOf('near', 'east'));
  await inOrder.comesOnlyFrom(podsOf('ordered', 'west'));
  for (const pod of [...podsOf('near', 'east'), ...podsOf('ordered', 'west')]) pod.setReady(false);
  await holds('near', podsOf('near', 'west'));
  await holds('ordered', podsOf('ordered', 'east'));
  await nearby.comesOnlyFrom(podsOf('near', 'west'));
  await inOrder.comesOnlyFrom(podsOf('ordered', 'east'));
  for (const pod of [...podsOf('near', 'east'), ...podsOf('ordered', 'west')]) pod.setReady(true);
  await nearby.comesOnlyFrom(podsOf('near', 'east'));
  await inOrder.comesOnlyFrom(podsOf('ordered', 'west'));
  await nearby.endsWithoutFailure();
  await inOrder.endsWithoutFailure();
});

test('design Envoy a stock Envoy follows endpoints that come and go, and a back end without any', async () => {
  const w = world();
  const traffic = await Traffic.start(client(), { host: of('store'), port: 80 });
  const [more] = await w.addPods('west', 'store-more', ['w1'], { labels: { app: 'store' } });
  await holds('store', podsOf('store', 'east', 'west'));
  await traffic.comesOnlyFrom(podsOf('store', 'east', 'west'));
  more?.setReady(false);
  await holds(
    'store',
    podsOf('store', 'east', 'west').filter((pod) => pod !== more),
  );
  if (more) await w.cluster('west').removePod(more);
  await traffic.comesOnlyFrom(podsOf('store', 'east', 'west'));
  await traffic.endsWithoutFailure();

  const [v2] = podsOf('v2', 'east');
  w.cluster('east').objects.write('canary.yaml', gateway('canary', [{ port: 80 }]), canary(0, 1));
  v2?.setReady(false);
  await holds('v2');
  const ask = () => client().run(['curl', '-sS', '-m', '5', `http://${of('canary')}`]);
  await until('there is nobody to connect to', async () => expect((await ask()).code).not.toBe(0));
  v2?.setReady(true);
  await until('there is', async () => expect((await ask()).stdout).toContain('east/v2-0'));
});

test('design Envoy a stock Envoy keeps the endpoints of a cluster that is Stale', async () => {
  const w = world();
  await holds('store', podsOf('store', 'east', 'west'));
  const traffic = await Traffic.start(client(), { host: of('store'), port: 80 });
  await w.supervisor.kill('relay');
  await w.supervisor.kill('west controller');
  await standing('store', 'west', 'Stale NoContact');
  await traffic.flows(100);
  await holds('store', podsOf('store', 'east', 'west'));
  await traffic.comesOnlyFrom(podsOf('store', 'east', 'west'));
  // Its pods are gone as well: they leave by probes, without a word of their controller.
  const [gone] = podsOf('near', 'west');
  await gone?.stopEcho();
  await standing('near', 'west', 'Stale Unreachable');
  await holds('near', podsOf('near', 'east'));
  await gone?.startEcho();
  await Promise.all(['relay', 'west controller'].map((name) => w.supervisor.restart(name)));
  await standing('near', 'west', 'Synced Synced');
  await holds('near', podsOf('near', 'east'), podsOf('near', 'west'));
  await traffic.endsWithoutFailure();
});

test('design Envoy a stock Envoy loses no connection while the controller is away, and catches up when it is back', async () => {
  const w = world();
  const traffic = await Traffic.start(client(), { host: of('store'), port: 80 });
  const held = await HeldConnection.open(client(), w.vip('east', 'store'), 80);
  try {
    const updates = await envoy.stat('listener_manager.lds.update_success');
    await w.supervisor.kill('east controller');
    await until('Envoy has lost it', async () =>
      expect(await envoy.stat('control_plane.connected_state')).toBe(0),
    );
    const fresh = await w.addPods('east', 'store-late', ['e2'], { labels: { app: 'store' } });
    await traffic.flows(100);
    await w.supervisor.restart('east controller');
    await until('Envoy has it again', async () =>
      expect(await envoy.stat('control_plane.connected_state')).toBe(1),
    );
    await holds('store', podsOf('store', 'east', 'west'));
    expect(podsOf('store', 'east')).toEqual(expect.arrayContaining([...fresh]));
    await traffic.comesOnlyFrom(podsOf('store', 'east', 'west'));
    await held.ask();
    // What did not change was not sent again: no Listener was replaced.
    const changed = await envoy.stats('listener_manager.listener_modified');
    const before = changed.get('listener_manager.listener_modified');
    await w.supervisor.restart('east controller');
    await until('Envoy has it again', async () =>
      expect(await envoy.stat('control_plane.connected_state')).toBe(1),
    );
    expect(await envoy.stat('listener_manager.listener_modified')).toBe(before);
    expect(updates).toBeGreaterThan(0);
    await held.ask();
  } finally {
    held.end();
  }
  await traffic.endsWithoutFailure();
});

test('design Envoy a stock Envoy that starts has all at once, and one that starts without a controller waits for it', async () => {
  const w = world();
  await w.supervisor.restart('envoy');
  await holds('store', podsOf('store', 'east', 'west'));
  await answers(of('store'), 80, 100);
  await w.supervisor.kill('east controller');
  await w.supervisor.kill('envoy');
  w.supervisor.launch(w.supervisor.spec('envoy'));
  await until('it waits', async () => expect(await w.page('envoy', '/ready')).toMatch(/^503/));
  await w.supervisor.restart('east controller');
  await w.supervisor.untilReady('envoy');
  await holds('store', podsOf('store', 'east', 'west'));
  await answers(of('store'), 80, 100);
});
