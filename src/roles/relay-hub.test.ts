import { beforeEach, expect, test } from 'vitest';
import type { Export } from '../model/compiled.ts';
import type { Change, Contribution, Origin } from '../model/inputs.ts';
import { PublishedState } from '../outputs/relay/published-state.ts';
import { DeltaServerStream } from '../outputs/xds/delta-server-stream.ts';
import type { View } from '../outputs/xds/view.ts';
import { ManualClock } from '../runtime/clock.ts';
import { AppError } from '../runtime/errors.ts';
import type { PeerIdentity } from '../runtime/identity.ts';
import { silentLog } from '../runtime/log.ts';
import { Metrics } from '../runtime/metrics.ts';
import { RelaySource } from '../sources/relay/relay-source.ts';
import type { ClientConnection } from '../sources/xds/delta-client-stream.ts';
import { type DeltaResource, decodeDeltaResponse } from '../wire/proto/discovery.ts';
import { typeUrls } from '../wire/proto/type-urls.ts';
import { RelayHub } from './relay-hub.ts';
import { endpoint, store, storePort } from './relay-test-bed.ts';

const identity = (cluster: string, over: Partial<PeerIdentity> = {}): PeerIdentity => ({
  set: 'demo',
  cluster,
  role: 'controller',
  labels: {},
  namespaces: ['*'],
  region: `region-${cluster}`,
  network: 'n1',
  ...over,
});
const everything: View = { key: 'all', stable: true, sees: () => true };

let clock: ManualClock;
let net: Network;
beforeEach(() => {
  clock = new ManualClock(1_000_000);
  net = new Network();
});

/** Delivers messages one at a time; `settle` until nothing is under way. */
class Network {
  #queue: (() => void)[] = [];

  later(deliver: () => void): void {
    this.#queue.push(deliver);
  }

