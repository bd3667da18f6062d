import { afterEach, beforeEach, expect, test } from 'vitest';
import { parse } from 'yaml';
import { defaultLimits } from '../model/relay/peer-budget.ts';
import { ManualClock, systemClock } from '../runtime/clock.ts';
import { silentLog } from '../runtime/log.ts';
import { Metrics } from '../runtime/metrics.ts';
import { serverCredentials } from '../runtime/tls.ts';
import { RelayTestBed, store, storePort, TestMember } from './relay/test-bed.ts';

let bed: RelayTestBed;
beforeEach(() => {
  bed = new RelayTestBed();
});
afterEach(() => bed.close());

/** Generous: nothing here asserts a time. */
const soon = { timeout: 15_000, interval: 10 };

test('two members exchange what they export through the relay', async () => {
  bed.writeMembers('east', 'west');
  await bed.startRelay();
  const east = await bed.member('east');
  const west = await bed.member('west', { labels: { env: 'prod' } });
  east.import(storePort);
  east.export(store(['10.0.0.1']));
  west.import(storePort);
  west.export(store(['10.1.0.1', '10.1.0.2'], { selected: 3 }));
  await expect.poll(() => east.imports.get(storePort), soon).toBe(true);
  expect(east.endpoints(storePort)).toEqual({ west: ['10.1.0.1', '10.1.0.2'] });
  await expect.poll(() => west.endpoints(storePort), soon).toEqual({ east: ['10.0.0.1'] });
  expect(east.contributions.get(`${storePort}/west`)).toMatchObject({
    ready: 2,
    selected: 3,
    protocol: 'TCP',
    port: 80,
  });
  expect(east.origins.get('west')).toEqual({
    cluster: 'west',
    region: 'region-west',
    network: 'n1',
    labels: { env: 'prod' },
    state: 'Synced',
    staleSince: 0,
  });
  west.export(store(['10.1.0.2', '10.1.0.3']));
  await expect.poll(() => east.endpoints(storePort), soon).toEqual({ west: ['10.1.0.2', '10.1.0.3'] });
  west.export();
  await expect.poll(() => east.endpoints(storePort), soon).toEqual({});
});

/** East imports the store, west exports it; both are linked and synced. */
async function pair(addresses: readonly string[]) {
  bed.writeMembers('east', 'west');
  await bed.startRelay();
  const east = await bed.member('east');
  const west = await bed.member('west');
  east.import(storePort);
  east.export();
  west.export(store(addresses));
  await expect.poll(() => east.endpoints(storePort), soon).toEqual({ west: addresses });
  await expect.poll(() => east.origins.get('west')?.state, soon).toBe('Synced');
  return { east, west };
}
const lost = (member: TestMember) =>
  member.changes.filter((c) => c.kind !== 'Import' && c.value === undefined).map((c) => c.key);

test('D2 the relay is stopped and started: Stale, then Synced, and nothing is lost', async () => {
  const { east } = await pair(['10.1.0.1', '10.1.0.2']);
  await bed.stopRelay();
  await expect.poll(() => east.origins.get('west')?.state, soon).toBe('Stale');
  expect(east.endpoints(storePort)).toEqual({ west: ['10.1.0.1', '10.1.0.2'] });
  await bed.startRelay();
  await expect.poll(() => east.origins.get('west')?.state, soon).toBe('Synced');
  expect(lost(east)).toEqual([]);
  expect(east.endpoints(storePort)).toEqual({ west: ['10.1.0.1', '10.1.0.2'] });
});

test('a controller that is started again takes over its cluster without a gap', async () => {
  const { east, west } = await pair(['10.1.0.1', '10.1.0.2']);
  const next = await bed.member('west');
  next.export(store(['10.1.0.1', '10.1.0.3']));
  await expect.poll(() => east.endpoints(storePort), soon).toEqual({ west: ['10.1.0.1', '10.1.0.3'] });
  await west.stop();
  await expect.poll(() => east.origins.get('west')?.state, soon).toBe('Synced');
  expect(lost(east)).toEqual([]);
});

test('design kept: a controller that is started while the relay is away has everything from its disk', async () => {
  const { east } = await pair(['10.1.0.1', '10.1.0.2']);
  await bed.stopRelay();
  await east.stop();
  const again = await bed.member('east');
  expect(again.endpoints(storePort)).toEqual({ west: ['10.1.0.1', '10.1.0.2'] });
  expect(again.imports.get(storePort)).toBe(true);
  expect(again.origins.get('west')?.state).toBe('Stale');
  again.import(storePort);
  again.export();
  await bed.startRelay();
  await expect.poll(() => again.origins.get('west')?.state, soon).toBe('Synced');
  expect(lost(again)).toEqual([]);
});

test('P6 a member is taken off the list and put on it again while everything runs', async () => {
  const { east, west } = await pair(['10.1.0.1', '10.1.0.2']);
  bed.writeMembers('east');
  await expect.poll(() => east.endpoints(storePort), soon).toEqual({});
  await expect.poll(() => east.origins.size, soon).toBe(0);
  west.export(store(['10.1.0.9']));
  bed.writeMembers('east', 'west');
  await expect.poll(() => east.endpoints(storePort), soon).toEqual({ west: ['10.1.0.9'] });
});

