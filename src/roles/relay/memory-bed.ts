import type { Export } from '../../model/compiled.ts';
import type { MemberList } from '../../model/relay/members.ts';
import { decodeRelayNode, type RefusedSubscriber } from '../../model/relay/refused-subscribers.ts';
import { PublishedState } from '../../outputs/relay/published-state.ts';
import { DeltaServerStream } from '../../outputs/xds/delta-server-stream.ts';
import type { View } from '../../outputs/xds/view.ts';
import { ManualClock } from '../../runtime/clock.ts';
import { AppError } from '../../runtime/errors.ts';
import type { PeerIdentity } from '../../runtime/identity.ts';
import { silentLog } from '../../runtime/log.ts';
import { Metrics } from '../../runtime/metrics.ts';
import { RelaySource, type RelaySourceOptions } from '../../sources/relay/relay-source.ts';
import type { ClientConnection } from '../../sources/xds/delta-client-stream.ts';
import { MemoryNetwork } from './memory-network.ts';
import { TestHub } from './memory-relay.ts';
import { Records, storePort } from './test-bed.ts';

export const identity = (cluster: string, over: Partial<PeerIdentity> = {}): PeerIdentity => ({
  set: 'demo',
  cluster,
  role: 'controller',
  labels: {},
  namespaces: ['*'],
  region: `region-${cluster}`,
  network: 'n1',
  ...over,
});
export const everything: View = { key: 'all', stable: true, sees: () => true };
/** `10.<net>.…`, in order. */
export const addresses = (count: number, net = 1): string[] =>
  Array.from({ length: count }, (_, i) => `10.${net}.${i >> 8}.${i & 255}`);

/** For tests: relays, publishers and consumers without transports, on a clock that stands still. */
export class RelayMemoryBed {
  readonly clock = new ManualClock(1_000_000);
  readonly net: MemoryNetwork;
  /** Of each consumer made from here on. */
  relays: readonly string[] = ['hub:1'];

  /** `pick`: see MemoryNetwork. */
  constructor(pick?: (channels: number) => number) {
    this.net = new MemoryNetwork(pick);
  }

  hub(...members: string[]): TestHub {
    const hub = new TestHub(this.clock);
    if (members.length > 0) hub.members(...members);
    return hub;
  }

  /** `list`: its clusters, and the relays that dial it with theirs. */
  relay(
    name: string,
    list: { clusters?: readonly string[]; relays?: Readonly<Record<string, readonly string[]>> },
    parents: readonly string[] = [],
  ): TestHub {
    return new TestHub(this.clock, { name, parents, list: memberList(list) });
  }

  publisher(peer: PeerIdentity, options: { epoch?: number; as?: string } = {}): Publisher {
    return new Publisher(this, peer, options);
  }

  consumer(peer: PeerIdentity, ...ports: string[]): Consumer {
    return new Consumer(this, peer, ports);
  }

  /** `ports` undefined: what it imports is not known yet. */
  restarted(peer: PeerIdentity, earlier: Earlier, ports?: readonly string[]): Consumer {
    return new Consumer(this, peer, ports, earlier);
  }

  /** West exports, east imports the store; both are members of the hub, linked and settled. */
  async pair(...exports: Export[]) {
    const hub = this.hub('east', 'west');
    const west = this.publisher(identity('west'))
      .export(...exports)
      .link(hub);
    const eastPublisher = this.publisher(identity('east')).export().link(hub);
    await this.settle();
    const east = this.consumer(identity('east'), storePort).link(hub);
    await this.settle();
    return { hub, west, east, eastPublisher };
  }

  /** Delivers until nothing is under way, or `most` messages. */
  settle(most?: number): Promise<void> {
    return this.net.settle(most);
  }
}

export function memberList(list: {
  readonly clusters?: readonly string[];
  readonly relays?: Readonly<Record<string, readonly string[]>>;
}): MemberList {
  const { clusters = [], relays = {} } = list;
  const delegated = Object.entries(relays).map(([relay, of]) => [relay, new Set(of)] as const);
  return { clusters: new Set(clusters), relays: new Map(delegated) };
}

type Earlier = NonNullable<RelaySourceOptions['earlier']>;

