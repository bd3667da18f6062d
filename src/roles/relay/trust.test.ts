import { beforeEach, expect, test } from 'vitest';
import { decodeLinkFacts, encodeLinkFacts } from '../../model/relay/link-metadata.ts';
import { decodeDeltaResponse } from '../../wire/proto/discovery.ts';
import { codec } from '../../wire/proto/registry.ts';
import { typeUrls } from '../../wire/proto/type-urls.ts';
import { identity, RelayMemoryBed } from './memory-bed.ts';
import { store, storePort } from './test-bed.ts';

let bed: RelayMemoryBed;
beforeEach(() => {
  bed = new RelayMemoryBed();
});

test('a cluster cannot publish under another name, and its neighbours do not notice', async () => {
  const hub = bed.hub('east', 'west', 'north');
  bed
    .publisher(identity('west'))
    .export(store(['10.1.0.1']))
    .link(hub);
  bed.publisher(identity('north')).export().link(hub);
  const spoof = bed
    .publisher(identity('east'), { as: 'west', epoch: 9e12 })
    .export(store(['6.6.6.6']))
    .link(hub);
  await bed.settle();
  bed.clock.advance(15_000);
  const north = bed.consumer(identity('north'), storePort).link(hub);
  await bed.settle();
  expect(north.get()).toEqual({ west: ['10.1.0.1'] });
  expect(spoof.refused.length).toBeGreaterThanOrEqual(3);
  expect(await hub.refused('cluster')).toBeGreaterThanOrEqual(3);
  expect(JSON.stringify(north.changes)).not.toContain('6.6.6.6');
});

test('X2 who had a copy of the key, and a later life: once it is shut out, the cluster itself is heard again', async () => {
  const { hub, west, east } = await bed.pair(store(['10.1.0.1']));
  const thief = bed
    .publisher(identity('west'), { epoch: 9e12 })
    .export(store(['6.6.6.6']))
    .link(hub);
  await bed.settle();
  expect(east.get()).toEqual({ west: ['6.6.6.6'] });
  expect(() => west.link(hub)).toThrow(/started later is connected/);
  thief.unlink();
  west.link(hub);
  await bed.settle();
  expect(east.get()).toEqual({ west: ['10.1.0.1'] });
  expect(east.origins.get('west')?.state).toBe('Synced');
});

test('a resource outside the namespaces of its certificate is refused, the others count', async () => {
  const hub = bed.hub('east', 'west');
  const west = bed
    .publisher(identity('west', { namespaces: ['shop'] }))
    .export(store(['10.1.0.1']), store(['10.1.0.2'], { namespace: 'bank' }))
    .link(hub);
  bed.publisher(identity('east')).export().link(hub);
  await bed.settle();
  const east = bed.consumer(identity('east'), storePort, 'bank/store/tcp-80').link(hub);
  await bed.settle();
  expect(east.get()).toEqual({ west: ['10.1.0.1'] });
  expect(east.get('bank/store/tcp-80')).toEqual({});
  expect([...east.imports.values()]).toEqual([true, true]);
  expect(new Set(west.refused.map((n) => n.split('/v1/')[1]))).toEqual(new Set(['bank/store/tcp-80/west']));
  expect(await hub.refused('namespace')).toBe(2);
});

