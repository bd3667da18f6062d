import { beforeEach, expect, test } from 'vitest';
import { identity, memberList, RelayMemoryBed } from './memory-bed.ts';
import { store, storePort } from './test-bed.ts';

let bed: RelayMemoryBed;
beforeEach(() => {
  bed = new RelayMemoryBed();
});

const relayIdentity = (name: string, namespaces: readonly string[] = ['*']) =>
  identity(name, { role: 'relay', namespaces });

/** west at eu, east at us, both under root. */
async function tree() {
  const root = bed.relay('root', { relays: { eu: ['west', 'north'], us: ['east'] } });
  const eu = bed.relay('eu', { clusters: ['west', 'north'] }, ['root']);
  const us = bed.relay('us', { clusters: ['east'] }, ['root']);
  eu.dial(root, bed.net, relayIdentity('eu'));
  us.dial(root, bed.net, relayIdentity('us'));
  const west = bed
    .publisher(identity('west', { labels: { env: 'prod' } }))
    .export(store(['10.1.0.1', '10.1.0.2']))
    .link(eu);
  bed.publisher(identity('north')).export().link(eu);
  const eastPublisher = bed
    .publisher(identity('east', { labels: { env: 'test' } }))
    .export()
    .link(us);
  await bed.settle();
  const east = bed.consumer(identity('east', { labels: { env: 'test' } }), storePort).link(us);
  await bed.settle();
  return { root, eu, us, west, east, eastPublisher };
}

const beat = async (ms: number) => {
  for (let passed = 0; passed < ms; passed += 1_000) {
    bed.clock.advance(1_000);
    await bed.settle();
  }
};

test('endpoints, labels and heartbeats cross three relays, and a change takes one path down', async () => {
  const { west, east } = await tree();
  expect(east.get()).toEqual({ west: ['10.1.0.1', '10.1.0.2'] });
  expect(east.imports.get(storePort)).toBe(true);
  expect(east.origins.get('west')).toMatchObject({
    state: 'Synced',
    labels: { env: 'prod' },
    region: 'region-west',
  });
  west.export(store(['10.1.0.2', '10.1.0.3']));
  await bed.settle();
  expect(east.get()).toEqual({ west: ['10.1.0.2', '10.1.0.3'] });
  await beat(20_000);
  expect(east.origins.get('west')?.state).toBe('Synced');
  west.stop();
  await beat(10_000);
  expect(east.origins.get('west')?.state).toBe('Stale');
  expect(east.losses()).toEqual([]);
});

test('C6 Over relays, what is not offered to a cluster is not on its wire, nor on that of a relay that has no use for it', async () => {
  const { west, east, us } = await tree();
  west.export(
    store(['10.1.0.1'], { to: [{ names: ['north'] }] }),
    store(['10.1.0.7'], { composite: 'open', to: [{ matchLabels: { env: 'test' } }] }),
  );
  await bed.settle();
  expect(east.get()).toEqual({});
  const late = bed
    .consumer(identity('east', { labels: { env: 'test' } }), storePort, 'shop/open/tcp-80')
    .link(us);
  await bed.settle();
  expect(late.get('shop/open/tcp-80')).toEqual({ west: ['10.1.0.7'] });
  expect(Buffer.concat(late.bytes).toString('latin1')).not.toContain('10.1.0.1');
  expect(Buffer.concat(late.bytes).toString('latin1')).not.toContain('matchLabels');
  west.export(store(['10.1.0.7'], { composite: 'open', to: [{ matchLabels: { env: 'prod' } }] }));
  await bed.settle();
  expect(late.get('shop/open/tcp-80')).toEqual({});
  expect(late.origins.size).toBe(0);
});