  async settle(): Promise<void> {
    for (let quiet = 0, delivered = 0; quiet < 3; delivered += 1) {
      if (delivered > 10_000) throw new Error('messages go round and round');
      const next = this.#queue.shift();
      quiet = next ? 0 : quiet + 1;
      next?.();
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

function newHub(...members: string[]): TestHub {
  return new TestHub(members);
}

class TestHub {
  readonly metrics = new Metrics();
  readonly consumers = new Set<DeltaServerStream>();
  readonly hub: RelayHub;

  constructor(members: readonly string[]) {
    this.hub = new RelayHub({
      set: 'demo',
      name: 'hub',
      clock,
      log: silentLog,
      metrics: this.metrics,
      limits: { names: 50, bytes: 100_000, endpointsPerShard: 200, rate: 1_000, burst: 10_000 },
      onRefresh: () => {
        for (const stream of this.consumers) stream.refresh();
      },
      onExpelled: () => {},
    });
    if (members.length > 0) this.members(...members);
  }

  members(...clusters: string[]): void {
    this.hub.setMembers(new Set(clusters));
  }

  async refused(reason: string): Promise<number> {
    const metric = await this.metrics.registry.getSingleMetric('causeway_relay_refused_total')?.get();
    return metric?.values.find((v) => v.labels.reason === reason)?.value ?? 0;
  }

  /** Everything a consumer could ever get: a stream with wildcards on all types. */
  async wire(peer: PeerIdentity): Promise<DeltaResource[]> {
    const got: DeltaResource[] = [];
    const stream = new DeltaServerStream({
      log: this.hub.log,
      view: this.hub.viewFor(peer) as View,
      send: (m) => {
        got.push(...decodeDeltaResponse(m).resources);
        return true;
      },
      fail: () => {},
    });
    const { encodeDeltaRequest } = await import('../wire/proto/discovery.ts');
    for (const typeUrl of [typeUrls.cluster, typeUrls.assignment, typeUrls.originStatus]) {
      stream.receive(
        encodeDeltaRequest({
          typeUrl,
          subscribe: ['*'],
          unsubscribe: [],
          initialVersions: new Map(),
          nonce: '',
        }),
      );
    }
    stream.close();
    return got;
  }
}

class Publisher {
  readonly state: PublishedState;
  readonly peer: PeerIdentity;
  readonly epoch: number;
  readonly refused: string[] = [];
  ended: AppError | undefined;
  #close: (() => void) | undefined;

  constructor(peer: PeerIdentity, options: { epoch?: number; as?: string } = {}) {
    this.peer = peer;
    this.epoch = options.epoch ?? clock.now();
    const cluster = options.as ?? peer.cluster;
    this.state = new PublishedState({ set: 'demo', cluster, network: 'n1', clock, epoch: this.epoch });
  }

  export(...exports: Export[]): this {
    this.state.update(
      new Map(exports.map((e) => [`${e.namespace}/${e.composite}/${e.protocol}-${e.port}`, e])),
    );
    return this;
  }

  link({ hub }: TestHub): this {
    this.#close?.();
    let open = true;
    const stream = new DeltaServerStream({
      log: this.state.log,
      view: everything,
      send: (m) => {
        net.later(() => open && void origin.receive(connection, m));
        return true;
      },
      fail: () => {},
      observer: {
        answered: (_t, _told, refused) => void this.refused.push(...refused.map((r) => r.entry.name)),
      },
    });
    const end = (): void => {
      open = false;
      stream.close();
    };
    const connection: ClientConnection = {
      send: (m) => net.later(() => open && stream.receive(m)),
      fail: (error) => {
        this.ended = error;
        end();
      },
    };
    const origin = hub.link(this.peer, this.epoch, connection);
    this.#close = () => {
      end();
      hub.unlink(origin, connection);
    };
    return this;
  }

  unlink(): void {
    this.#close?.();
  }

  stop(): void {
    this.unlink();
    this.state.close();
  }
}

class Consumer {
  readonly peer: PeerIdentity;
  readonly source: RelaySource;
  readonly contributions = new Map<string, Contribution>();
  readonly origins = new Map<string, Origin>();
  readonly imports = new Map<string, boolean>();
  readonly changes: Change[] = [];
  readonly bytes: Buffer[] = [];
  #close: (() => void) | undefined;

  constructor(peer: PeerIdentity, ...ports: string[]) {
    this.peer = peer;
    this.source = new RelaySource({
      set: 'demo',
      cluster: peer.cluster,
      relays: ['hub:1'],
      clock,
      log: silentLog,
      metrics: new Metrics(),
      onChanges: (changes) => {
        this.changes.push(...changes);
        for (const { kind, key, value } of changes) {
          if (kind === 'Contribution') put(this.contributions, key, value);
          if (kind === 'Origin') put(this.origins, key, value);
          if (kind === 'Import') put(this.imports, key, value?.complete);
        }
      },
    });
    this.source.setImports(new Set(ports));
  }

  link(to: TestHub): this {
    this.#close?.();
    let open = true;
    const [link] = this.source.links;
    const stream = new DeltaServerStream({
      log: to.hub.log,
      view: to.hub.viewFor(this.peer) as View,
      send: (m) => {
        this.bytes.push(m);
        net.later(() => open && link?.receive(m));
        return true;
      },
      fail: () => {},
    });
    to.consumers.add(stream);
    link?.opened({ send: (m) => net.later(() => open && stream.receive(m)), fail: () => {} });
    this.#close = () => {
      open = false;
      to.consumers.delete(stream);
      stream.close();
      link?.closed(new AppError('E_XDS_STREAM', 'cut'));
    };
    return this;
  }

  unlink(): void {
    this.#close?.();
  }

  get(port = storePort): Record<string, string[]> {
    const found: Record<string, string[]> = {};
    for (const [key, c] of [...this.contributions].sort()) {
      if (key.startsWith(`${port}/`)) found[c.cluster] = c.endpoints.map((e) => e.addresses[0] as string);
    }
    return found;
  }

  /** Records of these kinds that went away, or shrank, ever. */
  losses(): string[] {
    return this.changes
      .filter((c) => c.kind !== 'Import' && c.value === undefined)
      .map((c) => `${c.kind} ${c.key}`);
  }
}

function put<T>(map: Map<string, T>, key: string, value: T | undefined): void {
  if (value === undefined) map.delete(key);
  else map.set(key, value);
}

const addresses = (count: number, net = 1) =>
  Array.from({ length: count }, (_, i) => `10.${net}.${i >> 8}.${i & 255}`);

test('a cluster cannot publish under another name, and its neighbours do not notice', async () => {
  const hub = newHub('east', 'west', 'north');
  new Publisher(identity('west')).export(store(['10.1.0.1'])).link(hub);
  new Publisher(identity('north')).export().link(hub);
  const spoof = new Publisher(identity('east'), { as: 'west', epoch: 9e12 })
    .export(store(['6.6.6.6']))
    .link(hub);
  await net.settle();
  clock.advance(15_000);
  const north = new Consumer(identity('north'), storePort).link(hub);
  await net.settle();
  expect(north.get()).toEqual({ west: ['10.1.0.1'] });
  expect(spoof.refused.length).toBeGreaterThanOrEqual(3);
  expect(await hub.refused('cluster')).toBeGreaterThanOrEqual(3);
  expect(JSON.stringify(north.changes)).not.toContain('6.6.6.6');
});

test('a resource outside the namespaces of its certificate is refused, the others count', async () => {
  const hub = newHub('east', 'west');
  const west = new Publisher(identity('west', { namespaces: ['shop'] }))
    .export(store(['10.1.0.1']), store(['10.1.0.2'], { namespace: 'bank' }))
    .link(hub);
  new Publisher(identity('east')).export().link(hub);
  await net.settle();
  const east = new Consumer(identity('east'), storePort, 'bank/store/tcp-80').link(hub);
  await net.settle();
  expect(east.get()).toEqual({ west: ['10.1.0.1'] });
  expect(east.get('bank/store/tcp-80')).toEqual({});
  expect([...east.imports.values()]).toEqual([true, true]);
  expect(new Set(west.refused.map((n) => n.split('/v1/')[1]))).toEqual(new Set(['bank/store/tcp-80/west']));
  expect(await hub.refused('namespace')).toBe(2);
});

test('X6 what is not exported to a cluster never appears on its wire', async () => {
  const hub = newHub('east', 'west', 'north');
  const west = new Publisher(identity('west'))
    .export(store(['10.1.0.1'], { to: [{ names: ['north'] }] }), store(['10.1.0.2'], { composite: 'open' }))
    .link(hub);
  new Publisher(identity('east')).export().link(hub);
  new Publisher(identity('north')).export().link(hub);
  await net.settle();
  const east = new Consumer(identity('east'), storePort, 'shop/open/tcp-80').link(hub);
  const north = new Consumer(identity('north'), storePort).link(hub);
  await net.settle();
  expect(north.get()).toEqual({ west: ['10.1.0.1'] });
  expect(east.get()).toEqual({});
  expect(east.imports.get(storePort)).toBe(true);
  const seen = () => Buffer.concat(east.bytes).toString('latin1');
  expect(seen()).not.toContain('/store/tcp-80/west');
  expect(seen()).not.toContain('10.1.0.1');
  expect(JSON.stringify(await hub.wire(identity('east')))).not.toContain('/store/');
  // Nor does the policy itself, or a cluster that offers nothing.
  expect(seen()).not.toContain('north');
  west.export(store(['10.1.0.1'], { to: [{ names: ['north'] }] }));
  await net.settle();
  expect(east.get('shop/open/tcp-80')).toEqual({});
  expect(east.origins.size).toBe(0);
  expect(north.origins.get('west')?.state).toBe('Synced');
});

test('a narrower export policy takes away at once, a wider one gives', async () => {
  const hub = newHub('east', 'west');
  const east = identity('east', { labels: { env: 'test' } });
  const west = new Publisher(identity('west')).export(store(['10.1.0.1'])).link(hub);
  new Publisher(east).export().link(hub);
  await net.settle();
  const consumer = new Consumer(east, storePort).link(hub);
  await net.settle();
  expect(consumer.get()).toEqual({ west: ['10.1.0.1'] });
  west.export(store(['10.1.0.1'], { to: [{ matchLabels: { env: 'prod' } }] }));
  await net.settle();
  expect(consumer.get()).toEqual({});
  west.export(store(['10.1.0.1'], { to: [{ matchLabels: { env: 'test' } }] }));
  await net.settle();
  expect(consumer.get()).toEqual({ west: ['10.1.0.1'] });
  // Also when the relay learns of it only after a break: same content, another policy.
  west.unlink();
  west.export(store(['10.1.0.1'], { to: [{ names: ['north'] }] }));
  await net.settle();
  expect(consumer.get()).toEqual({ west: ['10.1.0.1'] });
  west.link(hub);
  await net.settle();
  expect(consumer.get()).toEqual({});
});

test('P6 a cluster that leaves the list of members takes what it gave; back on it, exactly its current set', async () => {
  const hub = newHub('east', 'west');
  const west = new Publisher(identity('west')).export(store(['10.1.0.1', '10.1.0.2'])).link(hub);
  new Publisher(identity('east')).export().link(hub);
  await net.settle();
  const east = new Consumer(identity('east'), storePort).link(hub);
  await net.settle();
  expect(east.get()).toEqual({ west: ['10.1.0.1', '10.1.0.2'] });
  hub.members('east');
  await net.settle();
  expect(east.get()).toEqual({});
  expect(east.origins.size).toBe(0);
  expect(west.ended).toMatchObject({ code: 'E_PEER_IDENTITY' });
  expect(() => west.link(hub)).toThrow(/west is not on the list of members/);
  west.export(store(['10.1.0.2', '10.1.0.9']));
  hub.members('east', 'west');
  await net.settle();
  expect(east.get()).toEqual({});
  west.link(hub);
  await net.settle();
  expect(east.get()).toEqual({ west: ['10.1.0.2', '10.1.0.9'] });
  expect(east.origins.get('west')?.state).toBe('Synced');
});

test('P6 a consumer that was away when a cluster left learns it when it is back', async () => {
  const hub = newHub('east', 'west');
  new Publisher(identity('west')).export(store(['10.1.0.1'])).link(hub);
  new Publisher(identity('east')).export().link(hub);
  await net.settle();
  const east = new Consumer(identity('east'), storePort).link(hub);
  await net.settle();
  east.unlink();
  hub.members('east');
  await net.settle();
  expect(east.get()).toEqual({ west: ['10.1.0.1'] });
  expect(east.origins.get('west')?.state).toBe('Stale');
  east.link(hub);
  await net.settle();
  expect(east.get()).toEqual({});
  expect(east.origins.size).toBe(0);
});

test('D2 a controller that is away makes its cluster Stale after 6 s, and takes nothing', async () => {
  const hub = newHub('east', 'west');
  const west = new Publisher(identity('west')).export(store(['10.1.0.1'])).link(hub);
  new Publisher(identity('east')).export().link(hub);
  await net.settle();
  const east = new Consumer(identity('east'), storePort).link(hub);
  await net.settle();
  const beat = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 1_000) {
      clock.advance(1_000);
      await net.settle();
    }
  };
  await beat(20_000);
  expect(east.origins.get('west')?.state).toBe('Synced');
  west.stop();
  await beat(5_000);
  expect(east.origins.get('west')?.state).toBe('Synced');
  const before = clock.now();
  await beat(3_000);
  const stale = east.origins.get('west');
  expect(stale?.state).toBe('Stale');
  expect(stale?.staleSince).toBeGreaterThanOrEqual(before - 5_000);
  await beat(60_000);
  expect(east.origins.get('west')).toEqual(stale);
  expect(east.get()).toEqual({ west: ['10.1.0.1'] });
  expect(east.losses()).toEqual([]);

