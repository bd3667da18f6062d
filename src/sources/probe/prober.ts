import type { ProbeTarget } from '../../model/compiled.ts';
import type { Change } from '../../model/inputs.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Metrics } from '../../runtime/metrics.ts';
import { ProbeTable } from './probe-table.ts';

export interface ProberOptions {
  /** Whether `<address> <port>` takes a connection; must not reject. */
  readonly dial: (place: string) => Promise<boolean>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly metrics: Metrics;
  readonly onChanges: (changes: readonly Change[]) => void;
  /** What failed for an earlier process: it is told at once, and fails until probes pass again. */
  readonly earlier?: ReadonlyMap<string, readonly string[]>;
}

/** 50 a second, whatever there is to probe. */
const tickMs = 20;
const maxStepMs = 60_000;

/**
 * Finds out whether endpoints of clusters without contact take connections, as far as this host can see. What does
 * not goes to the model as `Probe` records; they go with their target.
 */
export class Prober {
  readonly #options: ProberOptions;
  readonly #table = new ProbeTable();
  readonly #clusters = new Map<string, string>();
  readonly #told: Map<string, readonly string[]>;
  readonly #probes;
  /** Milliseconds that only grow. */
  #now = 0;
  #read: number;
  #cancel: (() => void) | undefined;
  #closed = false;

  constructor(options: ProberOptions) {
    this.#options = options;
    const { metrics, clock, earlier, onChanges } = options;
    this.#told = new Map(earlier);
    this.#read = clock.now();
    this.#probes = metrics.counter({
      name: 'probes_total',
      help: 'connections that were tried to endpoints of clusters without contact',
      labels: ['result'],
    });
    metrics.gauge({
      name: 'endpoints_unreachable',
      help: 'endpoints of clusters without contact that take no connections',
      labels: ['cluster'],
      collect: (gauge) => {
        gauge.reset();
        for (const [key, cluster] of this.#clusters) gauge.inc({ cluster }, this.#told.get(key)?.length ?? 0);
      },
    });
    const changes = [...this.#told].map(
      ([key, failing]) => ({ kind: 'Probe', key, value: { failing } }) as const,
    );
    if (changes.length > 0) onChanges(changes);
  }

  /** What does not take connections, by the keys of the targets, sorted. */
  get failing(): ReadonlyMap<string, readonly string[]> {
    return this.#told;
  }

  /** What there is to probe now. `touched` undefined: everything. */
  update(targets: ReadonlyMap<string, ProbeTarget>, touched: Iterable<string> | undefined): void {
    const now = this.#time();
    for (const key of touched ?? new Set([...targets.keys(), ...this.#told.keys()])) {
      const target = targets.get(key);
      // Those on one node have addresses in a row: they would be found to fail one after the other.
      const places = target && this.#shuffled(target.places);
      // New in the table and told before: by an earlier process.
      this.#table.setGroup(key, places, now, this.#told.get(key));
      if (target) this.#clusters.set(key, target.cluster);
      else this.#clusters.delete(key);
      this.#tell([key]);
    }
    this.#plan();
  }

  close(): void {
    this.#closed = true;
    this.#cancel?.();
  }

  #plan(): void {
    if (this.#cancel || this.#closed || this.#table.size === 0) return;
    this.#cancel = this.#options.clock.after(tickMs, () => {
      this.#cancel = undefined;
      const place = this.#table.next(this.#time());
      if (place !== undefined) void this.#probe(place);
      this.#plan();
    });
  }

  async #probe(place: string): Promise<void> {
    const passed = await this.#options.dial(place);
    if (this.#closed) return;
    this.#probes.inc({ result: passed ? 'passed' : 'failed' });
    this.#tell(this.#table.result(place, passed, this.#time()));
  }

  #tell(keys: Iterable<string>): void {
    const changes: Change[] = [];
    for (const key of keys) {
      const failing = this.#table.failing(key);
      const before = this.#told.get(key) ?? [];
      if (failing.join() === before.join()) continue;
      if (failing.length > 0) this.#told.set(key, failing);
      else this.#told.delete(key);
      changes.push({ kind: 'Probe', key, value: failing.length > 0 ? { failing } : undefined });
    }
    if (changes.length > 0) this.#options.onChanges(changes);
  }

  /** A clock that is set must not stop the probes, nor let them all fall due. */
  #time(): number {
    const read = this.#options.clock.now();
    const passed = read - this.#read;
    this.#read = read;
    this.#now += passed >= 0 && passed < maxStepMs ? passed : tickMs;
    return this.#now;
  }

  #shuffled(places: readonly string[]): readonly string[] {
    return places
      .map((place) => ({ place, at: this.#options.random() }))
      .sort((a, b) => a.at - b.at)
      .map(({ place }) => place);
  }
}
