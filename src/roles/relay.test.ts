import { afterEach, beforeEach, expect, test } from 'vitest';
import { RelayTestBed, store, storePort } from './relay-test-bed.ts';

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
