import { beforeEach, expect, test } from 'vitest';
import { DeltaServerStream } from '../../outputs/xds/delta-server-stream.ts';
import type { ClientConnection } from '../../sources/xds/delta-client-stream.ts';
import {
  type DeltaResource,
  decodeDeltaResponse,
  encodeDeltaRequest,
  encodeDeltaResponse,
} from '../../wire/proto/discovery.ts';
import { typeUrls } from '../../wire/proto/type-urls.ts';
import { addresses, everything, identity, RelayMemoryBed } from './memory-bed.ts';
import { store, storePort } from './test-bed.ts';

let bed: RelayMemoryBed;
beforeEach(() => {
  bed = new RelayMemoryBed();
});

test('P6 a cluster that leaves the list of members takes what it gave; back on it, exactly its current set', async () => {
  const { hub, west, east } = await bed.pair(store(['10.1.0.1', '10.1.0.2']));
  expect(east.get()).toEqual({ west: ['10.1.0.1', '10.1.0.2'] });
  hub.members('east');
  await bed.settle();
  expect(east.get()).toEqual({});
  expect(east.origins.size).toBe(0);
  expect(west.ended).toMatchObject({ code: 'E_PEER_IDENTITY' });
  expect(() => west.link(hub)).toThrow(/west is not on the list of members/);
  west.export(store(['10.1.0.2', '10.1.0.9']));
  hub.members('east', 'west');
  await bed.settle();
  expect(east.get()).toEqual({});
  west.link(hub);
  await bed.settle();
  expect(east.get()).toEqual({ west: ['10.1.0.2', '10.1.0.9'] });
  expect(east.origins.get('west')?.state).toBe('Synced');
});

test('P6 a consumer that was away when a cluster left learns it when it is back', async () => {
  const { hub, east } = await bed.pair(store(['10.1.0.1']));
  east.unlink();
  hub.members('east');
  await bed.settle();
  expect(east.get()).toEqual({ west: ['10.1.0.1'] });
  expect(east.origins.get('west')?.state).toBe('Stale');
  east.link(hub);
  await bed.settle();
  expect(east.get()).toEqual({});
  expect(east.origins.size).toBe(0);
});

test('D2 a controller that is away makes its cluster Stale after 6 s, and takes nothing', async () => {
  const { hub, west, east } = await bed.pair(store(['10.1.0.1']));
  const beat = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 1_000) {
      bed.clock.advance(1_000);
      await bed.settle();
    }
  };
  await beat(20_000);
  expect(east.origins.get('west')?.state).toBe('Synced');
  west.stop();
  await beat(5_000);
  expect(east.origins.get('west')?.state).toBe('Synced');
  const before = bed.clock.now();
  await beat(3_000);
  const stale = east.origins.get('west');
  expect(stale?.state).toBe('Stale');
  expect(stale?.staleSince).toBeGreaterThanOrEqual(before - 5_000);
  await beat(60_000);
  expect(east.origins.get('west')).toEqual(stale);
  expect(east.get()).toEqual({ west: ['10.1.0.1'] });
  expect(east.losses()).toEqual([]);

  const again = bed.publisher(identity('west'));
  again.link(hub);
  await beat(10_000);
  expect(east.origins.get('west')?.state).toBe('Stale');
  again.export(store(['10.1.0.1']));
  await beat(1_000);
  expect(east.origins.get('west')).toMatchObject({ state: 'Synced', staleSince: 0 });
  expect(east.losses()).toEqual([]);
});

test('D2 a relay that is away makes every cluster Stale at once, and takes nothing', async () => {
  const { west, east, eastPublisher } = await bed.pair(store(['10.1.0.1']));
  east.unlink();
  expect(east.origins.get('west')).toMatchObject({ state: 'Stale', staleSince: bed.clock.now() });

  // A relay that starts knows nothing: it tells nothing until its members were heard.
  const next = bed.hub('east', 'west');
  east.link(next);
  eastPublisher.link(next);
  await bed.settle();
  expect(next.hub.waitingFor).toBe('waiting for members west');
  expect(east.losses()).toEqual([]);
  west.link(next);
  await bed.settle();
  expect(east.origins.get('west')?.state).toBe('Synced');
  expect(east.losses()).toEqual([]);
  expect(east.get()).toEqual({ west: ['10.1.0.1'] });
});

