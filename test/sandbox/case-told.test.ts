import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { relayAddress } from '../../src/cli/playground/control-plane.ts';
import { typeUrls } from '../../src/wire/proto/type-urls.ts';
import { XdsCapture } from './case-capture.ts';
import { consumerOf, providerOf, selector, wholeOf } from './case-objects.ts';
import { caseWorld, until } from './case-world.ts';

/** What clusters tell each other, and what they tell people. */

const toNorth = { export: { to: [{ clusters: { names: ['north'] } }] } };
const fromWest = { import: { from: [{ clusters: { names: ['west'] } }] } };
/** `lonely` is a selector without a composite. */
const names = ['open', 'hidden', 'named', 'lonely'];

const world = caseWorld({
  clusters: {
    east: { nodes: ['e1'], dataPlane: true },
    west: { nodes: ['w1'] },
    north: { nodes: ['n1'] },
  },
  prepare: async (w) => {
    const { objects } = w.cluster('west');
    objects.write('open.yaml', ...providerOf('open'));
    objects.write('hidden.yaml', ...providerOf('hidden', { export: { to: [] } }));
    objects.write('named.yaml', ...providerOf('named', toNorth));
    objects.write('lonely.yaml', selector('lonely'));
    w.cluster('north').objects.write('empty.yaml', ...providerOf('empty'));
    for (const name of names) w.cluster('east').objects.write(`${name}.yaml`, ...consumerOf(name, fromWest));
    w.cluster('east').objects.write('empty.yaml', ...consumerOf('empty'));
    await Promise.all(names.map((name) => w.addPods('west', name, ['w1'])));
  },
});

const standing = (composite: string, cluster: string, wanted: string): Promise<void> =>
  until(`${cluster} is ${wanted} for ${composite}`, () =>
    expect(world().standing('east', composite, cluster)).toBe(wanted),
  );

/** A controller of `cluster` that asks the relay for everything there could be. */
async function consumer(cluster: string): Promise<XdsCapture> {
  const { cluster: clusterType, assignment, originStatus } = typeUrls;
  const globs = (type: string): string[] =>
    names.map((name) => `xdstp://demo/${type.split('/')[1]}/v1/shop/${name}/tcp-80/*`);
  return new XdsCapture({
    address: relayAddress,
    tls: await world().plane.certificate(cluster, 'controller', { network: 'n1' }),
    server: 'relay',
    names: {
      [clusterType]: [...globs(clusterType), '*'],
      [assignment]: [...globs(assignment), '*'],
      [originStatus]: ['xdstp://demo/causeway.v1.OriginStatus/v1/*', '*'],
    },
  });
}

const answered = (capture: XdsCapture): Promise<void> =>
  until('every name is answered', () => {
    expect(capture.failure).toBeUndefined();
    for (const name of names)
      expect([...capture.answered].filter((n) => n.includes(`/shop/${name}/tcp-80/`)).length, name).toBe(2);
  });

test('X6 what is not exported, or not to this cluster, never appears on the wire', async () => {
  const w = world();
  await standing('open', 'west', 'Synced Synced');
  const [east, north] = [await consumer('east'), await consumer('north')];
  try {
    await answered(east);
    await answered(north);
    const sent = (capture: XdsCapture) =>
      [...capture.sent.keys()].filter((n) => n.endsWith('/west') && n.includes('/shop/')).sort();
    const parts = (...offered: string[]) =>
      [typeUrls.cluster, typeUrls.assignment]
        .flatMap((type) =>
          offered.map((name) => `xdstp://demo/${type.split('/')[1]}/v1/shop/${name}/tcp-80/west`),
        )
        .sort();
    expect(sent(east)).toEqual(parts('open'));
    expect(sent(north)).toEqual(parts('named', 'open'));
    const ip = (name: string): string => w.pod('west', `${name}-0`).ip;
    for (const [who, capture, told] of [
      ['east', east, new Set<string>(['open'])],
      ['north', north, new Set<string>(['open', 'named'])],
    ] as const) {
      // An answer that there is nothing repeats the name that was asked for, and no more.
      for (const name of names)
        expect(capture.text.includes(ip(name)), `${who} is told of ${name}`).toBe(told.has(name));
    }
    // The relay itself is told only what somebody may have.
    const relay = (
      await Promise.all(['inputs', 'ir', 'wanted'].map((p) => w.page('relay', `/debug/${p}`)))
    ).join();
    expect(relay).toContain('/shop/open/tcp-80/west');
    expect(relay).toContain('/shop/named/tcp-80/west');
    expect(relay).not.toMatch(/hidden|lonely/);
    for (const name of ['hidden', 'named', 'lonely']) await standing(name, 'west', 'NotOffered NotOffered');

    // The same eyes see it as soon as it is exported.
    w.cluster('west').objects.write('hidden.yaml', ...providerOf('hidden'));
    await until('hidden is told', () => expect(east.text).toContain(ip('hidden')));
    await standing('hidden', 'west', 'Synced Synced');
    w.cluster('west').objects.write('hidden.yaml', ...providerOf('hidden', { export: { to: [] } }));
    await standing('hidden', 'west', 'NotOffered NotOffered');
  } finally {
    east.close();
    north.close();
  }
});

