import type { Peer } from '../../model/relay/authority.ts';
import { type ExportTarget, isOfferedTo } from '../../model/relay/export-policy.ts';
import { encodeLinkFacts } from '../../model/relay/link-metadata.ts';
import { Members } from '../../model/relay/members.ts';
import { formatOriginName } from '../../model/relay/names.ts';
import type { PublishedResource, Step } from '../../model/relay/origin.ts';
import { withIdentity } from '../../model/relay/origin-status.ts';
import { defaultLimits, type PeerLimits } from '../../model/relay/peer-budget.ts';
import type { Entry } from '../../outputs/xds/log-entry.ts';
import { contentVersion, ResourceLog } from '../../outputs/xds/resource-log.ts';
import type { View } from '../../outputs/xds/view.ts';
import type { Clock } from '../../runtime/clock.ts';
import { AppError } from '../../runtime/errors.ts';
import type { PeerIdentity } from '../../runtime/identity.ts';
import type { Log } from '../../runtime/log.ts';
import type { Metrics } from '../../runtime/metrics.ts';
import { syncedGauge } from '../../runtime/synced-gauge.ts';
import { PublishedOrigin } from '../../sources/relay/published-origin.ts';
import type { ClientConnection } from '../../sources/xds/delta-client-stream.ts';
import { typeUrls } from '../../wire/proto/type-urls.ts';

export interface RelayHubOptions {
  readonly set: string;
  /** Of this relay. */
  readonly name: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly limits?: PeerLimits;
  /** How long a member that does not come is waited for before globs are answered without it. */
  readonly settleMs?: number;
  /** Streams to consumers must look again at what they may see. */
  readonly onRefresh: () => void;
  /** No member any more: its streams must end. */
  readonly onExpelled: (cluster: string) => void;
}

/** What views read of an entry. */
interface EntryFacts {
  readonly cluster: string;
  readonly namespace: string;
  readonly to: readonly ExportTarget[];
  /** Of `to`. */
  readonly policy: string;
}

const defaultSettleMs = 15_000;

/**
 * A relay without its transports: takes what members publish, and keeps the log that consumers read, each through
 * a view of its own.
 */
export class RelayHub {
  readonly log: ResourceLog;
  readonly #options: RelayHubOptions;
  readonly #members: Members;
  readonly #origins = new Map<string, PublishedOrigin>();
  #cancel: (() => void) | undefined;