/** A member's publishing end. */
export class Publisher {
  readonly state: PublishedState;
  readonly peer: PeerIdentity;
  readonly epoch: number;
  readonly refused: string[] = [];
  /** Who asks for what it does not offer them, as the relay told last. */
  asked: readonly RefusedSubscriber[] = [];
  ended: AppError | undefined;
  readonly #bed: RelayMemoryBed;
  #close: (() => void) | undefined;
  #isLinked = false;

  constructor(bed: RelayMemoryBed, peer: PeerIdentity, options: { epoch?: number; as?: string }) {
    const { clock } = bed;
    this.#bed = bed;
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
    const { net } = this.#bed;
    this.#close?.();
    let open = true;
    const [toHub, toUs] = [{}, {}];
    const stream = new DeltaServerStream({
      log: this.state.log,
      view: everything,
      send: (m) => {
        net.later(toHub, () => open && void feed.receive(connection, m));
        return true;
      },
      fail: () => {},
      observer: {
        node: (node) => {
          this.asked = decodeRelayNode(node);
        },
        answered: (_t, _told, refused) => void this.refused.push(...refused.map((r) => r.name)),
      },
    });
    const end = (): void => {
      if (!open) return;
      open = false;
      this.#isLinked = false;
      stream.close();
    };
    const connection: ClientConnection = {
      send: (m) => net.later(toUs, () => open && stream.receive(m)),
      fail: (error) => {
        this.ended = error;
        end();
      },
    };
    const feed = hub.link(this.peer, this.epoch, connection);
    this.#isLinked = true;
    this.#close = () => {
      end();
      hub.unlink(feed, connection);
    };
    return this;
  }

  get isLinked(): boolean {
    return this.#isLinked;
  }

  unlink(): void {
    this.#close?.();
    this.#isLinked = false;
  }

  stop(): void {
    this.unlink();
    this.state.close();
  }
}

/** A member's subscribing end, and the records it got. */
export class Consumer extends Records {
  readonly peer: PeerIdentity;
  readonly source: RelaySource;
  readonly metrics = new Metrics();
  readonly bytes: Buffer[] = [];
  /** Contributions that were told as news, with their marks. */
  readonly news: [key: string, mark: number][] = [];
  readonly #bed: RelayMemoryBed;
  readonly #close: (() => void)[] = [];
  readonly #linked = new Set<number>();

  constructor(
    bed: RelayMemoryBed,
    peer: PeerIdentity,
    ports: readonly string[] | undefined,
    earlier: Earlier = { contactUntil: 0, isLost: false },
  ) {
    super();
    this.#bed = bed;
    this.peer = peer;
    this.source = new RelaySource({
      set: 'demo',
      cluster: peer.cluster,
      relays: bed.relays,
      clock: bed.clock,
      log: silentLog,
      metrics: this.metrics,
      earlier,
      onChanges: (changes, marks) => {
        this.take(changes);
        for (const [key, mark] of marks) this.news.push([key, mark]);
      },
    });
    if (ports) this.source.setImports(new Set(ports));
  }

  /** `at`: which of its relays this is. */
  link(to: TestHub, at = 0): this {
    const { net } = this.#bed;
    this.#close[at]?.();
    let open = true;
    const [toHub, toUs] = [{}, {}];
    const link = this.source.links[at];
    const view = to.hub.viewFor(this.peer) as View;
    const stream = new DeltaServerStream({
      log: view.log ?? to.hub.log,
      view,
      send: (m) => {
        this.bytes.push(m);
        net.later(toUs, () => open && link?.receive(m));
        return true;
      },
      fail: () => {},
    });
    to.consumers.set(stream, { ...this.peer, end: () => this.unlink(at) });
    link?.opened({ send: (m) => net.later(toHub, () => open && stream.receive(m)), fail: () => {} });
    this.#linked.add(at);
    this.#close[at] = () => {
      if (!open) return;
      open = false;
      this.#linked.delete(at);
      to.consumers.delete(stream);
      stream.close();
      link?.closed(new AppError('E_XDS_STREAM', 'cut'));
    };
    return this;
  }

  isLinked(at: number): boolean {
    return this.#linked.has(at);
  }

  unlink(at = 0): void {
    this.#close[at]?.();
  }

  get(port = storePort): Record<string, readonly string[]> {
    return this.endpoints(port);
  }
}