test('X2 a certificate is revoked: its streams end, both of them, and another of its cluster is welcome', async () => {
  bed.writeMembers('east', 'west', 'north');
  await bed.startRelay();
  const [east, west, north] = [await bed.member('east'), await bed.member('west'), await bed.member('north')];
  for (const member of [east, west, north]) member.import(storePort);
  east.export(store(['10.0.0.1']));
  west.export(store(['10.1.0.1']));
  north.export(store(['10.2.0.1']));
  await expect
    .poll(() => east.endpoints(storePort), soon)
    .toEqual({ west: ['10.1.0.1'], north: ['10.2.0.1'] });
  await expect.poll(() => Object.keys(west.endpoints(storePort)), soon).toEqual(['east', 'north']);
  const serial = bed.serial('west');

  bed.writeLists(['east', 'west', 'north'], [{ serial, reason: 'the key was copied' }]);
  await expect.poll(() => bed.relay?.hub.origin('west')?.isLinked, soon).toBe(false);
  await expect
    .poll(() => west.lastError(), soon)
    .toContain(`certificate ${serial} of west/controller is revoked`);
  await expect.poll(() => west.origins.get('east')?.state, soon).toBe('Stale');
  // What it gave is not taken away by that, and what it tells from now on is not heard.
  west.export(store(['6.6.6.6']));
  north.export(store(['10.2.0.2']));
  await expect
    .poll(() => east.endpoints(storePort), soon)
    .toEqual({ west: ['10.1.0.1'], north: ['10.2.0.2'] });
  expect(east.origins.get('north')?.state).toBe('Synced');
  // A line that goes removes it.
  bed.writeLists(['east', 'north'], [{ serial }]);
  await expect.poll(() => east.endpoints(storePort), soon).toEqual({ north: ['10.2.0.2'] });
  bed.writeLists(['east', 'west', 'north'], [{ serial }]);
  const fresh = await bed.member('west');
  fresh.import(storePort);
  fresh.export(store(['10.1.0.9']));
  await expect
    .poll(() => east.endpoints(storePort), soon)
    .toEqual({ west: ['10.1.0.9'], north: ['10.2.0.2'] });
  expect(JSON.stringify([...east.changes, ...north.changes])).not.toContain('6.6.6.6');
  expect(lost(north).filter((key) => !key.includes('west'))).toEqual([]);
});

test('X5 certificates of an hour are replaced five times, each near its end: links stay, and no call outlives its own', async () => {
  const clock = new ManualClock(Date.now());
  const [minute, hour] = [60_000, 3_600_000];
  // TLS itself goes by the machine's clock: for that they are in force from the beginning.
  const ofAnHour = () => ({ ttl: clock.wall() + hour - Date.now() });
  const replaceAll = async () => {
    for (const member of ['east', 'west']) await bed.issue(member, ofAnHour());
    await bed.issue('hub', { role: 'relay', ...ofAnHour() });
  };
  bed.writeMembers('east', 'west');
  await bed.startRelay({ clock });
  const east = await bed.member('east', ofAnHour(), clock);
  const west = await bed.member('west', ofAnHour(), clock);
  for (const member of [east, west]) member.import(storePort);
  east.export(store(['10.0.0.1']));
  west.export(store(['10.1.0.0']));
  const open = (): { peer: string; serial: string; until: string; calls: number }[] =>
    parse(bed.relay?.debug.inputs?.() as string).certificates;
  const wanted = () =>
    ['east', 'west'].map((name) => ({ peer: `${name}/controller`, serial: bed.serial(name), calls: 2 }));
  const state = () => [east.origins.get('west')?.state, west.origins.get('east')?.state];
  /** Both hear each other, by the certificates that are there. */
  const inContact = async () => {
    await expect.poll(state, soon).toEqual(['Synced', 'Synced']);
    await expect.poll(open, soon).toMatchObject(wanted());
  };
  const nobodyOutlives = async () => {
    const outlived = () => open().filter(({ until }) => Date.parse(until) < clock.wall());
    await expect.poll(outlived, soon).toEqual([]);
  };
  await expect.poll(() => east.endpoints(storePort), soon).toEqual({ west: ['10.1.0.0'] });
  await inContact();
  for (let period = 1; period <= 5; period++) {
    // What was replaced 55 minutes after it was issued ends in the first of these steps.
    for (let passed = 0; passed < 55; passed += 11) {
      clock.sleep(11 * minute);
      await nobodyOutlives();
      await inContact();
    }
    const before = east.changes.length;
    await replaceAll();
    clock.advance(2_000);
    west.export(store([`10.1.0.${period}`]));
    await expect.poll(() => east.endpoints(storePort), soon).toEqual({ west: [`10.1.0.${period}`] });
    await inContact();
    expect(east.changes.slice(before).filter(({ kind }) => kind === 'Origin')).toEqual([]);
  }
  expect([east.lastError(), west.lastError()]).toEqual(['', '']);
  // Only the relay gets a sixth: the calls of the others end, and nothing that they told.
  clock.sleep(6 * minute);
  await inContact();
  await bed.issue('hub', { role: 'relay', ...ofAnHour() });
  clock.advance(2_000);
  for (let passed = 6; passed < 55; passed += 7) {
    clock.sleep(7 * minute);
    await inContact();
  }
  clock.sleep(9 * minute);
  await nobodyOutlives();
  const linked = () => ['east', 'west'].map((name) => bed.relay?.hub.origin(name)?.isLinked);
  await expect.poll(linked, soon).toEqual([false, false]);
  for (const member of [east, west]) await expect.poll(() => member.lastError(), soon).toContain('ended at');
  expect(east.endpoints(storePort)).toEqual({ west: ['10.1.0.5'] });
  expect([lost(east), lost(west)]).toEqual([[], []]);
}, 60_000);

