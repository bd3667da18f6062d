import type { Change, Contribution, Origin } from '../../model/inputs.ts';
import { portKeyOf } from '../../model/relay/names.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Dialer } from '../../runtime/duplex-loop.ts';
import { type AppError, messageOf } from '../../runtime/errors.ts';
import type { Log } from '../../runtime/log.ts';
import type { Metrics } from '../../runtime/metrics.ts';
import type { KeptPeers } from './kept-peers.ts';
import { type LinkTouched, RelayLink } from './relay-link.ts';

export interface RelaySourceOptions {
  readonly set: string;
  readonly cluster: string;
  /** Where each relay is; the source dials with `dial`. */
  readonly relays: readonly string[];
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /**
   * `marks`: of the Contributions that are news (not what is told of a port for the first time), the origin's clock
   * when it made the change, epoch milliseconds.
   */
  readonly onChanges: (changes: readonly Change[], marks: ReadonlyMap<string, number>) => void;
  /** What an earlier process was told; it is in force at once. */
  readonly earlier?: {
    readonly kept?: KeptPeers;
    /** Clusters that are not Stale in `kept` were heard until about then, epoch milliseconds. */
    readonly contactUntil: number;
    /**
     * There was an earlier process, and what it was told is not known: data planes may hold more than we know. What
     * is imported from the start is withheld until a relay has answered.
     */
    readonly isLost: boolean;
  };
  /** `kept` has changed. */
  readonly onKept?: () => void;
}

