import type { MemberList } from '../../model/relay/members.ts';
import { DeltaServerStream } from '../../outputs/xds/delta-server-stream.ts';
import type { View } from '../../outputs/xds/view.ts';
import type { Clock } from '../../runtime/clock.ts';
import { AppError } from '../../runtime/errors.ts';
import type { PeerIdentity } from '../../runtime/identity.ts';
import { silentLog } from '../../runtime/log.ts';
import { Metrics } from '../../runtime/metrics.ts';
import type { PublishFeed } from '../../sources/relay/publish-feed.ts';
import type { ClientConnection } from '../../sources/xds/delta-client-stream.ts';
import { type DeltaResource, decodeDeltaResponse, encodeDeltaRequest } from '../../wire/proto/discovery.ts';
import { typeUrls } from '../../wire/proto/type-urls.ts';
import { RelayHub } from './hub.ts';
import type { MemoryNetwork } from './memory-network.ts';

interface Reader extends Pick<PeerIdentity, 'cluster' | 'role'> {
  readonly end: () => void;
}

/** For tests: a relay without transports, and who reads it. */
export class TestHub {
  readonly name: string;
  readonly metrics = new Metrics();
  /** Who reads us, and how its link ends. */
  readonly consumers = new Map<DeltaServerStream, Reader>();
  readonly hub: RelayHub;
  /** Everything that was sent to relays below. */
  readonly bytesToRelays: Buffer[] = [];
  /** Everything that relays above were asked. */
  readonly bytesToParents: Buffer[] = [];
  readonly #clock: Clock;
  readonly #parents: readonly string[];
  /** Parent → how to end the link. */
  readonly #links = new Map<string, () => void>();

  constructor(clock: Clock, options: { name?: string; parents?: readonly string[]; list?: MemberList } = {}) {
    const { name = 'hub', parents = [], list } = options;
    this.name = name;
    this.#clock = clock;
    this.#parents = parents;
    this.hub = new RelayHub({
      set: 'demo',
      name,
      parents: parents.map((parent) => ({ target: `${parent}:1`, name: () => parent, onState: () => {} })),
      clock,
      log: silentLog,
      metrics: this.metrics,
      limits: { names: 50, bytes: 100_000, endpointsPerShard: 200, rate: 1_000, burst: 10_000 },
      onRefresh: () => {
        for (const stream of this.consumers.keys()) stream.refresh();
      },
      onExpelled: ({ cluster, role }) => {
        for (const reader of [...this.consumers.values()]) {
          if (reader.cluster === cluster && reader.role === role) reader.end();
        }
      },
    });
    if (list) this.hub.setMembers(list);
  }

  members(...clusters: string[]): void {
    this.hub.setMembers({ clusters: new Set(clusters), relays: new Map() });
  }

  /** Both directions of a link to a relay that was given as parent. Throws when it is not taken. */
  dial(parent: TestHub, net: MemoryNetwork, identity: PeerIdentity): void {
    this.cut(parent.name);
    const epoch = this.#clock.now();
    let open = true;
    const ends: (() => void)[] = [];
    const cut = (): void => {
      if (!open) return;
      open = false;
      this.#links.delete(parent.name);
      for (const end of ends) end();
    };
    this.#links.set(parent.name, cut);
    const lost = new AppError('E_XDS_STREAM', 'cut');
    const down = this.hub.feeds.parents[this.#parents.indexOf(parent.name)];
    const view = parent.hub.viewFor(identity);
    if (!down || !view) throw new AppError('E_PEER_IDENTITY', `${this.name} is no member of ${parent.name}`);
    const [toParent, toUs] = [{}, {}];
    const subscribed = new DeltaServerStream({
      log: view.log ?? parent.hub.log,
      view,
      send: (m) => {
        parent.bytesToRelays.push(m);
        net.later(toUs, () => open && down.receive(m));
        return true;
      },
      fail: cut,
    });
    parent.consumers.set(subscribed, { cluster: this.name, role: 'relay', end: cut });
    ends.push(() => {
      parent.consumers.delete(subscribed);
      subscribed.close();
      down.closed(lost);
    });
    const ask = (message: Buffer): void => {
      this.bytesToParents.push(message);
      net.later(toParent, () => open && subscribed.receive(message));
    };
    down.opened({ send: ask, fail: cut });

    const upView = this.hub.parentView(() => parent.name);
    const published = new DeltaServerStream({
      log: upView.log,
      view: upView,
      send: (m) => {
        net.later(toParent, () => open && void feed.receive(connection, m));
        return true;
      },
      fail: cut,
    });
    this.consumers.set(published, { cluster: parent.name, role: 'relay', end: cut });
    const connection: ClientConnection = {
      send: (m) => net.later(toUs, () => open && published.receive(m)),
      fail: cut,
    };
    ends.push(() => {
      this.consumers.delete(published);
      published.close();
    });
    let feed: PublishFeed;
    try {
      feed = parent.hub.link(identity, epoch, connection);
    } catch (error) {
      cut();
      throw error;
    }
    ends.push(() => parent.hub.unlink(feed, connection));
  }

  isDialling(parent: string): boolean {
    return this.#links.has(parent);
  }

  cut(parent: string): void {
    this.#links.get(parent)?.();
  }

  async refused(reason: string): Promise<number> {
    const metric = await this.metrics.registry.getSingleMetric('causeway_relay_refused_total')?.get();
    return metric?.values.find((v) => v.labels.reason === reason)?.value ?? 0;
  }

  /** Everything a consumer could ever get: a stream with wildcards on all types. */
  wire(peer: PeerIdentity): DeltaResource[] {
    const got: DeltaResource[] = [];
    const view = this.hub.viewFor(peer) as View;
    const stream = new DeltaServerStream({
      log: view.log ?? this.hub.log,
      view,
      send: (m) => {
        got.push(...decodeDeltaResponse(m).resources);
        return true;
      },
      fail: () => {},
    });
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