test('X6 what is not exported to a cluster never appears on its wire', async () => {
  const hub = bed.hub('east', 'west', 'north');
  const west = bed
    .publisher(identity('west'))
    .export(store(['10.1.0.1'], { to: [{ names: ['north'] }] }), store(['10.1.0.2'], { composite: 'open' }))
    .link(hub);
  bed.publisher(identity('east')).export().link(hub);
  bed.publisher(identity('north')).export().link(hub);
  await bed.settle();
  const east = bed.consumer(identity('east'), storePort, 'shop/open/tcp-80').link(hub);
  const north = bed.consumer(identity('north'), storePort).link(hub);
  await bed.settle();
  expect(north.get()).toEqual({ west: ['10.1.0.1'] });
  expect(east.get()).toEqual({});
  expect(east.imports.get(storePort)).toBe(true);
  const seen = () => Buffer.concat(east.bytes).toString('latin1');
  expect(seen()).not.toContain('/store/tcp-80/west');
  expect(seen()).not.toContain('10.1.0.1');
  expect(JSON.stringify(hub.wire(identity('east')))).not.toContain('/store/');
  // Nor does the policy itself, or a cluster that offers nothing.
  expect(seen()).not.toContain('north');
  west.export(store(['10.1.0.1'], { to: [{ names: ['north'] }] }));
  await bed.settle();
  expect(east.get('shop/open/tcp-80')).toEqual({});
  expect(east.origins.size).toBe(0);
  expect(north.origins.get('west')?.state).toBe('Synced');
});

test('a narrower export policy takes away at once, a wider one gives', async () => {
  const hub = bed.hub('east', 'west');
  const east = identity('east', { labels: { env: 'test' } });
  const west = bed
    .publisher(identity('west'))
    .export(store(['10.1.0.1']))
    .link(hub);
  bed.publisher(east).export().link(hub);
  await bed.settle();
  const consumer = bed.consumer(east, storePort).link(hub);
  await bed.settle();
  expect(consumer.get()).toEqual({ west: ['10.1.0.1'] });
  west.export(store(['10.1.0.1'], { to: [{ matchLabels: { env: 'prod' } }] }));
  await bed.settle();
  expect(consumer.get()).toEqual({});
  west.export(store(['10.1.0.1'], { to: [{ matchLabels: { env: 'test' } }] }));
  await bed.settle();
  expect(consumer.get()).toEqual({ west: ['10.1.0.1'] });
  // Also when the relay learns of it only after a break: same content, another policy.
  west.unlink();
  west.export(store(['10.1.0.1'], { to: [{ names: ['north'] }] }));
  await bed.settle();
  expect(consumer.get()).toEqual({ west: ['10.1.0.1'] });
  west.link(hub);
  await bed.settle();
  expect(consumer.get()).toEqual({});
});

test('a peer over its limits keeps what it has, and nobody else is touched', async () => {
  const hub = bed.hub('east', 'west', 'north');
  const many = Array.from({ length: 60 }, (_, i) => store(['10.1.0.1'], { composite: `s${i}` }));
  const west = bed
    .publisher(identity('west'))
    .export(store(['10.1.0.1']), ...many)
    .link(hub);
  bed
    .publisher(identity('north'))
    .export(store(['10.2.0.1']))
    .link(hub);
  bed.publisher(identity('east')).export().link(hub);
  await bed.settle();
  const east = bed.consumer(identity('east'), storePort).link(hub);
  await bed.settle();
  expect(east.get()).toMatchObject({ north: ['10.2.0.1'] });
  expect(west.refused).toHaveLength(2 * 61 - 50);
  expect(await hub.refused('limit')).toBe(2 * 61 - 50);
  expect(east.origins.get('west')?.state).toBe('Synced');
});

test('an endpoint that no traffic may go to is refused, and what was there before stays', async () => {
  const { hub, west, east } = await bed.pair(store(['10.1.0.1']));
  for (const bad of [
    '127.0.0.1',
    '169.254.169.254',
    '0.0.0.0',
    '224.0.0.1',
    '::1',
    'fe80::1',
    '::ffff:127.0.0.1',
  ]) {
    west.export(store([bad]));
    await bed.settle();
    expect(east.get(), bad).toEqual({ west: ['10.1.0.1'] });
  }
  expect(await hub.refused('content')).toBe(7);
  west.export(store(['10.1.0.5']));
  await bed.settle();
  expect(east.get()).toEqual({ west: ['10.1.0.5'] });
});