/** After this time without a heartbeat of an origin nothing is known of it any more. */
const staleAfterMs = 6_000;
/** With several relays: how long one that does not answer is waited for, when another has answered. */
const patienceMs = 15_000;
/** How long a new import waits for the first answer before our own endpoints serve without those of others. */
const aloneMs = 3_000;

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
  /** Of these: nobody ever answered, and our own endpoints serve without waiting. */
  readonly #alone = new Set<string>();
  /** Of these: data planes may hold what an earlier process was told. */
  readonly #inherited = new Set<string>();
  #started = false;
  readonly #contributions = new Map<string, Contribution>();
  readonly #origins = new Map<string, Origin>();
  /** Of these: in force by the word of another relay than the one that counts, which has not told everything yet. */
  readonly #kept = new Set<string>();
  /** Whose word counted last for an origin. */
  readonly #told = new Map<string, RelayLink>();
  /** Target → the state that was logged last. */
  readonly #logged = new Map<string, string>();
  /** Target → why its link ended last, or could not be made. */
  readonly #faults = new Map<string, AppError>();
  #changes: Change[] = [];
  #news = new Map<string, number>();
  /** By the key of a Contribution: the mark that it was told with. */
  readonly #marks = new Map<string, number>();
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
            if (state === 'up') this.#faults.delete(target);
            else this.#faults.set(target, state);
            this.#logState(log, target, state);
          },
        }),
    );
    up.set(0);
    if (options.earlier?.kept) this.#restore(options.earlier.kept, options.earlier.contactUntil);
  }

  /** For the next process. Undefined: what an earlier one was told is lost, and not all of it is known again. */
  get kept(): KeptPeers | undefined {
    const { set, cluster, earlier, clock } = this.#options;
    if (earlier?.isLost && (!this.#started || this.#inherited.size > 0)) return undefined;
    return {
      set,
      cluster,
      ports: [...this.#ports.keys()].filter((port) => !this.#incomplete.has(port)).sort(),
      unanswered: [...this.#alone].sort(),
      staleSince: new Map(
        [...this.#origins].flatMap(([name, { state, staleSince }]) =>
          state === 'Stale' ? [[name, staleSince + clock.wall() - clock.now()]] : [],
        ),
      ),
      links: new Map(this.#links.map((link) => [link.target, link.kept])),
    };
  }

  /** Another cluster is heard now. */
  get hasContact(): boolean {
    for (const { state } of this.#origins.values()) if (state !== 'Stale') return true;
    return false;
  }

  get links(): readonly RelayLink[] {
    return this.#links;
  }

  /** Which relays are heard now; of one that is not, why. */
  get states(): readonly { readonly relay: string; readonly connected: boolean; readonly error?: string }[] {
    return this.#links.map(({ target, isUp }) => {
      const fault = this.#faults.get(target);
      return {
        relay: target,
        connected: isUp,
        ...(fault ? { error: `${fault.code}: ${messageOf(fault)}` } : {}),
      };
    });
  }

  /** What is known of other clusters, by their ids. */
  get origins(): ReadonlyMap<string, Origin> {
    return this.#origins;
  }

  /** Every port that is imported was answered completely once. */
  get isComplete(): boolean {
    return this.#incomplete.size === 0;
  }

  /** When the last heartbeat of a cluster came to this process, epoch milliseconds; undefined: never. */
  heardAt(cluster: string): number | undefined {
    return this.#bestLink(cluster)?.contents.origins.get(cluster)?.heardAt || undefined;
  }

  /** One for each relay, in their order. */
  dial(dialers: readonly Dialer[], random: () => number): void {
    this.#links.forEach((link, i) => {
      const dialer = dialers[i];
      if (dialer) link.dial(dialer, random);
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
      if (!this.#started && this.#options.earlier?.isLost) this.#inherited.add(port);
      this.#changes.push({ kind: 'Import', key: port, value: { complete: false } });
    }
    this.#started = true;
    for (const port of [...this.#ports.keys()]) {
      if (ports.has(port)) continue;
      this.#ports.delete(port);
      for (const states of [this.#incomplete, this.#alone, this.#inherited]) states.delete(port);
      this.#changes.push({ kind: 'Import', key: port, value: undefined });
      for (const [key, contribution] of this.#contributions) {
        if (portKeyOf(contribution) !== port) continue;
        this.#contributions.delete(key);
        this.#marks.delete(key);
        this.#changes.push({ kind: 'Contribution', key, value: undefined });
      }
    }
    for (const link of this.#links) link.setPorts(ports);
    this.#flush();
  }

  #restore(kept: KeptPeers, contactUntil: number): void {
    const { clock } = this.#options;
    const now = clock.now();
    const ahead = clock.wall() - now;
    const ports = new Set([...kept.ports, ...kept.unanswered]);
    for (const port of ports) this.#ports.set(port, now);
    for (const port of kept.ports)
      this.#changes.push({ kind: 'Import', key: port, value: { complete: true } });
    for (const port of kept.unanswered) {
      this.#incomplete.add(port);
      this.#serveAlone(port, aloneMs);
    }
    // What a relay told that has another address now is claimed of one of which nothing is known.
    const moved = [...kept.links].filter(([target]) => !this.#links.some((link) => link.target === target));
    for (const link of this.#links) {
      const told = kept.links.get(link.target) ?? moved.shift()?.[1];
      if (told) link.restore(ports, told);
    }
    for (const cluster of new Set(this.#links.flatMap((link) => [...link.contents.origins.keys()]))) {
      // A clock that was set back must not keep endpoints for longer.
      this.#updateOrigin(cluster, Math.min(now, (kept.staleSince.get(cluster) ?? contactUntil) - ahead));
    }
    this.#tell();
  }

  #touched(touched: LinkTouched): void {
    for (const cluster of touched.origins) this.#updateOrigin(cluster);
    for (const key of touched.contributions) this.#updateContribution(key);
    if (touched.answers) {
      for (const key of [...this.#kept]) this.#updateContribution(key);
      this.#updateImports();
    }
    this.#flush();
    if (touched.contributions.size > 0) this.#options.onKept?.();
  }

  /** A contribution counts once its origin is known: without it, its network is not. */
  #updateContribution(key: string): void {
    const at = key.lastIndexOf('/');
    const port = key.slice(0, at);
    const source = key.slice(at + 1);
    const cluster = source.split(':')[0] as string;
    const known = this.#origins.has(cluster) && this.#ports.has(port);
    const link = known ? this.#bestLink(cluster) : undefined;
    const contents = link?.contents;
    const next = contents?.contribution(port, source);
    this.#kept.delete(key);
    if (this.#contributions.get(key) === next) return;
    if (!next && link && !link.isAnswered(port) && this.#isToldByOther(link, key, port, source)) {
      this.#kept.add(key);
      return;
    }
    if (next) this.#contributions.set(key, next);
    else this.#contributions.delete(key);
    this.#noteMark(key, port, next ? (contents?.markOf(port, source) ?? 0) : 0);
    this.#changes.push({ kind: 'Contribution', key, value: next });
  }

  /** What is in force is what another relay tells: it stays until `link` has told everything. */
  #isToldByOther(link: RelayLink, key: string, port: string, source: string): boolean {
    const inForce = this.#contributions.get(key);
    return this.#links.some(
      (other) =>
        other !== link && other.contents.contribution(port, source) === inForce && inForce !== undefined,
    );
  }

  /** The parts of one change come with the same mark. What another relay still tells has an older one: no news. */
  #noteMark(key: string, port: string, mark: number): void {
    const before = this.#marks.get(key) ?? 0;
    if (mark === 0) this.#marks.delete(key);
    else this.#marks.set(key, Math.max(before, mark));
    if (mark > 0 && mark >= before && !this.#incomplete.has(port)) this.#news.set(key, mark);
  }

  /** `lostAt`: when contact was lost, if that is known. */
  #updateOrigin(cluster: string, lostAt?: number): void {
    const before = this.#origins.get(cluster);
    const link = this.#bestLink(cluster);
    const since = lostAt ?? (before?.state === 'Stale' ? before.staleSince : this.#options.clock.now());
    const next = link && this.#originRecord(cluster, link, since);
    if (JSON.stringify(next) !== JSON.stringify(before)) {
      if (next) this.#origins.set(cluster, next);
      else this.#origins.delete(cluster);
      this.#changes.push({ kind: 'Origin', key: cluster, value: next });
    }
    if (link === this.#told.get(cluster)) return;
    if (link) this.#told.set(cluster, link);
    else this.#told.delete(cluster);
    for (const key of this.#keysOf(cluster)) this.#updateContribution(key);
  }

  /** Of contributions of this cluster that are, or may be, in force. */
  #keysOf(cluster: string): ReadonlySet<string> {
    const inForce = [...this.#contributions].flatMap(([key, c]) => (c.cluster === cluster ? [key] : []));
    return new Set([...inForce, ...this.#links.flatMap(({ contents }) => [...contents.keysOf(cluster)])]);
  }

  #originRecord(cluster: string, link: RelayLink, since: number): Origin | undefined {
    const heard = link.contents.origins.get(cluster);
    if (!heard) return undefined;
    const { region, network, labels, synced } = heard.status;
    const state = this.#standingOf(heard.status.epoch, cluster) < 2 ? 'Stale' : synced ? 'Synced' : 'Syncing';
    return { cluster, region, network, labels, state, staleSince: state === 'Stale' ? since : 0 };
  }

  /**
   * The link whose word counts for an origin: of a life of it that is heard now, then the one that knows its latest
   * state, then one that hears it now. Undefined: nobody knows it, or that one says that it is gone.
   */
  #bestLink(cluster: string): RelayLink | undefined {
    let best: RelayLink | undefined;
    for (const link of this.#links) {
      if (link.contents.origins.has(cluster) && (!best || this.#isBetter(link, best, cluster))) best = link;
    }
    return best?.contents.origins.get(cluster)?.isGone ? undefined : best;
  }

  #isBetter(a: RelayLink, b: RelayLink, cluster: string): boolean {
    const [x, y] = [a, b].map((link) => link.contents.origins.get(cluster));
    if (!x || !y) return x !== undefined;
    const { epoch, sequence } = y.status;
    const life = this.#standingOf(x.status.epoch, cluster) - this.#standingOf(epoch, cluster);
    if (life !== 0) return life > 0;
    if (x.status.epoch !== epoch) return x.status.epoch > epoch;
    if (x.status.sequence !== sequence) return x.status.sequence > sequence;
    const standing = this.#standing(a, cluster) - this.#standing(b, cluster);
    if (standing !== 0) return standing > 0;
    return y.isGone && !x.isGone;
  }

  /** Of the link that knows this life of an origin best. */
  #standingOf(epoch: number, cluster: string): number {
    const links = this.#links.filter((l) => l.contents.origins.get(cluster)?.status.epoch === epoch);
    return Math.max(...links.map((link) => this.#standing(link, cluster)));
  }

  /** 2: a heartbeat came lately, or word that it is gone. 1: the link is up, the origin silent. 0: no link. */
  #standing(link: RelayLink, cluster: string): 0 | 1 | 2 {
    const heard = link.contents.origins.get(cluster);
    if (!heard || !link.isUp || heard.connection < link.contactFrom) return 0;
    return heard.isGone || this.#options.clock.now() - heard.heardAt < staleAfterMs ? 2 : 1;
  }

  #updateImports(): void {
    const now = this.#options.clock.now();
    for (const port of this.#incomplete) {
      const since = this.#ports.get(port) ?? now;
      const answered = this.#links.filter((link) => link.isAnswered(port)).length;
      if (answered === 0) this.#serveAlone(port, now - since);
      if (answered === 0 || (answered < this.#links.length && now - since < patienceMs)) continue;
      for (const states of [this.#incomplete, this.#alone, this.#inherited]) states.delete(port);
      this.#changes.push({ kind: 'Import', key: port, value: { complete: true } });
    }
  }

  /** Nobody has ever said anything of this port, so nothing of others can be lost. */
  #serveAlone(port: string, waitedMs: number): void {
    if (waitedMs < aloneMs || this.#alone.has(port) || this.#inherited.has(port)) return;
    this.#alone.add(port);
    this.#changes.push({ kind: 'Import', key: port, value: { complete: true, unanswered: true } });
  }

  #flush(): void {
    if (this.#tell()) this.#options.onKept?.();
  }

  #tell(): boolean {
    this.#plan();
    const changes = this.#changes;
    const news = this.#news;
    this.#changes = [];
    this.#news = new Map();
    if (changes.length > 0) this.#options.onChanges(changes, news);
    return changes.length > 0;
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
    for (const port of this.#incomplete) {
      const since = this.#ports.get(port) ?? now;
      if (!this.#alone.has(port) && !this.#inherited.has(port)) due.push(since + aloneMs);
      if (this.#links.length > 1) due.push(since + patienceMs);
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