  const again = new Publisher(identity('west'));
  again.link(hub);
  await beat(10_000);
  expect(east.origins.get('west')?.state).toBe('Stale');
  again.export(store(['10.1.0.1']));
  await beat(1_000);
  expect(east.origins.get('west')).toMatchObject({ state: 'Synced', staleSince: 0 });
  expect(east.losses()).toEqual([]);
});

test('D2 a relay that is away makes every cluster Stale at once, and takes nothing', async () => {
  const hub = newHub('east', 'west');
  const west = new Publisher(identity('west')).export(store(['10.1.0.1'])).link(hub);
  const eastPublisher = new Publisher(identity('east')).export().link(hub);
  await net.settle();
  const east = new Consumer(identity('east'), storePort).link(hub);
  await net.settle();
  east.unlink();
  expect(east.origins.get('west')).toMatchObject({ state: 'Stale', staleSince: clock.now() });

  // A relay that starts knows nothing: it tells nothing until its members were heard.
  const next = newHub('east', 'west');
  east.link(next);
  eastPublisher.link(next);
  await net.settle();
  expect(next.hub.waitingFor).toBe('waiting for members west');
  expect(east.losses()).toEqual([]);
  west.link(next);
  await net.settle();
  expect(east.origins.get('west')?.state).toBe('Synced');
  expect(east.losses()).toEqual([]);
  expect(east.get()).toEqual({ west: ['10.1.0.1'] });
});