test('a relay asks its parent for what its own clusters ask, and for nothing else', async () => {
  const { root, east } = await tree();
  const wire = () => Buffer.concat(root.bytesToRelays).toString('latin1');
  expect(wire()).toContain('shop/store/tcp-80/west');
  expect(wire()).not.toContain('shop/cart');
  east.source.setImports(new Set([storePort, 'shop/cart/tcp-80']));
  await bed.settle();
  expect(east.imports.get('shop/cart/tcp-80')).toBe(true);
  expect(root.hub.origin('west')?.path).toEqual(['eu']);
});

test('a restart of any relay of a tree removes nothing, and a glob is not complete before all have answered', async () => {
  const { west, east, eastPublisher, root, eu, us } = await tree();
  // The root.
  eu.cut('root');
  us.cut('root');
  await bed.settle();
  const root2 = bed.relay('root', { relays: { eu: ['west', 'north'], us: ['east'] } });
  us.dial(root2, bed.net, relayIdentity('us'));
  await bed.settle();
  const fresh = bed.consumer(identity('east'), storePort).link(us);
  await bed.settle();
  expect(fresh.imports.get(storePort)).toBe(true);
  const other = bed.consumer(identity('east'), 'shop/other/tcp-80').link(us);
  await bed.settle();
  // Nobody has answered this one: the root waits for eu.
  expect(other.imports.get('shop/other/tcp-80')).toBe(false);
  await beat(7_000);
  expect(east.get()).toEqual({ west: ['10.1.0.1', '10.1.0.2'] });
  expect(east.origins.get('west')?.state).toBe('Stale');
  eu.dial(root2, bed.net, relayIdentity('eu'));
  await beat(3_000);
  expect(other.imports.get('shop/other/tcp-80')).toBe(true);
  expect(east.origins.get('west')?.state).toBe('Synced');
  // The region of the publisher.
  eu.cut('root');
  west.unlink();
  const eu2 = bed.relay('eu', { clusters: ['west', 'north'] }, ['root']);
  eu2.dial(root2, bed.net, relayIdentity('eu'));
  await beat(7_000);
  expect(east.origins.get('west')?.state).toBe('Stale');
  west.export(store(['10.1.0.2']));
  west.link(eu2);
  await beat(3_000);
  expect(east.get()).toEqual({ west: ['10.1.0.2'] });
  // The region of the consumer.
  east.unlink();
  us.cut('root');
  const us2 = bed.relay('us', { clusters: ['east'] }, ['root']);
  east.link(us2);
  await beat(3_000);
  us2.dial(root2, bed.net, relayIdentity('us'));
  eastPublisher.link(us2);
  await beat(20_000);
  expect(east.get()).toEqual({ west: ['10.1.0.2'] });
  expect(east.origins.get('west')?.state).toBe('Synced');
  expect(east.losses()).toEqual([]);
  expect(root.hub.members).toEqual(['east', 'north', 'west']);
});

test('P6 a cluster or a relay that is taken off a list leaves everywhere below, and comes back with its current set', async () => {
  const { west, east, root, eu } = await tree();
  root.hub.setMembers(memberList({ relays: { eu: ['north'], us: ['east'] } }));
  await bed.settle();
  expect(east.get()).toEqual({});
  expect(east.origins.size).toBe(0);
  west.export(store(['10.1.0.9']));
  await bed.settle();
  expect(east.get()).toEqual({});
  root.hub.setMembers(memberList({ relays: { eu: ['north', 'west'], us: ['east'] } }));
  await bed.settle();
  eu.dial(root, bed.net, relayIdentity('eu'));
  await bed.settle();
  expect(east.get()).toEqual({ west: ['10.1.0.9'] });
  // At its own relay, while that has no link to the root: it goes when the link is back.
  eu.cut('root');
  eu.members('north');
  await beat(7_000);
  expect(east.get()).toEqual({ west: ['10.1.0.9'] });
  eu.dial(root, bed.net, relayIdentity('eu'));
  await bed.settle();
  expect(east.get()).toEqual({});
  eu.members('north', 'west');
  west.link(eu);
  await bed.settle();
  expect(east.get()).toEqual({ west: ['10.1.0.9'] });
  root.hub.setMembers(memberList({ relays: { us: ['east'] } }));
  await bed.settle();
  expect(east.get()).toEqual({});
  expect(() => eu.dial(root, bed.net, relayIdentity('eu'))).toThrow(/no member/);
});