test('who is no member, has another role or another CA gets nothing and gives nothing', async () => {
  const { east } = await pair(['10.1.0.1']);
  const stranger = await bed.member('north');
  const agent = await bed.member('east', { role: 'agent', node: 'e1' });
  const otherCa = new RelayTestBed();
  const foreign = await otherCa.issue('west', {});
  const forged = new TestMember({
    cluster: 'west',
    target: `127.0.0.1:${bed.relay?.port}`,
    tls: { ...foreign, ca: (await bed.issue('west', {})).ca },
    state: `${otherCa.dir}/state`,
    loaded: { contactUntil: 0 },
    clock: systemClock,
  });
  for (const member of [stranger, agent, forged]) {
    member.import(storePort);
    member.export(store(['6.6.6.6']));
  }
  const state = (member: TestMember) => member.lastError();
  await expect.poll(() => state(stranger), soon).toContain('E_PEER_IDENTITY');
  await expect.poll(() => state(agent), soon).toContain('expected a peer with role controller');
  await expect.poll(() => state(forged), soon).toContain('expected a client certificate of our CA');
  for (const member of [stranger, agent, forged]) expect(member.contributions.size).toBe(0);
  expect(JSON.stringify(east.changes)).not.toContain('6.6.6.6');
  expect(bed.relay?.hub.origin('west')?.isLinked).toBe(true);
  await forged.stop();
  await otherCa.close();
});

test('a relay whose certificate is no relay’s is refused by its members', async () => {
  bed.writeMembers('east', 'west');
  const tls = await bed.issue('fake', { role: 'relay', cluster: 'hub' });
  await bed.startRelay({ tls });
  const east = await bed.member('east');
  // The same address is served by somebody else of the set.
  const port = bed.relay?.port;
  await bed.stopRelay();
  const { startXdsServer } = await import('../outputs/xds/server.ts');
  const { ResourceLog } = await import('../outputs/xds/resource-log.ts');
  const server = await startXdsServer({
    listen: `127.0.0.1:${port}`,
    credentials: serverCredentials(await bed.issue('west', {})),
    identify: () => undefined,
    log: new ResourceLog(),
    views: () => undefined,
    logger: silentLog,
    metrics: new Metrics(),
  });
  east.import(storePort);
  await expect.poll(() => east.lastError(), soon).toContain('expected a peer with role relay');
  await server.close();
});

test('the relay starts with its own certificate or says what is wrong', async () => {
  bed.writeMembers('east');
  const tls = await bed.issue('east', {});
  await expect(bed.startRelay({ tls })).rejects.toThrow(/expected cluster hub/);
});

test('a member that sends faster than its rate is read later, and nothing is lost', async () => {
  bed.writeMembers('east', 'west');
  await bed.startRelay({ limits: { ...defaultLimits, rate: 500, burst: 1 } });
  const east = await bed.member('east');
  const west = await bed.member('west');
  const ports = Array.from({ length: 100 }, (_, i) => `shop/s${i}/tcp-80`);
  const exports = (last: number) =>
    ports.map((_, i) => store([`10.1.0.${i === 99 ? last : i + 1}`], { composite: `s${i}` }));
  east.import(...ports);
  east.export();
  west.export(...exports(100));
  west.export(...exports(200));
  await expect.poll(() => east.endpoints('shop/s99/tcp-80'), soon).toEqual({ west: ['10.1.0.200'] });
  expect(east.contributions.size).toBe(100);
  expect(bed.relay?.hub.origin('west')?.isLinked).toBe(true);
});

test('no host means every address; an address that is taken is named with its flag', async () => {
  bed.writeMembers('east');
  const everywhere = await bed.startRelay({ listen: ':0' });
  const taken = `127.0.0.1:${everywhere.port}`;
  await expect(bed.startRelay({ listen: taken })).rejects.toMatchObject({
    code: 'E_LISTEN',
    message: expect.stringContaining(`cannot listen on ${taken} (--listen): `),
  });
});
