import { expect, test } from 'vitest';
import type { ClusterSelector } from '../api/composite-backend.ts';
import { type ClusterFacts, selectsCluster } from './cluster-selection.ts';
import { Model } from './model.ts';
import { readInputs } from './read-inputs.ts';
import { isOfferedTo } from './relay/export-policy.ts';
import { distribute } from './units/distribution.ts';

/** `a` says nothing; `b` is what its region and network say; the labels of `c` contradict them. */
const clusters: readonly ClusterFacts[] = [
  { cluster: 'a', region: '', network: '', labels: {} },
  { cluster: 'b', region: 'eu', network: 'n1', labels: { env: 'prod' } },
  { cluster: 'c', region: 'eu', network: 'n1', labels: { env: 'test', region: 'us', network: '' } },
];

type Operator = NonNullable<ClusterSelector['matchExpressions']>[number]['operator'];
const expression = (key: string, operator: Operator, ...values: string[]): ClusterSelector => ({
  matchExpressions: [{ key, operator, ...(values.length > 0 ? { values } : {}) }],
});

const table: readonly (readonly [selector: ClusterSelector, selected: string])[] = [
  [{}, 'abc'],
  [{ names: ['a', 'c'] }, 'ac'],
  [{ names: [] }, ''],
  [{ matchLabels: { env: 'prod' } }, 'b'],
  [{ names: ['c'], matchLabels: { env: 'prod' } }, ''],
  [{ matchLabels: { region: 'eu' } }, 'b'],
  [{ matchLabels: { region: 'us' } }, 'c'],
  [{ matchLabels: { region: '' } }, ''],
  [{ matchLabels: { network: 'n1' } }, 'b'],
  [{ matchLabels: { network: '' } }, 'c'],
  [{ matchLabels: { region: 'eu', env: 'prod' } }, 'b'],
  [expression('region', 'In', 'eu', 'us'), 'bc'],
  [expression('region', 'NotIn', 'eu'), 'ac'],
  [expression('region', 'Exists'), 'bc'],
  [expression('network', 'DoesNotExist'), 'a'],
  [expression('env', 'NotIn', 'prod'), 'ac'],
  [expression('constructor', 'Exists'), ''],
];

/** What `import` lets in; what can be reached is another matter. */
function imported(selector: ClusterSelector): string {
  const offer = { namespace: 'shop', composite: 'store', protocol: 'TCP', port: 80, ready: 0, selected: 0 };
  const { config, changes } = readInputs([
    { kind: 'Config', cluster: 'own', relay: true },
    {
      apiVersion: 'causeway.dev/v1alpha1',
      kind: 'CompositeBackend',
      metadata: { name: 'store', namespace: 'shop' },
      spec: { import: { from: [{ clusters: selector }] } },
    },
    ...clusters.flatMap((facts) => [
      { kind: 'Origin', ...facts, state: 'Synced', staleSince: 0 },
      { kind: 'Contribution', cluster: facts.cluster, ...offer, endpoints: [] },
    ]),
  ]);
  const model = new Model(config);
  model.update(changes, 0);
  const { status } = model.compiled.statuses.get('CompositeBackend/shop/store') ?? {};
  const states = status?.clusters as readonly { readonly name: string; readonly state: string }[];
  return states.map(({ name, state }) => (state === 'Refused' ? '' : name)).join('');
}

/** Clusters of the first tier; where that is none, the next one is the first. */
function first(selector: ClusterSelector): string {
  const shares = clusters.map((facts, i) => ({
    ...facts,
    own: false,
    selected: 1,
    endpoints: [{ addresses: [`10.0.0.${i}`], port: 80, zone: '', health: 'Healthy' as const }],
  }));
  const groups = distribute(shares, { policy: 'Ordered', order: [selector], localThresholdPercent: 0 }, '');
  return groups.flatMap(({ cluster, priority }) => (priority === 0 ? [cluster] : [])).join('');
}

test.each(table)('%j selects the clusters "%s": import, export and order alike', (selector, selected) => {
  const which = (selects: (facts: ClusterFacts) => boolean) =>
    clusters.flatMap((facts) => (selects(facts) ? [facts.cluster] : [])).join('');
  expect(which((facts) => selectsCluster(selector, facts))).toBe(selected);
  const offer = { cluster: 'own', namespace: 'shop', to: [{ clusters: selector }] };
  const peer = { set: 'demo', role: 'controller', namespaces: ['*'] };
  expect(which((facts) => isOfferedTo({ ...peer, ...facts }, offer))).toBe(selected);
  expect(imported(selector)).toBe(selected);
  expect(first(selector)).toBe(selected === '' ? 'abc' : selected);
});