test('a relay speaks for what is delegated to it, in the namespaces of its certificate, and for nothing else', async () => {
  const root = bed.relay('root', { clusters: ['east'], relays: { eu: ['west'] } });
  const eu = bed.relay('eu', { clusters: ['west', 'north'] }, ['root']);
  eu.dial(root, bed.net, relayIdentity('eu', ['shop']));
  bed
    .publisher(identity('west'))
    .export(store(['10.1.0.1']), store(['10.1.0.2'], { namespace: 'bank' }))
    .link(eu);
  bed
    .publisher(identity('north'))
    .export(store(['10.2.0.1']))
    .link(eu);
  bed
    .publisher(identity('east'))
    .export(store(['10.3.0.1']), store(['10.3.0.2'], { namespace: 'bank' }))
    .link(root);
  await bed.settle();
  const east = bed.consumer(identity('east'), storePort, 'bank/store/tcp-80').link(root);
  const west = bed.consumer(identity('west'), storePort, 'bank/store/tcp-80').link(eu);
  await bed.settle();
  expect(east.get()).toEqual({ west: ['10.1.0.1'] });
  expect(east.get('bank/store/tcp-80')).toEqual({});
  expect(await root.refused('cluster')).toBeGreaterThan(0);
  expect(await root.refused('namespace')).toBeGreaterThan(0);
  expect(west.get()).toEqual({ east: ['10.3.0.1'], north: ['10.2.0.1'] });
  expect(west.get('bank/store/tcp-80')).toEqual({});
  expect([...west.imports.values()]).toEqual([true, true]);
});

test('a cluster that dials two relays, and relays that dial each other: one word counts, and going round ends', async () => {
  const a = bed.relay('a', { clusters: ['west'], relays: { b: ['west', 'east'] } }, ['b']);
  const b = bed.relay('b', { clusters: ['west', 'east'], relays: { a: ['west'] } }, ['a']);
  const link = () => {
    a.dial(b, bed.net, relayIdentity('a'));
    b.dial(a, bed.net, relayIdentity('b'));
  };
  link();
  const one = bed
    .publisher(identity('west'), { epoch: 100 })
    .export(store(['10.1.0.1']))
    .link(a);
  const two = bed
    .publisher(identity('west'), { epoch: 100 })
    .export(store(['10.1.0.1']))
    .link(b);
  bed
    .publisher(identity('east'))
    .export(store(['10.3.0.1']))
    .link(b);
  await bed.settle();
  const east = bed.consumer(identity('east'), storePort).link(b);
  const west = bed.consumer(identity('west'), storePort).link(a);
  await bed.settle();
  expect(east.get()).toEqual({ west: ['10.1.0.1'] });
  expect(east.imports.get(storePort)).toBe(true);
  expect(west.get()).toEqual({ east: ['10.3.0.1'] });
  expect(west.imports.get(storePort)).toBe(true);
  expect(b.hub.origin('west')?.path).toEqual([]);
  // Only a hears it any more: b follows by a.
  two.stop();
  one.export(store(['10.1.0.2']));
  await beat(3_000);
  expect(east.get()).toEqual({ west: ['10.1.0.2'] });
  expect(b.hub.origin('west')?.path).toEqual(['a']);
  await beat(10_000);
  expect(east.origins.get('west')?.state).toBe('Synced');
  // Off both lists: it is gone, and does not live on between the two.
  a.hub.setMembers(memberList({ relays: { b: ['east'] } }));
  b.hub.setMembers(memberList({ clusters: ['east'], relays: { a: [] } }));
  await beat(3_000);
  expect(east.get()).toEqual({});
  expect([...a.hub.origins, ...b.hub.origins]).not.toContain('west');
});