test('D2 a relay that starts waits for a member that does not come, then answers without taking what it gave', async () => {
  const hub = newHub('east', 'west', 'north');
  new Publisher(identity('west')).export(store(['10.1.0.1'])).link(hub);
  const north = new Publisher(identity('north')).export(store(['10.2.0.1'])).link(hub);
  new Publisher(identity('east')).export().link(hub);
  await net.settle();
  const east = new Consumer(identity('east'), storePort).link(hub);
  await net.settle();
  expect(east.get()).toEqual({ north: ['10.2.0.1'], west: ['10.1.0.1'] });
  east.unlink();

  const next = newHub('east', 'west', 'north');
  north.export(store(['10.2.0.2'])).link(next);
  new Publisher(identity('east')).export().link(next);
  east.link(next);
  const fresh = new Consumer(identity('east'), storePort, 'shop/none/tcp-80').link(next);
  await net.settle();
  expect(fresh.imports.get(storePort)).toBe(false);
  expect(east.get()).toEqual({ north: ['10.2.0.1'], west: ['10.1.0.1'] });
  clock.advance(15_000);
  await net.settle();
  // The member that did not come blocks nobody, and who had its endpoints keeps them.
  expect(fresh.get()).toEqual({ north: ['10.2.0.2'] });
  expect([...fresh.imports.values()]).toEqual([true, true]);
  expect(east.get()).toEqual({ north: ['10.2.0.2'], west: ['10.1.0.1'] });
  expect(east.origins.get('west')?.state).toBe('Stale');
  // It comes with less: only now does what it gave go.
  new Publisher(identity('west')).export().link(next);
  await net.settle();
  expect(east.get()).toEqual({ north: ['10.2.0.2'] });
  expect(east.origins.size).toBe(1);
});