test('D2 a relay that starts waits for a member that does not come, then answers without taking what it gave', async () => {
  const hub = bed.hub('east', 'west', 'north');
  bed
    .publisher(identity('west'))
    .export(store(['10.1.0.1']))
    .link(hub);
  const north = bed
    .publisher(identity('north'))
    .export(store(['10.2.0.1']))
    .link(hub);
  bed.publisher(identity('east')).export().link(hub);
  await bed.settle();
  const east = bed.consumer(identity('east'), storePort).link(hub);
  await bed.settle();
  expect(east.get()).toEqual({ north: ['10.2.0.1'], west: ['10.1.0.1'] });
  east.unlink();

  const next = bed.hub('east', 'west', 'north');
  north.export(store(['10.2.0.2'])).link(next);
  bed.publisher(identity('east')).export().link(next);
  east.link(next);
  const fresh = bed.consumer(identity('east'), storePort, 'shop/none/tcp-80').link(next);
  await bed.settle();
  expect(fresh.imports.get(storePort)).toBe(false);
  expect(east.get()).toEqual({ north: ['10.2.0.1'], west: ['10.1.0.1'] });
  bed.clock.advance(15_000);
  await bed.settle();
  // The member that did not come blocks nobody, and who had its endpoints keeps them.
  expect(fresh.get()).toEqual({ north: ['10.2.0.2'] });
  expect([...fresh.imports.values()]).toEqual([true, true]);
  expect(east.get()).toEqual({ north: ['10.2.0.2'], west: ['10.1.0.1'] });
  expect(east.origins.get('west')?.state).toBe('Stale');
  // It comes with less: only now does what it gave go.
  bed.publisher(identity('west')).export().link(next);
  await bed.settle();
  expect(east.get()).toEqual({ north: ['10.2.0.2'] });
  expect(east.origins.size).toBe(1);
});

test('a restarted controller never shrinks what others see', async () => {
  const hub = bed.hub('east', 'west');
  const first = bed
    .publisher(identity('west'), { epoch: 1 })
    .export(store(addresses(350)), store(['10.9.0.1'], { composite: 'cart' }))
    .link(hub);
  bed.publisher(identity('east')).export().link(hub);
  await bed.settle();
  const east = bed.consumer(identity('east'), storePort, 'shop/cart/tcp-80').link(hub);
  await bed.settle();
  first.stop();
  // It is linked before it has read its objects: it tells nothing.
  const second = bed.publisher(identity('west'), { epoch: 2 }).link(hub);
  await bed.settle();
  expect(east.get().west).toHaveLength(350);
  // What it tells counts when all of it is there.
  second.export(store([...addresses(349), '10.1.200.1']));
  await bed.settle();
  const sizes = east.changes.flatMap((c) =>
    c.kind === 'Contribution' && c.key.startsWith(storePort) ? [c.value?.endpoints.length] : [],
  );
  expect(Math.min(...sizes.map((s) => s ?? 0))).toBeGreaterThanOrEqual(349);
  expect(east.get().west).toHaveLength(350);
  expect(east.get('shop/cart/tcp-80')).toEqual({});
});

test('what a member tells before it has told everything is held back over a break', async () => {
  const hub = bed.hub('east', 'west');
  bed
    .publisher(identity('west'), { epoch: 1 })
    .export(store(['10.1.0.1']))
    .link(hub);
  bed.publisher(identity('east')).export().link(hub);
  await bed.settle();
  const east = bed.consumer(identity('east'), storePort).link(hub);
  await bed.settle();
  const published = hub.hub.feeds.clusters.get('west');
  // A link on which resources come and the marker does not.
  const connection: ClientConnection = { send: () => {}, fail: () => {} };
  hub.hub.link(identity('west'), 2, connection);
  const other = bed.publisher(identity('west')).export(store(['10.1.0.7', '10.1.0.8']));
  const resources: DeltaResource[] = [];
  const stream = new DeltaServerStream({
    log: other.state.log,
    view: everything,
    send: (m) => {
      resources.push(...decodeDeltaResponse(m).resources);
      return true;
    },
    fail: () => {},
  });
  for (const typeUrl of [typeUrls.cluster, typeUrls.assignment]) {
    resources.length = 0;
    stream.receive(
      encodeDeltaRequest({
        typeUrl,
        subscribe: ['*'],
        unsubscribe: [],
        initialVersions: new Map(),
        nonce: '',
      }),
    );
    published?.receive(connection, encodeDeltaResponse({ typeUrl, nonce: 'n', resources, removals: [] }));
  }
  await bed.settle();
  expect(east.get()).toEqual({ west: ['10.1.0.1'] });
  hub.hub.unlink(published as NonNullable<typeof published>, connection);
  await bed.settle();
  expect(east.get()).toEqual({ west: ['10.1.0.1'] });
  other.link(hub);
  await bed.settle();
  expect(east.get()).toEqual({ west: ['10.1.0.7', '10.1.0.8'] });
});

