import { type MemberList, Members } from '../../model/relay/members.ts';
import { parseRelayName } from '../../model/relay/names.ts';
import type { Origin } from '../../model/relay/origin.ts';
import { defaultLimits, type PeerLimits } from '../../model/relay/peer-budget.ts';
import type { ResourceLog } from '../../outputs/xds/resource-log.ts';
import type { View } from '../../outputs/xds/view.ts';
import type { Clock } from '../../runtime/clock.ts';
import { AppError } from '../../runtime/errors.ts';
import type { PeerIdentity } from '../../runtime/identity.ts';
import type { Log } from '../../runtime/log.ts';
import type { Metrics } from '../../runtime/metrics.ts';
import { syncedGauge } from '../../runtime/synced-gauge.ts';
import type { OriginChange, RefusedName } from '../../sources/relay/origin-words.ts';
import type { PublishFeed } from '../../sources/relay/publish-feed.ts';
import type { ClientConnection } from '../../sources/xds/delta-client-stream.ts';
import { Feeds, type Parent } from './feeds.ts';
import { OriginTable } from './origin-table.ts';
import { ParentAnswers } from './parent-answers.ts';
import { Refusals } from './refusals.ts';
import { type Asking, childView, consumerView, parentView } from './views.ts';

export interface RelayHubOptions {
  readonly set: string;
  /** Of this relay. */
  readonly name: string;
  /** Relays that it dials. */
  readonly parents?: readonly Parent[];
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly limits?: PeerLimits;
  /** How long who does not come is waited for before globs are answered without it. */
  readonly settleMs?: number;
  /** Streams must look again at what they may see. */
  readonly onRefresh: () => void;
  /** No member any more: its streams must end. */
  readonly onExpelled: (peer: Pick<PeerIdentity, 'cluster' | 'role'>) => void;
}

const defaultSettleMs = 15_000;

/**
 * A relay without its transports: takes what members and relays tell, and keeps the logs that they read, each through
 * a view of its own. What comes from below (from who dials us) goes everywhere; what comes from above (from relays that
 * we dial) goes down only, so it cannot go round between relays that dial each other.
 */
export class RelayHub {
  readonly feeds: Feeds;
  readonly #options: RelayHubOptions;
  readonly #members: Members;
  readonly #answers: ParentAnswers;
  /** For clusters that dial us, relays that dial us, relays that we dial. */
  readonly #tables: Readonly<Record<'clusters' | 'children' | 'parents', OriginTable>>;
  readonly #refused: Refusals;
  readonly #waiting: (() => void)[] = [];
  #cancel: (() => void) | undefined;

