import { renameSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { consumerOf, providerOf } from './case-objects.ts';
import { caseWorld, Traffic, until } from './case-world.ts';

/** Certificates that are revoked and replaced while everything runs. */

const revokedFile = '/run/causeway/case/revoked.yaml';
function revoke(...revoked: readonly object[]): void {
  writeFileSync(`${revokedFile}.new`, JSON.stringify({ revoked }));
  renameSync(`${revokedFile}.new`, revokedFile);
}

const world = caseWorld({
  flags: { controller: ['--revoked', revokedFile] },
  clusters: {
    east: { nodes: ['e1'], dataPlane: true },
    west: { nodes: ['w1'] },
    north: { nodes: ['n1'] },
  },
  prepare: async (w) => {
    revoke();
    w.cluster('east').objects.write('web.yaml', ...consumerOf('web'));
    for (const cluster of ['west', 'north'])
      w.cluster(cluster).objects.write('web.yaml', ...providerOf('web'));
    await Promise.all([
      w.addClient('east', 'e1'),
      w.addPods('west', 'web', ['w1', 'w1']),
      w.addPods('north', 'web', ['n1']),
    ]);
  },
});

const pods = (...clusters: string[]) =>
  clusters.flatMap((name) =>
    [...world().cluster(name).pods.values()].filter((pod) => pod.name.startsWith('web-')),
  );
const standing = (of: string, wanted: RegExp): Promise<void> =>
  until(`${of} is ${wanted.source}`, () => expect(world().standing('east', 'web', of)).toMatch(wanted));

interface Page {
  readonly members?: readonly { readonly cluster: string; readonly linked: boolean }[];
  readonly certificates: readonly { readonly peer: string; readonly serial: string }[];
}
const page = async (process: string, path: string): Promise<Page> =>
  parse(await world().page(process, path)) as Page;
const isLinked = async (cluster: string): Promise<boolean | undefined> =>
  (await page('relay', '/debug/inputs')).members?.find((m) => m.cluster === cluster)?.linked;
const said = (process: string): string => world().supervisor.tail(process, 400).join('\n');

test('X2 a cluster is shut out by its certificate: others notice nothing, and a new one brings it back', async () => {
  const w = world();
  const vip = await w.programmed('east', 'web');
  for (const of of ['west', 'north']) await standing(of, /^Synced/);
  const traffic = await Traffic.start(w.pod('east', 'client-e1').host, { host: vip, port: 80 });
  await traffic.comesOnlyFrom(pods('west', 'north'));
  const { serial } = w.plane.certificateOf('west controller');

  w.plane.setMembers(['east', 'west', 'north'], [{ serial, reason: 'the key was copied' }]);
  await until('its publish link has ended', async () => expect(await isLinked('west')).toBe(false));
  await until('it reads why', () =>
    expect(said('west controller')).toContain(`certificate ${serial} of west/controller is revoked`),
  );
  await standing('west', /^Stale/);
  expect(w.standing('east', 'web', 'north')).toMatch(/^Synced/);
  expect(await isLinked('north')).toBe(true);
  // What it gave is not taken away by that.
  await traffic.comesOnlyFrom(pods('west', 'north'));

  w.plane.setMembers(['east', 'north'], [{ serial }]);
  await traffic.comesOnlyFrom(pods('north'));
  await w.leadsTo(
    'east',
    vip,
    pods('north').map((pod) => `${pod.ip}:8080`),
  );

  w.plane.setMembers(['east', 'west', 'north'], [{ serial }]);
  await w.plane.renew('west controller');
  await standing('west', /^Synced/);
  await traffic.comesOnlyFrom(pods('west', 'north'));
  expect(await w.metric('relay', 'certificates_refused_total', { reason: 'revoked' })).toBeGreaterThan(2);
  await traffic.endsWithoutFailure();
  expect(said('north controller')).not.toContain('relay is lost');
});

test('X2 the key of a node is shut out by its controller: what it holds stays, and a new one brings it back', async () => {
  const w = world();
  const vip = await w.programmed('east', 'web');
  await standing('west', /^Synced/);
  const traffic = await Traffic.start(w.pod('east', 'client-e1').host, { host: vip, port: 80 });
  const agent = async (): Promise<string | undefined> =>
    (await page('east controller', '/debug/streams')).certificates.find((c) => c.peer === 'east/agent/e1')
      ?.serial;
  const { serial } = w.plane.certificateOf('east agent e1');
  await until('the agent is connected', async () => expect(await agent()).toBe(serial));
  revoke({ serial, reason: 'the node was sold' });
  await until('its stream has ended', async () => expect(await agent()).toBeUndefined());
  await until('it reads why', () =>
    expect(said('east agent e1')).toContain(`certificate ${serial} of east/agent/e1 is revoked`),
  );
  await traffic.comesOnlyFrom(pods('west', 'north'));
  await w.plane.renew('east agent e1');
  const next = w.plane.certificateOf('east agent e1').serial;
  await until('the agent is back', async () => expect(await agent()).toBe(next));
  await traffic.endsWithoutFailure();
  revoke();
});

test('X5 every certificate is replaced five times under traffic; none of the first ones is left, nothing failed', {
  timeout: 300_000,
}, async () => {
  const w = world();
  const vip = await w.programmed('east', 'web');
  for (const of of ['west', 'north']) await standing(of, /^Synced/);
  const controllers = ['east controller', 'north controller', 'west controller'];
  const processes = [...controllers, 'east agent e1', 'east dns', 'relay'];
  const serials = (...of: string[]) => new Set(of.map((name) => w.plane.certificateOf(name).serial));
  const traffic = await Traffic.start(w.pod('east', 'client-e1').host, { host: vip, port: 80 });
  const lostBefore = said('east controller').split('relay is lost').length;
  // In half of it the slowest machine has replaced six of them.
  const short = 24_000;
  const ends = () => processes.map((name) => w.plane.certificateOf(name).until);
  let lastEnd = 0;
  for (let period = 0; period <= 5; period++) {
    if (period > 0)
      await until('each is in its last half', () =>
        expect(Math.max(...ends()) - Date.now()).toBeLessThan(short / 2),
      );
    if (period === 5) lastEnd = Math.max(...ends());
    // The last ones stay.
    for (const name of processes) await w.plane.renew(name, period < 5 ? { ttl: short } : {});
    await until('each stream goes by the new certificate', async () => {
      const [relay, controller] = [
        await page('relay', '/debug/inputs'),
        await page('east controller', '/debug/streams'),
      ];
      expect(new Set(relay.certificates.map((c) => c.serial))).toEqual(serials(...controllers));
      expect(new Set(controller.certificates.map((c) => c.serial))).toEqual(
        serials('east agent e1', 'east dns'),
      );
    });
    await traffic.comesOnlyFrom(pods('west', 'north'));
  }
  await until('the short ones have ended', () => expect(Date.now()).toBeGreaterThan(lastEnd));
  // Everything still follows.
  const more = { namespace: 'shop', node: 'n1', labels: { app: 'web' } };
  await w.cluster('north').addPod({ ...more, name: 'web-late' });
  await traffic.comesOnlyFrom(pods('west', 'north'));
  await traffic.endsWithoutFailure();
  for (const of of ['west', 'north']) await standing(of, /^Synced/);
  expect(said('east controller').split('relay is lost').length).toBe(lostBefore);
  expect(await w.metric('relay', 'certificates_refused_total', { reason: 'ended' })).toBeUndefined();
});