test('a restarted controller never shrinks what others see', async () => {
  const hub = newHub('east', 'west');
  const first = new Publisher(identity('west'), { epoch: 1 })
    .export(store(addresses(350)), store(['10.9.0.1'], { composite: 'cart' }))
    .link(hub);
  new Publisher(identity('east')).export().link(hub);
  await net.settle();
  const east = new Consumer(identity('east'), storePort, 'shop/cart/tcp-80').link(hub);
  await net.settle();
  first.stop();
  // It is linked before it has read its objects: it tells nothing.
  const second = new Publisher(identity('west'), { epoch: 2 }).link(hub);
  await net.settle();
  expect(east.get().west).toHaveLength(350);
  // What it tells counts when all of it is there.
  second.export(store([...addresses(349), '10.1.200.1']));
  await net.settle();
  const sizes = east.changes.flatMap((c) =>
    c.kind === 'Contribution' && c.key.startsWith(storePort) ? [c.value?.endpoints.length] : [],
  );
  expect(Math.min(...sizes.map((s) => s ?? 0))).toBeGreaterThanOrEqual(349);
  expect(east.get().west).toHaveLength(350);
  expect(east.get('shop/cart/tcp-80')).toEqual({});
});

test('what a member tells before it has told everything is held back over a break', async () => {
  const hub = newHub('east', 'west');
  new Publisher(identity('west'), { epoch: 1 }).export(store(['10.1.0.1'])).link(hub);
  new Publisher(identity('east')).export().link(hub);
  await net.settle();
  const east = new Consumer(identity('east'), storePort).link(hub);
  await net.settle();
  const published = hub.hub.origins.get('west');
  // A link on which resources come and the marker does not.
  const connection: ClientConnection = { send: () => {}, fail: () => {} };
  hub.hub.link(identity('west'), 2, connection);
  const other = new Publisher(identity('west')).export(store(['10.1.0.7', '10.1.0.8']));
  const { encodeDeltaResponse } = await import('../wire/proto/discovery.ts');
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
  const { encodeDeltaRequest } = await import('../wire/proto/discovery.ts');
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
  await net.settle();
  expect(east.get()).toEqual({ west: ['10.1.0.1'] });
  hub.hub.unlink(published as NonNullable<typeof published>, connection);
  await net.settle();
  expect(east.get()).toEqual({ west: ['10.1.0.1'] });
  other.link(hub);
  await net.settle();
  expect(east.get()).toEqual({ west: ['10.1.0.7', '10.1.0.8'] });
});

