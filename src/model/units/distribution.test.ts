import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { RemoteEndpoint } from '../inputs.ts';
import type { Group } from '../ir.ts';
import { type Distribution, distribute, type Share } from './distribution.ts';

let serial = 0;

function endpoints(count: number, zone = '', health: 'Healthy' | 'Draining' = 'Healthy'): RemoteEndpoint[] {
  return Array.from({ length: count }, () => {
    serial++;
    return {
      addresses: [`10.${(serial >> 16) & 255}.${(serial >> 8) & 255}.${serial & 255}`],
      port: 80,
      zone,
      health,
    };
  });
}

function share(cluster: string, ready: number, options: Partial<Share> = {}): Share {
  const own = cluster === 'east';
  return {
    cluster,
    network: 'n',
    region: 'eu',
    labels: {},
    own,
    selected: ready,
    endpoints: endpoints(ready),
    ...options,
  };
}

const policy = (name: Distribution['policy'], options: Partial<Distribution> = {}): Distribution => ({
  policy: name,
  order: [],
  localThresholdPercent: 50,
  ...options,
});

/** The share of traffic by cluster, as both data planes read the groups. */
function traffic(groups: readonly Group[]): Record<string, number> {
  const usable = groups.filter((g) => g.endpoints.some((e) => e.health === 'Healthy'));
  const taking = usable.length > 0 ? usable : groups;
  const first = Math.min(...taking.map((g) => g.priority));
  const level = taking.filter((g) => g.priority === first);
  const total = level.reduce((sum, g) => sum + g.weight, 0);
  const out: Record<string, number> = {};
  for (const g of level) out[g.cluster] = (out[g.cluster] ?? 0) + g.weight / total;
  return out;
}

test('Even: as much traffic as ready endpoints, whatever the clusters and zones', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(9), fc.nat(9)), { minLength: 1, maxLength: 5 }), (clusters) => {
      const shares = clusters.map(([a, b], i) =>
        share(i === 0 ? 'east' : `c${i}`, 0, { endpoints: [...endpoints(a, 'a'), ...endpoints(b, 'b')] }),
      );
      const total = clusters.reduce((sum, [a, b]) => sum + a + b, 0);
      const got = traffic(distribute(shares, policy('Even'), 'eu'));
      for (const [i, [a, b]] of clusters.entries()) {
        if (total > 0) expect(got[i === 0 ? 'east' : `c${i}`] ?? 0).toBeCloseTo((a + b) / total);
      }
    }),
  );
});

test('PreferLocal: the own share is what is ready of what is selected, exactly, below the threshold', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 40 }),
      fc.nat(40),
      fc.nat(20),
      fc.nat(20),
      fc.nat(100),
      (selected, up, near, far, threshold) => {
        const ready = Math.min(up, selected);
        const shares = [
          share('east', ready, { selected }),
          share('near', near),
          share('far', far, { region: 'us' }),
        ];
        const groups = distribute(shares, policy('PreferLocal', { localThresholdPercent: threshold }), 'eu');
        const got = traffic(groups);
        const others = near > 0 ? 'near' : far > 0 ? 'far' : undefined;
        if (ready + near + far === 0) expect(groups).toEqual([]);
        else if (ready * 100 >= threshold * selected && ready > 0) expect(got).toEqual({ east: 1 });
        else if (!others) expect(got).toEqual({ east: 1 });
        else {
          expect(got.east ?? 0).toBeCloseTo(ready / selected);
          expect(got[others]).toBeCloseTo(1 - ready / selected);
        }
      },
    ),
  );
});

