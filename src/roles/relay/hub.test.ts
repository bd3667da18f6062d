import { beforeEach, expect, test } from 'vitest';
import { decodeDeltaResponse } from '../../wire/proto/discovery.ts';
import { typeUrls } from '../../wire/proto/type-urls.ts';
import { addresses, identity, RelayMemoryBed } from './memory-bed.ts';
import { endpoint, store, storePort } from './test-bed.ts';

let bed: RelayMemoryBed;
beforeEach(() => {
  bed = new RelayMemoryBed();
});

test('350 endpoints cross the border in shards, and one that changes moves one shard', async () => {
  const { hub, west, east } = await bed.pair(store(addresses(350)));
  expect(east.get().west).toEqual(addresses(350).sort());
  expect(east.changes.filter((c) => c.kind === 'Contribution')).toHaveLength(1);
  const shards = [...hub.hub.log.entries(typeUrls.assignment)].map((e) => e.name.split('/').at(-1));
  expect(shards.length).toBeGreaterThanOrEqual(4);
  for (const shard of shards) expect(shard).toMatch(/^west\.[01]+$/);

  east.bytes.length = 0;
  const endpoints = addresses(350).map((a, i) => endpoint(a, i === 77 ? { health: 'Draining' } : {}));
  west.export(store(addresses(350), { endpoints, ready: 349 }));
  await bed.settle();
  const sent = east.bytes.flatMap((b) => decodeDeltaResponse(b).resources);
  expect(sent.filter((r) => r.typeUrl === typeUrls.assignment)).toHaveLength(1);
  expect(east.contributions.get(`${storePort}/west`)?.ready).toBe(349);
  expect(
    east.contributions.get(`${storePort}/west`)?.endpoints.filter((e) => e.health === 'Draining'),
  ).toHaveLength(1);

  // Down to few and up again: shards join and split, the union never has fewer than what stays.
  const counts = () =>
    east.changes.flatMap((c) => (c.kind === 'Contribution' && c.value ? [c.value.endpoints.length] : []));
  east.changes.length = 0;
  west.export(store(addresses(60)));
  await bed.settle();
  west.export(store(addresses(350)));
  await bed.settle();
  expect(Math.min(...counts())).toBe(60);
  expect(east.get().west).toHaveLength(350);
});

test('a contribution without endpoints is told, and is not the same as none', async () => {
  const { west, east } = await bed.pair(store([], { selected: 2 }));
  expect(east.contributions.get(`${storePort}/west`)).toMatchObject({ ready: 0, selected: 2, endpoints: [] });
  west.export();
  await bed.settle();
  expect(east.contributions.size).toBe(0);
});

test('a composite that a bad part leaves incomplete does not hold up its neighbours', async () => {
  const hub = bed.hub('east', 'west', 'north');
  const endpoints = addresses(150).map((a, i) => endpoint(a, i === 3 ? { addresses: ['127.0.0.1'] } : {}));
  const bad = (composite: string) => store(addresses(150), { composite, endpoints });
  const west = bed.publisher(identity('west')).export(bad('store')).link(hub);
  bed
    .publisher(identity('north'))
    .export(store(['10.2.0.1']))
    .link(hub);
  bed.publisher(identity('east')).export().link(hub);
  await bed.settle();
  const east = bed.consumer(identity('east'), storePort, 'shop/later/tcp-80').link(hub);
  await bed.settle();
  expect(east.imports.get(storePort)).toBe(true);
  expect(east.get().north).toEqual(['10.2.0.1']);
  expect(east.get().west?.length).toBeGreaterThan(0);
  expect(east.get().west).not.toContain('127.0.0.1');
  // Also one that comes when everything has been told long ago.
  west.export(bad('store'), bad('later'));
  await bed.settle();
  expect(east.get('shop/later/tcp-80').west?.length).toBeGreaterThan(0);
});

test('imports follow what is asked for', async () => {
  const { east } = await bed.pair(
    store(['10.1.0.1']),
    store(['10.1.0.2'], { composite: 'cart' }),
    store(['10.1.0.3'], { port: 443 }),
  );
  expect([...east.contributions.keys()]).toEqual([`${storePort}/west`]);
  east.source.setImports(new Set([storePort, 'shop/cart/tcp-80']));
  expect(east.imports.get('shop/cart/tcp-80')).toBe(false);
  await bed.settle();
  expect(east.get('shop/cart/tcp-80')).toEqual({ west: ['10.1.0.2'] });
  expect(east.imports.get('shop/cart/tcp-80')).toBe(true);
  east.source.setImports(new Set(['shop/cart/tcp-80']));
  await bed.settle();
  expect([...east.contributions.keys()]).toEqual(['shop/cart/tcp-80/west']);
  expect([...east.imports.keys()]).toEqual(['shop/cart/tcp-80']);
  east.source.setImports(new Set(['shop/cart/tcp-80', storePort]));
  await bed.settle();
  expect(east.get()).toEqual({ west: ['10.1.0.1'] });
  expect(east.imports.get(storePort)).toBe(true);
});

test('news carries the clock of its origin; what is told for the first time, or again, is none', async () => {
  const { hub, west, east } = await bed.pair(store(['10.1.0.1']));
  expect(east.news).toEqual([]);
  bed.clock.advance(5_000);
  west.export(store(['10.1.0.1', '10.1.0.2']));
  const changedAt = bed.clock.now();
  bed.clock.advance(70);
  await bed.settle();
  // Its Cluster and its assignment count together.
  const told = (at: number) => [`${storePort}/west`, at];
  expect(east.news).toEqual([told(changedAt)]);
  // A change while the link was cut is news when the link is back, from when it was made.
  east.unlink();
  bed.clock.advance(1_000);
  west.export(store(['10.1.0.3']));
  const cutAt = bed.clock.now();
  await bed.settle();
  bed.clock.advance(3_000);
  east.link(hub);
  await bed.settle();
  expect(east.news.slice(1)).toEqual([told(cutAt)]);
  // Told again, and gone.
  west.unlink();
  west.link(hub);
  await bed.settle();
  west.export();
  await bed.settle();
  expect(east.get()).toEqual({});
  expect(east.news).toHaveLength(2);
});

test('a change of one member costs its peers nothing that they had', async () => {
  const { hub, west, east } = await bed.pair(store(['10.1.0.1']));
  east.unlink();
  await bed.settle();
  east.bytes.length = 0;
  east.link(hub);
  await bed.settle();
  const sent = east.bytes.flatMap((b) => decodeDeltaResponse(b).resources.map((r) => r.typeUrl));
  expect(sent).toEqual([typeUrls.originStatus]);
  expect(east.get()).toEqual({ west: ['10.1.0.1'] });
  west.stop();
});