test('of two publishers of a cluster the one that started later counts', async () => {
  const hub = newHub('east', 'west');
  const old = new Publisher(identity('west'), { epoch: 10 }).export(store(['10.1.0.1'])).link(hub);
  new Publisher(identity('east')).export().link(hub);
  await net.settle();
  const east = new Consumer(identity('east'), storePort).link(hub);
  await net.settle();
  const young = new Publisher(identity('west'), { epoch: 20 }).export(store(['10.1.0.2'])).link(hub);
  await net.settle();
  expect(old.ended?.message).toContain('another publisher of west took over');
  expect(east.get()).toEqual({ west: ['10.1.0.2'] });
  expect(() => old.link(hub)).toThrow(/started later is connected/);
  // The same process dials again before its old connection is noticed to be dead.
  young.link(hub);
  await net.settle();
  expect(east.get()).toEqual({ west: ['10.1.0.2'] });
  // Its clock was set back: nobody else is there, so it counts.
  young.stop();
  const back = new Publisher(identity('west'), { epoch: 5 }).export(store(['10.1.0.3'])).link(hub);
  await net.settle();
  expect(back.ended).toBeUndefined();
  expect(east.get()).toEqual({ west: ['10.1.0.3'] });
});

test('350 endpoints cross the border in shards, and one that changes moves one shard', async () => {
  const hub = newHub('east', 'west');
  const west = new Publisher(identity('west')).export(store(addresses(350))).link(hub);
  new Publisher(identity('east')).export().link(hub);
  await net.settle();
  const east = new Consumer(identity('east'), storePort).link(hub);
  await net.settle();
  expect(east.get().west).toEqual(addresses(350).sort());
  expect(east.changes.filter((c) => c.kind === 'Contribution')).toHaveLength(1);
  const shards = [...hub.hub.log.entries(typeUrls.assignment)].map((e) => e.name.split('/').at(-1));
  expect(shards.length).toBeGreaterThanOrEqual(4);
  for (const shard of shards) expect(shard).toMatch(/^west\.[01]+$/);

  east.bytes.length = 0;
  const endpoints = addresses(350).map((a, i) => endpoint(a, i === 77 ? { health: 'Draining' } : {}));
  west.export(store(addresses(350), { endpoints, ready: 349 }));
  await net.settle();
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
  await net.settle();
  west.export(store(addresses(350)));
  await net.settle();
  expect(Math.min(...counts())).toBe(60);
  expect(east.get().west).toHaveLength(350);
});

test('a contribution without endpoints is told, and is not the same as none', async () => {
  const hub = newHub('east', 'west');
  const west = new Publisher(identity('west')).export(store([], { selected: 2 })).link(hub);
  new Publisher(identity('east')).export().link(hub);
  await net.settle();
  const east = new Consumer(identity('east'), storePort).link(hub);
  await net.settle();
  expect(east.contributions.get(`${storePort}/west`)).toMatchObject({ ready: 0, selected: 2, endpoints: [] });
  west.export();
  await net.settle();
  expect(east.contributions.size).toBe(0);
});

