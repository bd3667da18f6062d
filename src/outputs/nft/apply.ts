import { networkInterfaces } from 'node:os';
import type { Ir } from '../../model/ir.ts';
import type { Clock } from '../../runtime/clock.ts';
import { messageOf } from '../../runtime/errors.ts';
import type { Log } from '../../runtime/log.ts';
import type { Metrics } from '../../runtime/metrics.ts';
import { refusedPorts } from './bisect.ts';
import { type Committed, Committer } from './commit.ts';
import { Mirror } from './mirror.ts';
import { nftMetrics } from './nft-metrics.ts';
import { ListingParser, readTable } from './parse.ts';
import { nothingWanted, Renderer, type TouchedKeys, type Wanted, type WantedPort } from './render.ts';
import { NftError, type NftRunner } from './runner.ts';
import { baseChains, tableName } from './schema.ts';
import { type Drift, drift, emptyTable, type Table } from './table.ts';
import type { PortChange } from './udp-changes.ts';

export interface NftOutputOptions {
  readonly node: string;
  readonly cluster: string;
  readonly runner: NftRunner;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** How long what an old verdict leads to outlives it. */
  readonly graceMs?: number;
  /** Addresses of this machine, which are never a VIP. */
  readonly hostAddresses?: () => ReadonlySet<string>;
  /** After each commit, with the ports that changed. Must not throw. */
  readonly onCommit?: (changes: readonly PortChange[]) => void;
}

/** Comparisons that changes overtook, one after the other, before one has its way and changes wait for it. */
const patience = 10;

/** Front ends and back ends that are not, or not wholly, programmed, and why. */
export type Refused = ReadonlyMap<string, string>;

/**
 * Keeps `table inet causeway` as the intermediate representation wants it. A table that is there is changed in
 * place, never emptied, neither at the start nor by `close`.
 */
export class NftOutput {
  readonly #o: NftOutputOptions;
  readonly #renderer: Renderer;
  readonly #mirror: Mirror;
  readonly #committer: Committer;
  readonly #metrics;
  /** Everything that changes the kernel's table, one after the other. */
  #queue: Promise<unknown> = Promise.resolve();
  #queued = 0;
  /** A comparison beside the queue: given up when something is queued. */
  #comparing: AbortController | undefined;
  #overtaken = 0;
  #closed = false;
  /** The mirror says what is in the kernel. */
  #known = false;
  #wanted = nothingWanted;
  /** Ports the kernel refused; tried again when they change. */
  #quarantine = new Map<WantedPort, string>();
  /** The kernel lists rules in our own words (other versions of nft may not). */
  #sameWords: boolean | undefined;
  #cancelSweep: (() => void) | undefined;

  constructor(options: NftOutputOptions) {
    this.#o = options;
    this.#metrics = nftMetrics(options.metrics);
    this.#renderer = new Renderer({ node: options.node, cluster: options.cluster });
    this.#mirror = new Mirror({ graceMs: options.graceMs ?? 1000 });
    this.#committer = new Committer(options.runner);
  }

  /** Whether an earlier process left a table. */
  async inspect(): Promise<boolean> {
    return this.#enqueue(async () => (await readTable(this.#o.runner, true)) !== undefined);
  }

  /**
   * Resolves when the additions and switches are committed. What the kernel refuses of single VIPs is in the
   * result. Rejects with NftError when it takes nothing: the next call starts from what the kernel lists.
   * Only keys of `touched` are looked at; without it, all.
   */
  update(ir: Ir, touched?: TouchedKeys): Promise<Refused> {
    return this.#enqueue(() => this.#apply(ir, touched));
  }

