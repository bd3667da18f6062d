import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../runtime/clock.ts';
import { heapUsed } from '../../runtime/fuzz-bed.ts';
import { addresses } from './memory-bed.ts';
import { RelayTestBed, store, storePort, type TestMember } from './test-bed.ts';

let bed: RelayTestBed;
beforeEach(() => {
  bed = new RelayTestBed();
});
afterEach(() => bed.close());

/** Generous: nothing here asserts a time. */
const soon = { timeout: 30_000, interval: 10 };

const eastOnly = [{ relay: 'us', clusters: ['east'] }];
const both = [{ relay: 'eu', clusters: ['west'] }, ...eastOnly];

/** west at eu, east at us, both under root, with TLS over loopback. */
async function tree(): Promise<{ readonly west: TestMember; readonly east: TestMember }> {
  bed.writeMembersOf('root', both);
  bed.writeMembersOf('eu', [{ cluster: 'west' }]);
  bed.writeMembersOf('us', [{ cluster: 'east' }]);
  await bed.startRelayOf('root');
  await bed.startRelayOf('eu', ['root']);
  await bed.startRelayOf('us', ['root']);
  const west = await bed.member('west', {}, systemClock, 'eu');
  const east = await bed.member('east', {}, systemClock, 'us');
  east.import(storePort);
  east.export();
  west.export(store(['10.1.0.1', '10.1.0.2']));
  await expect.poll(() => east.endpoints(storePort), soon).toEqual({ west: ['10.1.0.1', '10.1.0.2'] });
  await expect.poll(() => east.origins.get('west')?.state, soon).toBe('Synced');
  return { west, east };
}

test('a tree of relays over TLS: what a cluster exports goes three hops, and no restart of one takes anything', async () => {
  const { west, east } = await tree();
  west.export(store(['10.1.0.2', '10.1.0.3']));
  await expect.poll(() => east.endpoints(storePort), soon).toEqual({ west: ['10.1.0.2', '10.1.0.3'] });
  for (const [name, parents] of [
    ['root', []],
    ['eu', ['root']],
    ['us', ['root']],
  ] as const) {
    await bed.stopRelayOf(name);
    if (name === 'us') await expect.poll(() => east.origins.get('west')?.state, soon).toBe('Stale');
    west.export(store(['10.1.0.2', `10.1.7.${name.length}`]));
    await bed.startRelayOf(name, parents);
    await expect
      .poll(() => east.endpoints(storePort), soon)
      .toEqual({ west: ['10.1.0.2', `10.1.7.${name.length}`] });
    await expect.poll(() => east.origins.get('west')?.state, soon).toBe('Synced');
  }
  expect(east.losses()).toEqual([]);
});

test('D6 the relay of a cluster restarts again and again while its pods change: others have exactly what is there, and memory does not grow', async () => {
  const { west, east } = await tree();
  const [cycles, early] = [40, 10];
  const heap: number[] = [];
  for (let cycle = 1; cycle <= cycles; cycle += 1) {
    await bed.stopRelayOf('eu');
    // All hundred pods go, others come in their place.
    const truth = addresses(100, cycle).sort();
    west.export(store(truth));
    await bed.startRelayOf('eu', ['root']);
    await expect.poll(() => east.endpoints(storePort), soon).toEqual({ west: truth });
    // Over the link that is there now, not the one before.
    const more = [...truth, '10.99.0.1'];
    west.export(store(more));
    await expect.poll(() => east.endpoints(storePort), soon).toEqual({ west: more });
    expect(east.losses()).toEqual([]);
    east.changes.length = 0;
    if (cycle === early || cycle === cycles) heap.push(await heapUsed());
  }
  const [before = 0, after = 0] = heap;
  expect(after / before).toBeLessThan(1.1);
}, 120_000);

test('P6 a relay that is taken off its parent’s list takes its clusters with it, and brings them back with its line', async () => {
  const { west, east } = await tree();
  bed.writeMembersOf('root', eastOnly);
  await expect.poll(() => east.endpoints(storePort), soon).toEqual({});
  await expect.poll(() => east.origins.size, soon).toBe(0);
  west.export(store(['10.1.0.9']));
  bed.writeMembersOf('root', both);
  await expect.poll(() => east.endpoints(storePort), soon).toEqual({ west: ['10.1.0.9'] });
});
