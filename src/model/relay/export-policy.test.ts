import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Peer } from './authority.ts';
import { type ExportTarget, everyCluster, isOfferedTo, parseExportPolicy } from './export-policy.ts';

const consumer = (over: Partial<Peer> = {}): Peer => ({
  set: 'demo',
  cluster: 'east',
  role: 'controller',
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

test('clusters are chosen by names and labels of their identity', () => {
  const by = (clusters: ExportTarget['clusters'], labels = { env: 'prod' }) =>
    offered([{ ...(clusters ? { clusters } : {}) }], { labels });
  expect(by({ matchLabels: { env: 'prod' } })).toBe(true);
  expect(by({ matchLabels: { env: 'test' } })).toBe(false);
  expect(by({ names: ['east'], matchLabels: { env: 'test' } })).toBe(false);
  const expression = (operator: string, values?: string[]) =>
    by({ matchExpressions: [{ key: 'env', operator, ...(values ? { values } : {}) }] });
  expect(expression('In', ['prod', 'x'])).toBe(true);
  expect(expression('NotIn', ['prod'])).toBe(false);
  expect(expression('Exists')).toBe(true);
  expect(expression('DoesNotExist')).toBe(false);
  expect(expression('Gt', ['1'])).toBe(false);
  expect(by({ matchExpressions: [{ key: 'constructor', operator: 'Exists' }] })).toBe(false);
});

test('an entry that leads to another namespace needs a consumer that speaks for that one', () => {
  const to = [{ namespace: 'team-b', name: 'shop' }];
  expect(offered(to, { namespaces: ['team-b'] })).toBe(true);
  expect(offered(to, { namespaces: ['shop'] })).toBe(false);
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
    { namespace: 'team-b', name: 'shop' },
    {},
  ];
  expect(parseExportPolicy(JSON.parse(JSON.stringify(good)))).toEqual(good);
  expect(parseExportPolicy([{ later: 1 }])).toEqual([{}]);
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