  /**
   * Compares the kernel's table with what we think it holds and repairs it. Resolves with what differed. A change does
   * not wait for the comparison: it puts an end to it, and the next audit tries again.
   */
  async audit(): Promise<Drift | undefined> {
    const found = await this.#compare();
    if (found === 'overtaken') {
      this.#overtaken += 1;
      if (this.#overtaken < patience) return undefined;
    }
    this.#overtaken = 0;
    return found === 'same' ? undefined : this.#enqueue(() => this.#repair());
  }

  /** What we think the kernel holds. */
  get table(): Table {
    return this.#known ? this.#mirror.table() : emptyTable;
  }

  get wanted(): Wanted {
    return this.#wanted;
  }

  /** Stops after what is under way; the table stays as it is. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelSweep?.();
    await this.#queue;
  }

  async #compare(): Promise<'same' | 'different' | 'overtaken'> {
    while (this.#queued > 0) await this.#queue;
    if (!this.#known || this.#closed) return 'different';
    const comparison = this.#mirror.comparison();
    const parser = new ListingParser(tableName, comparison);
    const comparing = new AbortController();
    this.#comparing = comparing;
    try {
      await this.#o.runner.read((line) => parser.line(line), comparing);
    } catch {
      if (!comparing.signal.aborted) return 'different';
    } finally {
      this.#comparing = undefined;
    }
    if (comparing.signal.aborted) return 'overtaken';
    this.#mirror.setCounters(comparison.counters);
    const { sameElements, sameRules } = comparison;
    return sameElements && (sameRules || this.#sameWords === false) ? 'same' : 'different';
  }

  async #repair(): Promise<Drift | undefined> {
    if (this.#wanted === nothingWanted || this.#closed) return undefined;
    if (!this.#known) {
      await this.#sync(this.#wanted);
      return undefined;
    }
    const found = await readTable(this.#o.runner);
    const different = found
      ? drift(this.#mirror.table(), this.#comparable(found), isBaseChain)
      : { count: 1, schema: true, example: 'the table is gone' };
    if (found) this.#mirror.setCounters(found.counters);
    if (!different) return undefined;
    this.#o.log.warn({ differences: different.count, example: different.example }, 'table drifted');
    if (found && !different.schema) this.#mirror.adopt(found, this.#o.clock.now());
    else this.#known = false;
    await this.#sync(this.#wanted);
    this.#metrics.driftRepaired.inc(different.count);
    return different;
  }

  async #apply(ir: Ir, touched: TouchedKeys | undefined): Promise<Refused> {
    if (this.#closed) throw new NftError('the output is closed');
    const addresses = (this.#o.hostAddresses ?? localAddresses)();
    const rendered = this.#renderer.render(ir, touched, addresses);
    const wanted = await this.#sync(rendered, rendered.changed);
    const refused = new Map(wanted.refused);
    for (const [port, message] of this.#quarantine) refused.set(port.frontend, message);
    this.#metrics.vips.set(wanted.ports.size);
    this.#metrics.refused.set(refused.size);
    return refused;
  }

  /**
   * Commits additions and switches now and arranges for removals. Resolves with what is in force. `keys`: ports that
   * changed; without it all are compared.
   */
  async #sync(rendered: Wanted, keys?: ReadonlySet<string>): Promise<Wanted> {
    const started = performance.now();
    let wanted = this.#withoutQuarantine(rendered);
    let committed: Committed;
    try {
      committed = this.#known
        ? await this.#committer.commit(this.#mirror.advance(wanted, this.#o.clock.now(), keys))
        : await this.#resync(wanted);
    } catch (error) {
      this.#known = false;
      this.#metrics.failures.inc();
      if (!(error instanceof NftError)) throw error;
      this.#o.log.warn({ error: error.message }, 'transaction refused; the table is read and compared');
      const bad = await refusedPorts(this.#o.runner, wanted);
      for (const [port, message] of bad) this.#quarantine.set(port, message);
      wanted = this.#withoutQuarantine(rendered);
      committed = await this.#resync(wanted);
    }
    this.#known = true;
    this.#wanted = wanted;
    this.#arrangeSweep();
    this.#report('table synced', committed, started, wanted.ports.size);
    this.#o.onCommit?.(this.#mirror.takeChanges());
    return wanted;
  }

  /**
   * From what the kernel lists to what is wanted. The table that is there is changed in two steps like any other
   * time; only where there is none, or one that is not of our schema, it is made anew.
   */
  async #resync(wanted: Wanted): Promise<Committed> {
    const now = this.#o.clock.now();
    const found = await this.#read();
    if (found) {
      this.#mirror.setCounters(found.counters);
      this.#mirror.adopt(found, now);
      if (!drift(this.#mirror.rules(), withoutElements(this.#comparable(found)), isBaseChain)?.schema) {
        try {
          return await this.#committer.commit(this.#mirror.advance(wanted, now));
        } catch (error) {
          if (!(error instanceof NftError)) throw error;
          this.#o.log.warn({ error: error.message }, 'the table cannot be changed; it is replaced');
        }
      }
    }
    return this.#replace(wanted, now);
  }

  /** In one transaction where it fits; else an empty table is filled piece by piece. */
  async #replace(wanted: Wanted, now: number): Promise<Committed> {
    this.#mirror.clear();
    let committed = await this.#committer.replace(this.#mirror.advance(wanted, now));
    if (!committed) {
      this.#mirror.clear();
      await this.#committer.replace([]);
      committed = await this.#committer.commit(this.#mirror.advance(wanted, now));
    }
    this.#sameWords ??= await this.#listsOurWords();
    return committed;
  }