test('labels, region and network of a cluster are those of its certificate, whatever it says', async () => {
  const hub = bed.hub('east', 'west');
  const west = bed.publisher(identity('west', { labels: { env: 'prod' }, region: 'us', network: 'n2' }));
  west.export(store(['10.1.0.1'])).link(hub);
  bed.publisher(identity('east')).export().link(hub);
  await bed.settle();
  const name = 'xdstp://demo/causeway.v1.OriginStatus/v1/west';
  const forged = codec('causeway.v1.OriginStatus').encode({
    epoch: west.epoch,
    sequence: 99,
    synced: true,
    labels: { env: 'test', admin: 'yes' },
    region: 'moon',
    network: 'n1',
  });
  const later = Buffer.from([0xa2, 0x06, 0x02, 0x68, 0x69]);
  west.state.log.set(typeUrls.originStatus, { name, body: Buffer.concat([forged, later]) });
  west.state.log.flush();
  await bed.settle();
  const east = bed.consumer(identity('east'), storePort).link(hub);
  await bed.settle();
  expect(east.origins.get('west')).toMatchObject({ labels: { env: 'prod' }, region: 'us', network: 'n2' });
  const [status] = hub.wire(identity('east')).filter((r) => r.name === name);
  // A field that this version does not know goes on as it came.
  expect(Buffer.from(status?.body ?? []).includes(later)).toBe(true);
});

test('bodies go on byte for byte, the export policy does not', async () => {
  const hub = bed.hub('east', 'west');
  const west = bed
    .publisher(identity('west'))
    .export(store(['10.1.0.1'], { to: [{}, { names: ['north'] }] }))
    .link(hub);
  bed.publisher(identity('east')).export().link(hub);
  const [entry] = west.state.log.entries(typeUrls.assignment);
  const name = entry?.name ?? '';
  const later = Buffer.from([0xfa, 0x3e, 0x03, 1, 2, 3]);
  const [before] = decodeDeltaResponse(entry?.fragment as Buffer).resources;
  const body = Buffer.concat([before?.body ?? Buffer.alloc(0), later]);
  west.state.log.set(typeUrls.assignment, {
    name,
    body,
    metadata: encodeLinkFacts({ export: [{}], path: [], mark: 42 }),
  });
  west.state.log.flush();
  await bed.settle();
  const [got] = hub.wire(identity('east')).filter((r) => r.typeUrl === typeUrls.assignment);
  expect(Buffer.from(got?.body ?? []).equals(body)).toBe(true);
  expect(decodeLinkFacts(got?.metadata)).toEqual({ path: [], mark: 42 });
});

test('an origin that comes round, or a resource of another type than its name says, is refused', async () => {
  const hub = bed.hub('west');
  const west = bed
    .publisher(identity('west'))
    .export(store(['10.1.0.1']))
    .link(hub);
  await bed.settle();
  const [entry] = west.state.log.entries(typeUrls.assignment);
  const [resource] = decodeDeltaResponse(entry?.fragment as Buffer).resources;
  const body = resource?.body ?? Buffer.alloc(0);
  const name = resource?.name ?? '';
  const metadata = encodeLinkFacts({ path: ['hub'], mark: 0 });
  const status = 'xdstp://demo/causeway.v1.OriginStatus/v1/west';
  west.state.log.set(typeUrls.originStatus, { name: status, body: Buffer.alloc(0), metadata });
  west.state.log.set(typeUrls.cluster, { name, body });
  west.state.log.set(typeUrls.originStatus, { name, body });
  west.state.log.set(typeUrls.cluster, { name: 'composite/shop/store/tcp-80', body });
  west.state.log.flush();
  await bed.settle();
  expect(await hub.refused('loop')).toBe(1);
  expect(await hub.refused('type')).toBe(2);
  expect(await hub.refused('name')).toBe(1);
  expect([...hub.hub.log.entries(typeUrls.cluster)]).toHaveLength(1);
});
