import type { Client } from '@grpc/grpc-js';
import type { Change, Contribution, Origin } from '../../model/inputs.ts';
import type { Clock } from '../../runtime/clock.ts';
import { type AppError, messageOf } from '../../runtime/errors.ts';
import type { Log } from '../../runtime/log.ts';
import type { Metrics } from '../../runtime/metrics.ts';
import { type LinkTouched, RelayLink } from './relay-link.ts';

export interface RelaySourceOptions {
  readonly set: string;
  readonly cluster: string;
  /** Where each relay is; the source dials with `dial`. */
  readonly relays: readonly string[];
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly onChanges: (changes: readonly Change[]) => void;
}

/** After this time without a heartbeat of an origin nothing is known of it any more. */
const staleAfterMs = 6_000;
/** With several relays: how long one that does not answer is waited for, when another has answered. */
const patienceMs = 15_000;

/**
 * What other clusters contribute to the ports that are imported, as input records. A lost relay or cluster makes
 * its Origin Stale and takes nothing away; only what a relay says is gone goes.
 */
export class RelaySource {
  readonly #options: RelaySourceOptions;
  readonly #links: readonly RelayLink[];
  /** Port key → when it was asked for. */
  readonly #ports = new Map<string, number>();
  readonly #incomplete = new Set<string>();
  readonly #contributions = new Map<string, Contribution>();
  readonly #origins = new Map<string, Origin>();
  /** Whose word counted last for an origin. */
  readonly #told = new Map<string, RelayLink>();
  /** Target → the state that was logged last. */
  readonly #logged = new Map<string, string>();
  #changes: Change[] = [];
  #cancel: (() => void) | undefined;

  constructor(options: RelaySourceOptions) {
    this.#options = options;
    const { metrics, log } = options;
    const refused = metrics.counter({
      name: 'relay_refused_total',
      help: 'Resources of peers that were refused',
      labels: ['reason'],
    });
    const up = metrics.gauge({
      name: 'relay_links',
      help: 'Links between clusters that are up',
    });
    this.#links = options.relays.map(
      (target) =>
        new RelayLink({
          set: options.set,
          cluster: options.cluster,
          target,
          clock: options.clock,
          onTouched: (touched) => this.#touched(touched),
          onRefused: ({ reason }) => refused.inc({ reason }),
          onState: (state) => {
            up.set(this.#links.filter((l) => l.isUp).length);
            this.#logState(log, target, state);
          },
        }),
    );
    up.set(0);
  }

  get links(): readonly RelayLink[] {
    return this.#links;
  }

  /** What is known of other clusters, by their ids. */
  get origins(): ReadonlyMap<string, Origin> {
    return this.#origins;
  }

  /** Every port that is imported was answered completely once. */
  get isComplete(): boolean {
    return this.#incomplete.size === 0;
  }

