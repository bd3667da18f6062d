import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Peer } from './authority.ts';
import { type ExportTarget, everyCluster, isOfferedTo, parseExportPolicy } from './export-policy.ts';

const consumer = (over: Partial<Peer> = {}): Peer => ({
  set: 'demo',
  cluster: 'east',
  role: 'controller',
  region: 'eu',
  network: 'n1',
  labels: { env: 'prod' },
  namespaces: ['*'],
  ...over,
});
const offered = (to: readonly ExportTarget[], over: Partial<Peer> = {}) =>
  isOfferedTo(consumer(over), { cluster: 'west', namespace: 'shop', to });

test('by default every other cluster that speaks for the namespace is offered it', () => {
  expect(offered(everyCluster)).toBe(true);
  expect(offered(everyCluster, { namespaces: ['shop'] })).toBe(true);
  expect(offered(everyCluster, { namespaces: ['bank'] })).toBe(false);
  expect(offered(everyCluster, { cluster: 'west' })).toBe(false);
});

test('X6 what is exported to nobody, or to others, is not offered', () => {
  expect(offered([])).toBe(false);
  expect(offered([{ clusters: { names: ['north'] } }])).toBe(false);
  expect(offered([{ clusters: { names: [] } }])).toBe(false);
  expect(offered([{ clusters: { names: ['north'] } }, { clusters: { names: ['east'] } }])).toBe(true);
});

test('an operator that is not known does not widen an offer', () => {
  const known = [{ clusters: { matchExpressions: [{ key: 'env', operator: 'Exists' }] } }];
  const newer = [{ clusters: { matchExpressions: [{ key: 'env', operator: 'Gt', values: ['1'] }] } }];
  expect([known, newer].map((to) => offered(to))).toEqual([true, false]);
});

test('U1 a field that is not known never widens an offer: its entry leads to nobody, the others as they say', () => {
  const known = { clusters: { names: ['north'] } };
  for (const later of [
    { later: 1 },
    { clusters: { later: 1 } },
    { clusters: { names: ['east'], later: 1 } },
    { clusters: { matchExpressions: [{ key: 'env', operator: 'Exists', later: 1 }] } },
  ]) {
    expect(parseExportPolicy([known, later])).toEqual([known]);
  }
});

test('an entry that leads somewhere else gives nothing here', () => {
  const elsewhere = parseExportPolicy([{ namespace: 'team-b', name: 'shop' }, { name: 'other' }]);
  expect(elsewhere).toEqual([]);
  expect(offered(elsewhere ?? everyCluster)).toBe(false);
});

test('a policy from a peer is one, or none at all', () => {
  const good: ExportTarget[] = [
    {
      clusters: {
        names: ['a'],
        matchLabels: { x: 'y' },
        matchExpressions: [{ key: 'k', operator: 'In', values: ['v'] }],
      },
    },
    {},
  ];
  expect(parseExportPolicy(JSON.parse(JSON.stringify(good)))).toEqual(good);
  for (const bad of [
    undefined,
    {},
    'x',
    [1],
    [{ clusters: [] }],
    [{ clusters: { names: 'a' } }],
    [{ name: 1 }],
  ]) {
    expect(parseExportPolicy(bad)).toBeUndefined();
  }
  expect(parseExportPolicy(Array.from({ length: 17 }, () => ({})))).toBeUndefined();
  fc.assert(fc.property(fc.anything(), (value) => void parseExportPolicy(value)));
});