  constructor(options: RelayHubOptions) {
    const { set, name: relay, parents = [], clock, metrics, limits = defaultLimits } = options;
    this.#options = options;
    const settleMs = options.settleMs ?? defaultSettleMs;
    this.#members = new Members(settleMs);
    this.feeds = new Feeds({
      set,
      relay,
      limits,
      clock,
      parents,
      onChanges: (changes) => this.#changed(changes),
      onRefused: this.#refusals(),
      onAnswers: () => this.#settle(),
    });
    this.#refused = new Refusals(clock, () => this.feeds.clusters.values());
    this.#answers = new ParentAnswers({ parents: this.feeds.parents, clock, settleMs });
    const table = {
      set,
      relay,
      isAnswered: (way: Origin, port: string) => this.#answers.isAnswered(way, port),
    };
    const absent = (name: string): boolean => this.#members.isAbsent(name, clock.now());
    this.#tables = {
      clusters: new OriginTable({ ...table, isForRelays: false, absent }),
      children: new OriginTable({ ...table, isForRelays: true, absent }),
      parents: new OriginTable({ ...table, isForRelays: true, absent }),
    };
    syncedGauge(metrics, () =>
      this.#members.clusters.map((cluster) => [
        cluster,
        this.feeds.waysTo(cluster).some((way) => way.isLinked && way.isComplete),
      ]),
    );
  }

  /** What clusters read. */
  get log(): ResourceLog {
    return this.#tables.clusters.log;
  }

  /** Every cluster that is a member here, or of a relay that is. Sorted. */
  get members(): readonly string[] {
    return this.#members.clusters;
  }

  /** The way that counts for a cluster. */
  origin(cluster: string): Origin | undefined {
    return this.#tables.clusters.chosen(cluster);
  }

  /** Clusters that somebody has told of. Sorted. */
  get origins(): readonly string[] {
    const { clusters, relays, parents } = this.feeds;
    const feeds = [...clusters.values(), ...relays.values(), ...parents];
    return [...new Set(feeds.flatMap(({ words }) => [...words.origins.keys()]))].sort();
  }

  /** Why consumers are not answered yet; undefined: they are. */
  get waitingFor(): string | undefined {
    if (this.log.isOpen) return undefined;
    const missing = this.members.filter((c) => !this.#members.isComplete(c));
    return missing.length > 0
      ? `waiting for members ${missing.join(', ')}`
      : 'the list of members is not loaded';
  }

  close(): void {
    this.#cancel?.();
    this.#refused.close();
    this.feeds.close();
  }

  /** Replaces the list of members. What one that left gave is removed, explicitly. */
  setMembers(list: MemberList): void {
    const { clock, log, onExpelled, onRefresh, metrics } = this.#options;
    this.#members.update(list, clock.now());
    for (const { name, isRelay } of this.feeds.keepOnly(list)) {
      onExpelled({ cluster: name, role: isRelay ? 'relay' : 'controller' });
      log.info(isRelay ? { relay: name } : { cluster: name }, 'member left; what it gave is removed');
    }
    for (const { name, isRelay } of this.feeds.add(list)) {
      log.info(isRelay ? { relay: name } : { cluster: name }, 'member is expected');
    }
    metrics
      .gauge({ name: 'relay_members', help: 'Clusters on the list of members' })
      .set(this.#members.clusters.length);
    this.#countLinks();
    // What is delegated decides what relays may see.
    onRefresh();
    this.#tables.parents.log.open();
    for (const fn of this.#waiting.splice(0)) fn();
    this.#settle();
  }

  /** What a peer may see; undefined: it is no member. */
  viewFor(peer: PeerIdentity): View | undefined {
    const { clusters, relays } = this.feeds;
    const asking: Asking = {
      asked: (stream, added, gone) => {
        this.#answers.ask(stream, peer, added, gone);
        if (peer.role !== 'relay') this.#refused.ask(stream, peer, added, gone);
        this.#plan();
      },
      ended: (stream) => {
        this.#answers.ended(stream);
        this.#refused.ended(stream);
        this.#plan();
      },
      isAbsent: (_typeUrl, name) => this.#isAbsent(name, peer),
    };
    if (peer.role !== 'relay') {
      if (!clusters.has(peer.cluster)) return undefined;
      return consumerView(peer, this.#tables.clusters, asking);
    }
    if (!relays.has(peer.cluster)) return undefined;
    return childView(peer, this.#tables.children, {
      ...asking,
      self: this.#options.name,
      clusters: () => relays.get(peer.cluster)?.clusters ?? new Set(),
      origin: (cluster) => relays.get(peer.cluster)?.words.origins.get(cluster),
    });
  }

  /** What a relay that we dial may see. */
  parentView(parent: () => string): View & { readonly log: ResourceLog } {
    return parentView(this.#tables.parents, { self: this.#options.name, parent });
  }

  /** Calls `fn` once it is known who is a member. */
  whenListed(fn: () => void): void {
    if (this.#members.isKnown) fn();
    else this.#waiting.push(fn);
  }

  /** A member's publish link begins. Throws E_PEER_IDENTITY or E_XDS_STREAM when it is not taken. */
  link(peer: PeerIdentity, epoch: number, connection: ClientConnection): PublishFeed {
    const feeds = peer.role === 'relay' ? this.feeds.relays : this.feeds.clusters;
    const feed = feeds.get(peer.cluster);
    if (!feed) throw new AppError('E_PEER_IDENTITY', `${peer.cluster} is not on the list of members`);
    feed.opened(peer, epoch, connection);
    this.#countLinks();
    return feed;
  }

  unlink(feed: PublishFeed, connection: ClientConnection): void {
    feed.closed(connection);
    this.#countLinks();
  }

  #changed(changes: readonly OriginChange[]): void {
    const { log } = this.#options;
    let refresh = false;
    let settle = false;
    for (const { origin, steps, isDropped } of changes) {
      const { cluster, relay } = origin;
      const ways = this.feeds.waysTo(cluster);
      const fromBelow = ways.filter((way) => way.isWhole);
      const { clusters, children, parents } = this.#tables;
      refresh = clusters.update(cluster, ways, origin, steps) || refresh;
      refresh = children.update(cluster, ways, origin, steps) || refresh;
      refresh = parents.update(cluster, fromBelow, origin, steps) || refresh;
      const via = relay === '' ? {} : { relay };
      if (isDropped)
        log.info({ cluster, ...via, resources: origin.size }, 'a cluster is not told of any more');
      else if (steps.length > 0) {
        const set = steps.filter((step) => 'set' in step).length;
        log.info({ cluster, ...via, set, removed: steps.length - set }, 'member changed');
      }
      if (!origin.isWhole || !origin.isComplete || this.#members.isComplete(cluster)) continue;
      this.#members.completed(cluster);
      log.info({ cluster, ...via, resources: origin.size }, 'member has told everything');
      settle = true;
    }
    // Looked at again before they go on: a status must not overtake what has become visible with it.
    if (refresh) {
      this.#refused.changed();
      this.#options.onRefresh();
    }
    for (const table of Object.values(this.#tables)) table.log.flush();
    if (!settle) return;
    this.#countLinks();
    this.#settle();
  }

  /** Is it a fact for `peer` that `name`, which is not there, does not exist? */
  #isAbsent(name: string, peer: PeerIdentity): boolean {
    if (!this.#members.isAbsent(name, this.#options.clock.now())) return false;
    if (name.endsWith('/*')) return this.#answers.areComplete(name, peer);
    const cluster = parseRelayName(name)?.cluster;
    if (cluster === undefined || this.#members.has(cluster)) return true;
    return this.#answers.areWithout(name, peer);
  }

  /** Opens the logs once every member was heard or waited for, and tells what is absent for certain. */
  #settle(): void {
    const { clock, log } = this.#options;
    const now = clock.now();
    this.#answers.expire();
    const { clusters, children, parents } = this.#tables;
    if (!clusters.log.isOpen && this.#members.isSettled(now)) {
      clusters.log.open();
      children.log.open();
      log.info({ members: this.members.length }, 'consumers are answered');
    }
    for (const table of [clusters, children]) table.answered();
    for (const table of [clusters, children, parents]) {
      table.log.flush();
      table.log.settle();
    }
    this.#plan();
  }

  /** One timer, for the next wait that ends. */
  #plan(): void {
    const { clock } = this.#options;
    const now = clock.now();
    const { nextDeadline } = this.#members;
    let next = Number.POSITIVE_INFINITY;
    for (const at of [nextDeadline ?? now, ...this.#answers.deadlines]) {
      if (at > now) next = Math.min(next, at);
    }
    this.#cancel?.();
    if (next < Number.POSITIVE_INFINITY) this.#cancel = clock.after(next - now, () => this.#settle());
  }

  #refusals(): (refused: readonly RefusedName[]) => void {
    const { metrics, log } = this.#options;
    const total = metrics.counter({
      name: 'relay_refused_total',
      help: 'Resources of peers that were refused',
      labels: ['reason'],
    });
    return (refused) => {
      for (const { reason } of refused) total.inc({ reason });
      const first = refused[0];
      const fields = { count: refused.length, reason: first?.reason, resource: first?.name };
      log.warn(fields, `resources refused, the first: ${first?.message}`);
    };
  }

  #countLinks(): void {
    this.#options.metrics
      .gauge({ name: 'relay_links', help: 'Links between clusters that are up' })
      .set(this.feeds.linked + this.feeds.parents.filter((parent) => parent.isUp).length);
  }
}