test('of two publishers of a cluster the one that started later counts', async () => {
  const hub = bed.hub('east', 'west');
  const old = bed
    .publisher(identity('west'), { epoch: 10 })
    .export(store(['10.1.0.1']))
    .link(hub);
  bed.publisher(identity('east')).export().link(hub);
  await bed.settle();
  const east = bed.consumer(identity('east'), storePort).link(hub);
  await bed.settle();
  const young = bed
    .publisher(identity('west'), { epoch: 20 })
    .export(store(['10.1.0.2']))
    .link(hub);
  await bed.settle();
  expect(old.ended?.message).toContain('another publisher of west took over');
  expect(east.get()).toEqual({ west: ['10.1.0.2'] });
  expect(() => old.link(hub)).toThrow(/started later is connected/);
  // The same process dials again before its old connection is noticed to be dead.
  young.link(hub);
  await bed.settle();
  expect(east.get()).toEqual({ west: ['10.1.0.2'] });
  // Its clock was set back: nobody else is there, so it counts.
  young.stop();
  const back = bed
    .publisher(identity('west'), { epoch: 5 })
    .export(store(['10.1.0.3']))
    .link(hub);
  await bed.settle();
  expect(back.ended).toBeUndefined();
  expect(east.get()).toEqual({ west: ['10.1.0.3'] });
});

test('a relay that comes back does not make an old contact a new one', async () => {
  const { hub, west, east } = await bed.pair(store(['10.1.0.1']));
  west.stop();
  bed.clock.advance(10_000);
  await bed.settle();
  const stale = east.origins.get('west');
  expect(stale?.state).toBe('Stale');
  for (let i = 0; i < 3; i++) {
    bed.clock.advance(20_000);
    east.link(hub);
    await bed.settle();
    expect(east.origins.get('west')).toEqual(stale);
  }
  expect(east.get()).toEqual({ west: ['10.1.0.1'] });
});

test('with two relays one may be away, and neither resurrects what the other says is gone', async () => {
  bed.relays = ['hub:1', 'hub:2'];
  const [one, two] = [bed.hub('east', 'west'), bed.hub('east', 'west')];
  const west = bed.publisher(identity('west')).export(store(['10.1.0.1', '10.1.0.2']));
  const links = bed.publisher(identity('west'), { epoch: west.epoch });
  west.link(one);
  for (const hub of [one, two]) bed.publisher(identity('east')).export().link(hub);
  await bed.settle();
  const east = bed.consumer(identity('east'), storePort).link(one);
  await bed.settle();
  // Only one of two has answered.
  expect(east.imports.get(storePort)).toBe(false);
  links.export(store(['10.1.0.1', '10.1.0.2'])).link(two);
  east.link(two, 1);
  await bed.settle();
  expect(east.imports.get(storePort)).toBe(true);
  expect(east.get()).toEqual({ west: ['10.1.0.1', '10.1.0.2'] });

  east.unlink(0);
  await bed.settle();
  expect(east.origins.get('west')?.state).toBe('Synced');
  links.export(store(['10.1.0.2']));
  await bed.settle();
  expect(east.get()).toEqual({ west: ['10.1.0.2'] });
  expect(east.losses()).toEqual([]);
  links.export();
  await bed.settle();
  expect(east.get()).toEqual({});
});

test('with two relays one that never answers is not waited for for ever', async () => {
  bed.relays = ['hub:1', 'hub:2'];
  const { east } = await bed.pair(store(['10.1.0.1']));
  expect(east.imports.get(storePort)).toBe(false);
  bed.clock.advance(15_000);
  await bed.settle();
  expect(east.imports.get(storePort)).toBe(true);
});