test('V7 a reference to nothing is told by the composite and by the route', async () => {
  const w = world();
  const { objects } = w.cluster('east');
  const [front, route, ...rest] = wholeOf('broken');
  const parts = [front, route, ...rest.filter((o) => (o as { kind: string }).kind === 'CompositeBackend')];
  objects.write('broken.yaml', ...(parts as object[]));
  const told = {
    status: 'False',
    reason: 'BackendNotFound',
    message: expect.stringContaining('shop/broken'),
  };
  const ofRoute = () =>
    w
      .status('east', 'TCPRoute', 'broken-80')
      .parents?.[0]?.conditions?.find((c) => c.type === 'ResolvedRefs');
  await until('the composite and the route say BackendNotFound', () => {
    expect(w.condition('east', 'CompositeBackend', 'broken', 'ResolvedRefs')).toMatchObject(told);
    expect(ofRoute()).toMatchObject(told);
  });
  objects.write('broken-selector.yaml', selector('broken'));
  await until('both are resolved', () => {
    expect(w.condition('east', 'CompositeBackend', 'broken', 'ResolvedRefs')).toMatchObject({
      status: 'True',
    });
    expect(ofRoute()).toMatchObject({ status: 'True' });
  });
});

test('V2 no endpoints and not synced are told apart, by reason and by metrics', async () => {
  const w = world();
  const metric = (name: string, labels: Record<string, string>) => w.metric('east controller', name, labels);
  // north is there and has none; west is there and has some.
  await standing('empty', 'north', 'Synced NoEndpoints');
  await standing('open', 'west', 'Synced Synced');
  expect(await metric('source_synced', { cluster: 'north' })).toBe(1);
  expect(await metric('endpoints', { cluster: 'north', state: 'healthy' })).toBeUndefined();
  expect(await metric('source_synced', { cluster: 'west' })).toBe(1);
  expect(await metric('source_synced', { cluster: 'east' })).toBe(1);
  expect(await metric('endpoints', { cluster: 'west', state: 'healthy' })).toBe(1);
  expect(await w.metric('east agent e1', 'endpoints', { cluster: 'west', state: 'healthy' })).toBe(1);
  const [fresh] = await w.addPods('north', 'empty', ['n1']);
  await standing('empty', 'north', 'Synced Synced');
  await until('its endpoint is counted', async () => {
    expect(await metric('endpoints', { cluster: 'north', state: 'healthy' })).toBe(1);
  });
  fresh?.setReady(false);
  await standing('empty', 'north', 'Synced NoEndpoints');

  await w.supervisor.kill('relay');
  await standing('open', 'west', 'Stale NoContact');
  await until('west is no synced source', async () => {
    expect(await metric('source_synced', { cluster: 'west' })).toBe(0);
  });
  expect(await metric('endpoints', { cluster: 'west', state: 'healthy' })).toBe(1);
  // A controller that knows nothing of west says so, instead of that west has nothing.
  await w.supervisor.kill('east controller');
  rmSync(join(w.cluster('east').stateDir, 'peers.json'));
  await w.supervisor.restart('east controller');
  await standing('open', 'west', 'Syncing NotSynced');
  expect(await metric('source_synced', { cluster: 'east' })).toBe(1);
  expect(await metric('source_synced', { cluster: 'west' })).toBe(0);
  expect(await metric('endpoints', { cluster: 'west', state: 'healthy' })).toBeUndefined();
  // Agents keep what they were told once; dns too.
  for (const process of ['east agent e1', 'east dns']) {
    expect(await w.metric(process, 'source_synced', { cluster: 'east' })).toBe(1);
  }
  await w.supervisor.restart('relay');
  await standing('open', 'west', 'Synced Synced');
  for (const cluster of ['east', 'north', 'west']) {
    await until(`relay and controller know all of ${cluster}`, async () => {
      expect(await w.metric('relay', 'source_synced', { cluster })).toBe(1);
      expect(await metric('source_synced', { cluster })).toBe(1);
    });
  }
  // What an agent has not been told yet, it says too.
  await w.supervisor.kill('east controller');
  await w.supervisor.kill('east agent e1');
  w.supervisor.launch(w.supervisor.spec('east agent e1'));
  await until('the agent has been told nothing', async () => {
    expect(await w.metric('east agent e1', 'source_synced', { cluster: 'east' })).toBe(0);
  });
  await until('the relay has lost east', async () => {
    expect(await w.metric('relay', 'source_synced', { cluster: 'east' })).toBe(0);
  });
  await w.supervisor.restart('east controller');
  await w.supervisor.untilReady('east agent e1');
  expect(await w.metric('east agent e1', 'source_synced', { cluster: 'east' })).toBe(1);
});