test('a peer over its limits keeps what it has, and nobody else is touched', async () => {
  const hub = newHub('east', 'west', 'north');
  const many = Array.from({ length: 60 }, (_, i) => store(['10.1.0.1'], { composite: `s${i}` }));
  const west = new Publisher(identity('west')).export(store(['10.1.0.1']), ...many).link(hub);
  new Publisher(identity('north')).export(store(['10.2.0.1'])).link(hub);
  new Publisher(identity('east')).export().link(hub);
  await net.settle();
  const east = new Consumer(identity('east'), storePort).link(hub);
  await net.settle();
  expect(east.get()).toMatchObject({ north: ['10.2.0.1'] });
  expect(west.refused).toHaveLength(2 * 61 - 50);
  expect(await hub.refused('limit')).toBe(2 * 61 - 50);
  expect(east.origins.get('west')?.state).toBe('Synced');
});

test('an endpoint that no traffic may go to is refused, and what was there before stays', async () => {
  const hub = newHub('east', 'west');
  const west = new Publisher(identity('west')).export(store(['10.1.0.1'])).link(hub);
  new Publisher(identity('east')).export().link(hub);
  await net.settle();
  const east = new Consumer(identity('east'), storePort).link(hub);
  await net.settle();
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
    await net.settle();
    expect(east.get(), bad).toEqual({ west: ['10.1.0.1'] });
  }
  expect(await hub.refused('content')).toBe(7);
  west.export(store(['10.1.0.5']));
  await net.settle();
  expect(east.get()).toEqual({ west: ['10.1.0.5'] });
});

test('a composite that a bad part leaves incomplete does not hold up its neighbours', async () => {
  const hub = newHub('east', 'west', 'north');
  const endpoints = addresses(150).map((a, i) => endpoint(a, i === 3 ? { addresses: ['127.0.0.1'] } : {}));
  new Publisher(identity('west')).export(store(addresses(150), { endpoints })).link(hub);
  new Publisher(identity('north')).export(store(['10.2.0.1'])).link(hub);
  new Publisher(identity('east')).export().link(hub);
  await net.settle();
  const east = new Consumer(identity('east'), storePort).link(hub);
  await net.settle();
  expect(east.imports.get(storePort)).toBe(true);
  expect(east.get().north).toEqual(['10.2.0.1']);
  expect(east.get().west?.length).toBeGreaterThan(0);
  expect(east.get().west).not.toContain('127.0.0.1');
});

test('imports follow what is asked for', async () => {
  const hub = newHub('east', 'west');
  new Publisher(identity('west'))
    .export(
      store(['10.1.0.1']),
      store(['10.1.0.2'], { composite: 'cart' }),
      store(['10.1.0.3'], { port: 443 }),
    )
    .link(hub);
  new Publisher(identity('east')).export().link(hub);
  await net.settle();
  const east = new Consumer(identity('east'), storePort).link(hub);
  await net.settle();
  expect([...east.contributions.keys()]).toEqual([`${storePort}/west`]);
  east.source.setImports(new Set([storePort, 'shop/cart/tcp-80']));
  expect(east.imports.get('shop/cart/tcp-80')).toBe(false);
  await net.settle();
  expect(east.get('shop/cart/tcp-80')).toEqual({ west: ['10.1.0.2'] });
  expect(east.imports.get('shop/cart/tcp-80')).toBe(true);
  east.source.setImports(new Set(['shop/cart/tcp-80']));
  await net.settle();
  expect([...east.contributions.keys()]).toEqual(['shop/cart/tcp-80/west']);
  expect([...east.imports.keys()]).toEqual(['shop/cart/tcp-80']);
  east.source.setImports(new Set(['shop/cart/tcp-80', storePort]));
  await net.settle();
  expect(east.get()).toEqual({ west: ['10.1.0.1'] });
  expect(east.imports.get(storePort)).toBe(true);
});