  constructor(options: RelayHubOptions) {
    this.#options = options;
    syncedGauge(options.metrics, () =>
      [...this.#origins].map(([cluster, { isLinked, origin }]) => [cluster, isLinked && origin.isComplete]),
    );
    this.#members = new Members(options.settleMs ?? defaultSettleMs);
    this.log = new ResourceLog({
      absent: (_type, name) => this.#members.isAbsent(name, options.clock.now()),
    });
  }

  get members(): readonly string[] {
    return this.#members.list;
  }

  get origins(): ReadonlyMap<string, PublishedOrigin> {
    return this.#origins;
  }

  /** Why consumers are not answered yet; undefined: they are. */
  get waitingFor(): string | undefined {
    if (this.log.isOpen) return undefined;
    const missing = this.members.filter((c) => !this.#origins.get(c)?.origin.isComplete);
    return missing.length > 0
      ? `waiting for members ${missing.join(', ')}`
      : 'the list of members is not loaded';
  }

  close(): void {
    this.#cancel?.();
  }

  /** Replaces the list of members. What one that left gave is removed, explicitly. */
  setMembers(clusters: ReadonlySet<string>): void {
    const { clock, log, onExpelled, metrics } = this.#options;
    for (const cluster of this.#members.update(clusters, clock.now())) {
      const left = this.#origins.get(cluster);
      this.#origins.delete(cluster);
      left?.end(new AppError('E_PEER_IDENTITY', `${cluster} is not a member any more`));
      for (const { typeUrl, name } of left?.origin.resources ?? []) this.log.remove(typeUrl, name);
      this.log.remove(typeUrls.originStatus, this.#statusName(cluster));
      onExpelled(cluster);
      log.info({ cluster, resources: left?.origin.size ?? 0 }, 'member left; what it gave is removed');
    }
    for (const cluster of clusters) {
      if (this.#origins.has(cluster)) continue;
      this.#origins.set(cluster, this.#newOrigin(cluster));
      log.info({ cluster }, 'member is expected');
    }
    metrics.gauge({ name: 'relay_members', help: 'Clusters on the list of members' }).set(clusters.size);
    this.#countLinks();
    this.log.flush();
    this.#settle();
  }

  /** What a consumer may see; undefined: it is no member. */
  viewFor(consumer: Peer): View | undefined {
    if (!this.#members.has(consumer.cluster)) return undefined;
    return {
      key: `consumer ${consumer.cluster}`,
      stable: false,
      sees: (typeUrl, entry) => this.#sees(consumer, typeUrl, entry),
    };
  }

  /** A member's publish link begins. Throws E_PEER_IDENTITY or E_XDS_STREAM when it is not taken. */
  link(peer: PeerIdentity, epoch: number, connection: ClientConnection): PublishedOrigin {
    const origin = this.#origins.get(peer.cluster);
    if (!origin) throw new AppError('E_PEER_IDENTITY', `${peer.cluster} is not on the list of members`);
    origin.opened(peer, epoch, connection);
    this.#countLinks();
    return origin;
  }

  unlink(origin: PublishedOrigin, connection: ClientConnection): void {
    origin.closed(connection);
    this.#countLinks();
  }

  #newOrigin(cluster: string): PublishedOrigin {
    const { name, limits = defaultLimits, clock, metrics, log } = this.#options;
    const refusedTotal = metrics.counter({
      name: 'relay_refused_total',
      help: 'Resources of peers that were refused',
      labels: ['reason'],
    });
    const origin: PublishedOrigin = new PublishedOrigin({
      cluster,
      relay: name,
      limits,
      clock,
      onSteps: (steps, status) => this.#apply(origin, steps, status),
      onRefused: (refused) => {
        for (const { reason } of refused) refusedTotal.inc({ reason });
        const first = refused[0];
        const fields = { cluster, count: refused.length, reason: first?.reason, resource: first?.name };
        log.warn(fields, `resources refused, the first: ${first?.message}`);
      },
    });
    return origin;
  }

  #apply(published: PublishedOrigin, steps: readonly Step[], status: Uint8Array | undefined): void {
    const { origin } = published;
    if (this.#origins.get(origin.cluster) !== published) return;
    const peer = origin.peer as PeerIdentity;
    let refresh = false;
    for (const step of steps) {
      if ('set' in step) refresh = this.#set(origin.cluster, step.set) || refresh;
      else {
        this.log.remove(step.remove.typeUrl, step.remove.name);
        refresh = true;
      }
    }
    if (steps.length > 0) {
      const set = steps.filter((step) => 'set' in step).length;
      this.#options.log.info({ cluster: origin.cluster, set, removed: steps.length - set }, 'member changed');
    }
    if (status) {
      const name = this.#statusName(origin.cluster);
      const before = this.log.get(typeUrls.originStatus, name);
      this.log.set(typeUrls.originStatus, {
        name,
        body: withIdentity(status, peer),
        facts:
          before?.facts ??
          ({ cluster: origin.cluster, namespace: '', to: [], policy: '' } satisfies EntryFacts),
      });
    }
    this.log.flush();
    if (refresh) this.#options.onRefresh();
    if (!origin.isComplete || this.#members.isComplete(origin.cluster)) return;
    this.#members.completed(origin.cluster);
    this.#options.log.info({ cluster: origin.cluster, resources: origin.size }, 'member has told everything');
    this.#countLinks();
    this.#settle();
  }

  /** Whether somebody may see more or less than before. */
  #set(cluster: string, { typeUrl, name, body, parsed, policy, path, mark }: PublishedResource): boolean {
    const before = this.log.get(typeUrl, name);
    const facts: EntryFacts = {
      cluster,
      namespace: parsed.namespace,
      to: policy,
      policy: JSON.stringify(policy),
    };
    const metadata = encodeLinkFacts({ path, mark });
    this.log.set(typeUrl, { name, body, version: contentVersion(body), metadata, facts });
    return before?.state !== 'set' || (before.facts as EntryFacts).policy !== facts.policy;
  }

  #sees(consumer: Peer, typeUrl: string, entry: Entry): boolean {
    const facts = entry.facts as EntryFacts;
    if (typeUrl !== typeUrls.originStatus) return isOfferedTo(consumer, facts);
    return this.#origins.get(facts.cluster)?.origin.offersTo(consumer) ?? false;
  }

  /** Opens the log once every member was heard or waited for, and tells what is absent for certain. */
  #settle(): void {
    const { clock, log } = this.#options;
    const now = clock.now();
    if (!this.log.isOpen && this.#members.isSettled(now)) {
      this.log.open();
      log.info({ members: this.members.length }, 'consumers are answered');
    }
    this.log.settle();
    this.#cancel?.();
    const next = this.#members.nextDeadline;
    if (next !== undefined && next > now) this.#cancel = clock.after(next - now, () => this.#settle());
  }

  #statusName(cluster: string): string {
    return formatOriginName({ set: this.#options.set, cluster });
  }

  #countLinks(): void {
    let links = 0;
    for (const { isLinked } of this.#origins.values()) if (isLinked) links += 1;
    this.#options.metrics
      .gauge({ name: 'relay_links', help: 'Links between clusters that are up' })
      .set(links);
  }
}
