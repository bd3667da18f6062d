import { expect, test } from 'vitest';
import { authorizePublished, isRefused, type Peer, speaksFor } from './authority.ts';

const west: Peer = {
  set: 'demo',
  cluster: 'west',
  role: 'controller',
  region: '',
  network: '',
  labels: {},
  namespaces: ['shop', 'team-*'],
};
const name = (path: string, set = 'demo') => `xdstp://${set}/envoy.config.cluster.v3.Cluster/v1/${path}`;
const reason = (text: string, peer = west) => {
  const result = authorizePublished(text, { ...peer, clusters: new Set([peer.cluster]) });
  return isRefused(result) ? result.reason : undefined;
};

test('a cluster publishes under its own name, in namespaces it speaks for, in its set', () => {
  expect(reason(name('shop/store/tcp-80/west'))).toBeUndefined();
  expect(reason(name('team-a/store/tcp-80/west'))).toBeUndefined();
  expect(reason('xdstp://demo/causeway.v1.OriginStatus/v1/west')).toBeUndefined();
  expect(reason(name('shop/store/tcp-80/east'))).toBe('cluster');
  expect(reason('xdstp://demo/causeway.v1.OriginStatus/v1/east')).toBe('cluster');
  expect(reason(name('bank/store/tcp-80/west'))).toBe('namespace');
  expect(reason(name('shop/store/tcp-80/west', 'prod'))).toBe('set');
  expect(reason('store')).toBe('name');
  expect(reason(name('shop/store/tcp-80/west'), { ...west, namespaces: [] })).toBe('namespace');
});

test('what is offered to composites of another name is in a namespace the cluster speaks for', () => {
  expect(reason(name('bank/store/tcp-80/west:shop:store'))).toBeUndefined();
  expect(reason(name('shop/store/tcp-80/west:bank:store'))).toBe('namespace');
  expect(reason(name('shop/store/tcp-80/east:shop:other'))).toBe('cluster');
});

test('namespace patterns are names or prefixes', () => {
  expect(speaksFor(west, 'team-')).toBe(true);
  expect(speaksFor(west, 'team')).toBe(false);
  expect(speaksFor(west, 'shop2')).toBe(false);
  expect(speaksFor({ namespaces: ['*'] }, 'any')).toBe(true);
  expect(speaksFor({ namespaces: [] }, 'any')).toBe(false);
});