test('labels, region and network of a cluster are those of its certificate, whatever it says', async () => {
  const hub = newHub('east', 'west');
  const west = new Publisher(identity('west', { labels: { env: 'prod' }, region: 'us', network: 'n2' }));
  west.export(store(['10.1.0.1'])).link(hub);
  new Publisher(identity('east')).export().link(hub);
  await net.settle();
  const { codec } = await import('../wire/proto/registry.ts');
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
  await net.settle();
  const east = new Consumer(identity('east'), storePort).link(hub);
  await net.settle();
  expect(east.origins.get('west')).toMatchObject({ labels: { env: 'prod' }, region: 'us', network: 'n2' });
  const [status] = (await hub.wire(identity('east'))).filter((r) => r.name === name);
  // A field that this version does not know goes on as it came.
  expect(Buffer.from(status?.body ?? []).includes(later)).toBe(true);
});

test('bodies go on byte for byte, the export policy does not', async () => {
  const hub = newHub('east', 'west');
  const west = new Publisher(identity('west'))
    .export(store(['10.1.0.1'], { to: [{}, { names: ['north'] }] }))
    .link(hub);
  new Publisher(identity('east')).export().link(hub);
  const [entry] = west.state.log.entries(typeUrls.assignment);
  const { decodeLinkFacts, encodeLinkFacts } = await import('../model/relay/link-metadata.ts');
  const name = entry?.name ?? '';
  const later = Buffer.from([0xfa, 0x3e, 0x03, 1, 2, 3]);
  const [before] = decodeDeltaResponse(entry?.fragment as Buffer).resources;
  const body = Buffer.concat([before?.body ?? Buffer.alloc(0), later]);
  west.state.log.set(typeUrls.assignment, {
    name,
    body,
    metadata: encodeLinkFacts({ export: [{}], path: ['eu'], mark: 42 }),
  });
  west.state.log.flush();
  await net.settle();
  const [got] = (await hub.wire(identity('east'))).filter((r) => r.typeUrl === typeUrls.assignment);
  expect(Buffer.from(got?.body ?? []).equals(body)).toBe(true);
  expect(decodeLinkFacts(got?.metadata)).toEqual({ path: ['eu', 'hub'], mark: 42 });
});

test('a resource that comes round, or is of another type than its name says, is refused', async () => {
  const hub = newHub('west');
  const west = new Publisher(identity('west')).export(store(['10.1.0.1'])).link(hub);
  await net.settle();
  const { encodeLinkFacts } = await import('../model/relay/link-metadata.ts');
  const [entry] = west.state.log.entries(typeUrls.assignment);
  const [resource] = decodeDeltaResponse(entry?.fragment as Buffer).resources;
  const body = resource?.body ?? Buffer.alloc(0);
  const name = resource?.name ?? '';
  const metadata = encodeLinkFacts({ export: [{}], path: ['hub'], mark: 0 });
  west.state.log.set(typeUrls.assignment, { name, body, version: 'again', metadata });
  west.state.log.set(typeUrls.cluster, { name, body });
  west.state.log.set(typeUrls.originStatus, { name, body });
  west.state.log.set(typeUrls.cluster, { name: 'composite/shop/store/tcp-80', body });
  west.state.log.flush();
  await net.settle();
  expect(await hub.refused('loop')).toBe(1);
  expect(await hub.refused('type')).toBe(2);
  expect(await hub.refused('name')).toBe(1);
  expect([...hub.hub.log.entries(typeUrls.cluster)]).toHaveLength(1);
});

test('a change of one member costs its peers nothing that they had', async () => {
  const hub = newHub('east', 'west');
  const west = new Publisher(identity('west')).export(store(['10.1.0.1'])).link(hub);
  new Publisher(identity('east')).export().link(hub);
  await net.settle();
  const east = new Consumer(identity('east'), storePort).link(hub);
  await net.settle();
  east.unlink();
  await net.settle();
  east.bytes.length = 0;
  east.link(hub);
  await net.settle();
  const sent = east.bytes.flatMap((b) => decodeDeltaResponse(b).resources.map((r) => r.typeUrl));
  expect(sent).toEqual([typeUrls.originStatus]);
  expect(east.get()).toEqual({ west: ['10.1.0.1'] });
  west.stop();
});