test('weights are whole and bounded, priorities contiguous from 0, whatever the sizes', () => {
  const groups = distribute(
    [
      share('east', 1, { selected: 14_999 }),
      ...Array.from({ length: 50 }, (_, i) => share(`c${i}`, 300 + i)),
    ],
    policy('PreferLocal', { localThresholdPercent: 100 }),
    'eu',
  );
  for (const { weight } of groups) {
    expect(Number.isInteger(weight)).toBe(true);
    expect(weight).toBeGreaterThan(0);
    expect(weight).toBeLessThanOrEqual(1_000_000);
  }
  expect(new Set(groups.map((g) => g.priority))).toEqual(new Set([0]));
});

test('L1 PreferLocal: the first ready pods of thirty do not take everything', () => {
  const shareOf = (ready: number) =>
    traffic(
      distribute([share('east', ready, { selected: 30 }), share('west', 30)], policy('PreferLocal'), 'eu'),
    ).east ?? 0;
  for (let k = 0; k < 15; k++) expect(shareOf(k)).toBeCloseTo(k / 30);
  for (let k = 15; k <= 30; k++) expect(shareOf(k)).toBe(1);
});

test('Ordered: the first tier that has a ready endpoint takes everything', () => {
  const order = [{ matchLabels: { region: 'us' } }, { names: ['east'] }];
  const by = (us: number, east: number, asia: number) =>
    traffic(
      distribute(
        [share('east', east), share('us', us, { region: 'us' }), share('asia', asia, { region: 'asia' })],
        policy('Ordered', { order }),
        'eu',
      ),
    );
  expect(by(1, 5, 5)).toEqual({ us: 1 });
  expect(by(0, 5, 5)).toEqual({ east: 1 });
  expect(by(0, 0, 5)).toEqual({ asia: 1 });
});

test('what drains is used only where nothing is ready anywhere', () => {
  const draining = share('east', 0, { endpoints: endpoints(2, '', 'Draining'), selected: 0 });
  for (const name of ['Even', 'PreferLocal', 'Ordered'] as const) {
    expect(traffic(distribute([draining, share('west', 1)], policy(name), 'eu'))).toEqual({ west: 1 });
    expect(traffic(distribute([draining, share('west', 0)], policy(name), 'eu'))).toEqual({ east: 1 });
  }
});

const sharesOf = (d: Distribution, shares: readonly Share[], region = 'eu') =>
  traffic(distribute(shares, d, region));
const threshold = (localThresholdPercent: number) => policy('PreferLocal', { localThresholdPercent });

test('PreferLocal with a threshold of 0: all stays while one is ready; of 100: all stays while all are', () => {
  const shares = (ready: number) => [share('east', ready, { selected: 4 }), share('west', 2)];
  for (const ready of [1, 2, 3, 4]) expect(sharesOf(threshold(0), shares(ready))).toEqual({ east: 1 });
  expect(sharesOf(threshold(0), shares(0))).toEqual({ west: 1 });
  expect(sharesOf(threshold(100), shares(4))).toEqual({ east: 1 });
  expect(sharesOf(threshold(100), shares(3))).toEqual({ east: 0.75, west: 0.25 });
  expect(sharesOf(threshold(100), shares(0))).toEqual({ west: 1 });
});

test('PreferLocal without anything selected here: the nearest tier that has something', () => {
  const far = share('far', 3, { region: 'us' });
  for (const percent of [0, 50, 100]) {
    expect(sharesOf(threshold(percent), [share('east', 0), share('near', 1), far])).toEqual({ near: 1 });
    expect(sharesOf(threshold(percent), [share('east', 0), share('near', 0), far])).toEqual({ far: 1 });
    expect(sharesOf(threshold(percent), [share('near', 1), far])).toEqual({ near: 1 });
  }
});

test('PreferLocal with only terminating pods here: others while they have something, then these', () => {
  const going = share('east', 0, { endpoints: endpoints(2, 'a', 'Draining') });
  for (const percent of [0, 50, 100]) {
    expect(sharesOf(threshold(percent), [going, share('near', 2)])).toEqual({ near: 1 });
    expect(sharesOf(threshold(percent), [going, share('near', 0)])).toEqual({ east: 1 });
    // Others that are selected and not ready take nothing, and do not turn the draining ones into ready ones.
    expect(sharesOf(threshold(percent), [{ ...going, selected: 3 }, share('near', 2)]).near).toBe(1);
  }
});