  /** One client for each relay, in their order. */
  dial(clients: readonly Client[], random: () => number): void {
    this.#links.forEach((link, i) => {
      const client = clients[i];
      if (client) link.dial(client, random);
    });
  }

  close(): void {
    this.#cancel?.();
    for (const link of this.#links) link.close();
  }

  /** Asks for exactly these ports; the records of others go. */
  setImports(ports: ReadonlySet<string>): void {
    const now = this.#options.clock.now();
    for (const port of ports) {
      if (this.#ports.has(port)) continue;
      this.#ports.set(port, now);
      this.#incomplete.add(port);
      this.#changes.push({ kind: 'Import', key: port, value: { complete: false } });
    }
    for (const port of [...this.#ports.keys()]) {
      if (ports.has(port)) continue;
      this.#ports.delete(port);
      this.#incomplete.delete(port);
      this.#changes.push({ kind: 'Import', key: port, value: undefined });
      for (const cluster of this.#origins.keys()) {
        const key = `${port}/${cluster}`;
        if (this.#contributions.delete(key))
          this.#changes.push({ kind: 'Contribution', key, value: undefined });
      }
    }
    for (const link of this.#links) link.setPorts(ports);
    this.#flush();
  }

  #touched(touched: LinkTouched): void {
    for (const cluster of touched.origins) this.#updateOrigin(cluster);
    for (const key of touched.contributions) this.#updateContribution(key);
    if (touched.answers) this.#updateImports();
    this.#flush();
  }

  /** A contribution counts once its origin is known: without it, its network is not. */
  #updateContribution(key: string): void {
    const at = key.lastIndexOf('/');
    const port = key.slice(0, at);
    const cluster = key.slice(at + 1);
    const known = this.#origins.has(cluster) && this.#ports.has(port);
    const next = known ? this.#bestLink(cluster)?.contents.contribution(port, cluster) : undefined;
    if (this.#contributions.get(key) === next) return;
    if (next) this.#contributions.set(key, next);
    else this.#contributions.delete(key);
    this.#changes.push({ kind: 'Contribution', key, value: next });
  }

  #updateOrigin(cluster: string): void {
    const before = this.#origins.get(cluster);
    const link = this.#bestLink(cluster);
    const next = link && this.#originRecord(cluster, link, before);
    if (JSON.stringify(next) !== JSON.stringify(before)) {
      if (next) this.#origins.set(cluster, next);
      else this.#origins.delete(cluster);
      this.#changes.push({ kind: 'Origin', key: cluster, value: next });
    }
    if (link === this.#told.get(cluster)) return;
    if (link) this.#told.set(cluster, link);
    else this.#told.delete(cluster);
    for (const port of this.#ports.keys()) this.#updateContribution(`${port}/${cluster}`);
  }

  #originRecord(cluster: string, link: RelayLink, before: Origin | undefined): Origin | undefined {
    const heard = link.contents.origins.get(cluster);
    if (!heard) return undefined;
    const { region, network, labels, synced } = heard.status;
    const state = this.#standing(link, cluster) < 2 ? 'Stale' : synced ? 'Synced' : 'Syncing';
    const since = before?.state === 'Stale' ? before.staleSince : this.#options.clock.now();
    return { cluster, region, network, labels, state, staleSince: state === 'Stale' ? since : 0 };
  }

  /**
   * The link whose word counts for an origin: one that hears it now, then the one that knows its latest state.
   * Undefined: nobody knows it, or that one says that it is gone.
   */
  #bestLink(cluster: string): RelayLink | undefined {
    let best: RelayLink | undefined;
    for (const link of this.#links) {
      if (link.contents.origins.has(cluster) && (!best || this.#isBetter(link, best, cluster))) best = link;
    }
    return best?.contents.origins.get(cluster)?.isGone ? undefined : best;
  }

  #isBetter(a: RelayLink, b: RelayLink, cluster: string): boolean {
    const standing = this.#standing(a, cluster) - this.#standing(b, cluster);
    if (standing !== 0) return standing > 0;
    const [x, y] = [a, b].map((link) => link.contents.origins.get(cluster));
    if (!x || !y) return x !== undefined;
    if (x.status.epoch !== y.status.epoch) return x.status.epoch > y.status.epoch;
    if (x.status.sequence !== y.status.sequence) return x.status.sequence > y.status.sequence;
    return y.isGone && !x.isGone;
  }

  /** 2: a heartbeat came lately, or word that it is gone. 1: the link is up, the origin silent. 0: no link. */
  #standing(link: RelayLink, cluster: string): 0 | 1 | 2 {
    const heard = link.contents.origins.get(cluster);
    if (!heard || !link.isUp || heard.connection !== link.connection) return 0;
    return heard.isGone || this.#options.clock.now() - heard.heardAt < staleAfterMs ? 2 : 1;
  }

  #updateImports(): void {
    const now = this.#options.clock.now();
    for (const port of this.#incomplete) {
      const since = this.#ports.get(port) ?? now;
      const answered = this.#links.filter((link) => link.isAnswered(port)).length;
      if (answered === 0 || (answered < this.#links.length && now - since < patienceMs)) continue;
      this.#incomplete.delete(port);
      this.#changes.push({ kind: 'Import', key: port, value: { complete: true } });
    }
  }

  #flush(): void {
    this.#plan();
    const changes = this.#changes;
    this.#changes = [];
    if (changes.length > 0) this.#options.onChanges(changes);
  }

  /** One timer, for the next origin that falls silent or relay that is waited for no longer. */
  #plan(): void {
    const { clock } = this.#options;
    const now = clock.now();
    const due: number[] = [];
    for (const [cluster, origin] of this.#origins) {
      if (origin.state === 'Stale') continue;
      const heard = this.#bestLink(cluster)?.contents.origins.get(cluster);
      if (heard) due.push(heard.heardAt + staleAfterMs);
    }
    if (this.#links.length > 1) {
      for (const port of this.#incomplete) due.push((this.#ports.get(port) ?? now) + patienceMs);
    }
    const next = Math.min(...due.filter((d) => d > now), ...due.map(() => now + staleAfterMs));
    this.#cancel?.();
    if (due.length === 0) return;
    this.#cancel = clock.after(Math.max(1, next - now), () => {
      for (const cluster of [...this.#origins.keys()]) this.#updateOrigin(cluster);
      this.#updateImports();
      this.#flush();
    });
  }

  /** A relay that stays away is one line, not one for each try. */
  #logState(log: Log, relay: string, state: 'up' | AppError): void {
    const text = state === 'up' ? 'up' : messageOf(state);
    if (this.#logged.get(relay) === text) return;
    this.#logged.set(relay, text);
    if (state === 'up') log.info({ relay }, 'relay answers');
    else log.warn({ relay, error: text, code: state.code }, 'relay is lost; what it told stays');
  }
}
