import { expect, test } from 'vitest';
import { codec } from '../../wire/proto/registry.ts';
import { type Json, toStruct } from '../../wire/proto/struct.ts';
import type { Peer } from './authority.ts';
import { contributionGlob } from './names.ts';
import {
  decodeRelayNode,
  encodeRelayNode,
  maxRefusedSubscribers,
  Subscribers,
} from './refused-subscribers.ts';

const peer = (cluster: string): Peer => ({
  set: 'demo',
  cluster,
  role: 'controller',
  labels: {},
  namespaces: ['*'],
  region: '',
  network: '',
});

test('what a relay tells on its node comes out as it went in; what is not of the shape is left out', () => {
  const refused = [{ cluster: 'north', port: 'shop/web/tcp-80', composite: 'shop/web' }];
  expect(decodeRelayNode(encodeRelayNode('hub', refused))).toEqual(refused);
  expect(decodeRelayNode(encodeRelayNode('hub', []))).toEqual([]);
  expect(decodeRelayNode(Buffer.from('nonsense'))).toEqual([]);
  const node = (told: Json) =>
    codec('envoy.config.core.v3.Node').encode({ metadata: toStruct({ 'causeway.dev': told }) });
  const ok = refused[0] as (typeof refused)[number];
  const hostile = [
    null,
    7,
    'x',
    [],
    {},
    { ...ok, cluster: 7 },
    { ...ok, port: 'a\nb' },
    { ...ok, composite: '' },
    ok,
  ];
  expect(decodeRelayNode(node({ refusedSubscribers: hostile }))).toEqual([ok]);
  for (const told of [{}, { refusedSubscribers: 'x' }, { refusedSubscribers: {} }]) {
    expect(decodeRelayNode(node(told))).toEqual([]);
  }
  expect(decodeRelayNode(node({ refusedSubscribers: Array(10_000).fill(ok) }))).toHaveLength(
    maxRefusedSubscribers,
  );
});

test('what a cluster asks for may be endless, what is told of it is not', () => {
  const subscribers = new Subscribers();
  const stream = {};
  const ports = Array.from({ length: 1_000 }, (_, i) => `shop/web/tcp-${i + 1}`);
  const globs = ports.map((port) => contributionGlob('demo', 'cluster', port));
  expect(subscribers.ask(stream, peer('north'), [...globs, 'nonsense', '*'], [])).toBe(true);
  expect(subscribers.ask(stream, peer('north'), globs, [])).toBe(false);
  const offer = { cluster: 'west', namespace: 'shop', to: [], policy: '[]' };
  const resources = ports.map((_, i) => {
    const parsed = {
      kind: 'contribution',
      set: 'demo',
      type: 'cluster',
      namespace: 'shop',
      composite: 'web',
      protocol: 'TCP',
      port: i + 1,
      cluster: 'west',
    } as const;
    return { name: '', parsed, typeUrl: '', body: new Uint8Array(), offer, mark: 0 };
  });
  const west = { cluster: 'west', resources };
  expect(subscribers.refusedBy(west)).toHaveLength(maxRefusedSubscribers);
  expect(subscribers.refusedBy({ ...west, cluster: 'north' })).toEqual([]);
  expect(subscribers.ask(stream, peer('north'), [], globs.slice(1))).toBe(true);
  expect(subscribers.refusedBy(west)).toEqual([
    { cluster: 'north', port: 'shop/web/tcp-1', composite: 'shop/web' },
  ]);
  expect(subscribers.end(stream)).toBe(true);
  expect(subscribers.refusedBy(west)).toEqual([]);
});