test('PreferLocal without a region: every other cluster is as far as the next', () => {
  const shares = (region: string) => [
    share('east', 0, { region, selected: 2 }),
    share('near', 1, { region }),
    share('far', 3, { region: 'us' }),
  ];
  expect(sharesOf(threshold(50), shares(''), '')).toEqual({ near: 0.25, far: 0.75 });
  expect(sharesOf(threshold(50), shares('eu'), 'eu')).toEqual({ near: 1 });
});

test('PreferLocal: clusters of one tier share what is missing by what is ready, and nothing goes further', () => {
  const near = [share('near', 1), share('near-2', 3)];
  const far = share('far', 100, { region: 'us' });
  expect(sharesOf(threshold(50), [share('east', 1, { selected: 5 }), ...near, far])).toEqual({
    east: expect.closeTo(0.2),
    near: expect.closeTo(0.2),
    'near-2': expect.closeTo(0.6),
  });
});

test('Ordered: entries may overlap and leave clusters out; the own cluster has no privilege', () => {
  const order = [{ matchLabels: { region: 'us' } }, { names: ['us-2', 'none'] }];
  const shares = (us: number, us2: number) => [
    share('east', 1),
    share('us-1', us, { region: 'us' }),
    share('us-2', us2, { region: 'us' }),
    share('asia', 3, { region: 'asia' }),
  ];
  const by = (us: number, us2: number) => sharesOf(policy('Ordered', { order }), shares(us, us2));
  expect(by(1, 3)).toEqual({ 'us-1': 0.25, 'us-2': 0.75 });
  expect(by(0, 3)).toEqual({ 'us-2': 1 });
  // Clusters of no entry are together in the last tier.
  expect(by(0, 0)).toEqual({ east: 0.25, asia: 0.75 });
});

test('the examples of docs/api.md', () => {
  const text = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'api.md'), 'utf8');
  const table = /<!-- distribution -->\n((\|.*\n)+)/.exec(text)?.[1] ?? '';
  const rows = table.split('\n').slice(2, -1);
  expect(rows.length).toBeGreaterThan(8);
  for (const row of rows) {
    const [, name = '', east = '', near = '', far = '', wanted = ''] = row
      .split('|')
      .map((cell) => cell.trim());
    const [policyName = '', percent = '50'] = name.split(', localThresholdPercent ');
    const order = policyName === 'Ordered' ? [{ names: ['far'] }, { names: ['east'] }] : [];
    const localThresholdPercent = Number(percent);
    const [ready = 0, selected = 0] = east.match(/\d+/g)?.map(Number) ?? [];
    const shares = [
      share('east', ready, { selected }),
      share('near', Number.parseInt(near, 10)),
      share('far', Number.parseInt(far, 10), { region: 'us' }),
    ];
    const got = sharesOf(
      policy(policyName as Distribution['policy'], { order, localThresholdPercent }),
      shares,
    );
    const told = wanted.split(', ').map((part) => part.split(' '));
    expect(Object.keys(got).sort(), row).toEqual(told.map(([cluster = '']) => cluster).sort());
    for (const [cluster = '', value] of told) expect(got[cluster], row).toBeCloseTo(Number(value) / 100);
  }
});

test('an address and port that two clusters claim is ours, or the first by name', () => {
  const [same] = endpoints(1);
  const claimed = (cluster: string) => share(cluster, 0, { endpoints: same ? [same] : [] });
  const holder = (...shares: Share[]) => distribute(shares, policy('Even'), 'eu').map((g) => g.cluster);
  expect(holder(claimed('a'), claimed('east'))).toEqual(['east']);
  expect(holder(claimed('b'), claimed('a'))).toEqual(['a']);
});