  /** A text that cannot be read is as good as no table. */
  async #read(): Promise<Table | undefined> {
    try {
      return await readTable(this.#o.runner);
    } catch (error) {
      this.#o.log.warn({ error: messageOf(error) }, 'the table that is there cannot be read');
      return undefined;
    }
  }

  async #listsOurWords(): Promise<boolean> {
    const found = await readTable(this.#o.runner, true);
    const different = found && drift(this.#mirror.rules(), withoutElements(found), () => true);
    if (different)
      this.#o.log.warn(
        { example: different.example },
        'nft lists rules in other words: only elements are audited',
      );
    return !different;
  }

  #comparable(found: Table): Table {
    if (this.#sameWords !== false) return found;
    const { declarations, chains } = this.#mirror.rules();
    return { ...found, declarations, chains };
  }

  #withoutQuarantine(wanted: Wanted): Wanted {
    if (this.#quarantine.size === 0) return wanted;
    const ports = new Map(wanted.ports);
    for (const port of this.#quarantine.keys()) {
      if (ports.get(port.key) === port) ports.delete(port.key);
      else this.#quarantine.delete(port);
    }
    return { ...wanted, ports };
  }

  #arrangeSweep(): void {
    this.#cancelSweep?.();
    this.#cancelSweep = undefined;
    const wait = this.#mirror.untilSweep(this.#o.clock.now());
    if (wait === undefined || this.#closed) return;
    this.#cancelSweep = this.#o.clock.after(wait, () => {
      this.#enqueue(() => this.#sweep()).catch((error: unknown) =>
        this.#o.log.error({ error: messageOf(error) }, 'table not synced'),
      );
    });
  }

  async #sweep(): Promise<void> {
    if (!this.#known || this.#closed) return;
    const started = performance.now();
    try {
      const committed = await this.#committer.commit(this.#mirror.sweep(this.#o.clock.now()));
      this.#report('leftovers removed', committed, started, this.#wanted.ports.size);
      this.#arrangeSweep();
    } catch (error) {
      this.#metrics.failures.inc();
      this.#known = false;
      this.#o.log.warn({ error: messageOf(error) }, 'leftovers not removed; the table is read and compared');
      await this.#sync(this.#wanted);
    }
  }

  #report(message: string, committed: Committed, started: number, vips: number): void {
    if (committed.transactions === 0) return;
    const ms = performance.now() - started;
    this.#metrics.commands.inc(committed.commands);
    this.#metrics.seconds.observe(ms / 1000);
    this.#o.log.info({ vips, ...committed, ms: Math.round(ms * 10) / 10 }, message);
  }

  #enqueue<T>(work: () => Promise<T>): Promise<T> {
    this.#comparing?.abort();
    this.#queued += 1;
    const result = this.#queue.then(work).finally(() => {
      this.#queued -= 1;
    });
    this.#queue = result.catch(() => {});
    return result;
  }
}

const withoutElements = (table: Table): Table => ({ ...table, elements: emptyTable.elements });

const isBaseChain = (chain: string): boolean => baseChains.has(chain);

function localAddresses(): ReadonlySet<string> {
  return new Set(Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map((a) => a.address)));
}
