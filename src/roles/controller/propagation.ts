import type { Touched } from '../../model/compiled.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Metrics } from '../../runtime/metrics.ts';

export interface PropagationOptions {
  /** Ours. */
  readonly cluster: string;
  readonly clock: Clock;
  readonly metrics: Metrics;
}

/** A batch of changes of one cluster that nodes are to program. */
interface Sent {
  readonly cluster: string;
  /** The origin's clock at the oldest change of the batch, epoch milliseconds. */
  readonly mark: number;
  /** Of the log, once all of it is there. */
  readonly position: number;
}

/** Batches that are waited for; a node that is farther behind is seen in `xds_client_lag`. */
const maxSent = 1_024;
/** Names of clusters come from others. */
const maxClusters = 1_000;
/** What a mark says beyond this says nothing about us. */
const maxSeconds = 3_600;

/**
 * How long changes take: from the clock of the cluster in which they were seen to the acknowledgement of each node
 * that was connected all the time. One observation for each node, cluster and compiled batch: of its oldest change.
 */
export class Propagation {
  readonly #options: PropagationOptions;
  readonly #seconds;
  readonly #skewed;
  readonly #clusters = new Set<string>();
  #sent: Sent[] = [];
  /** Of the log, after the last batch. */
  #position = 0;
  /** When the oldest of our own changes was seen that is not compiled yet. */
  #seen: number | undefined;
  /** The same of others, by the key of the Contribution. */
  readonly #told = new Map<string, number>();

  constructor(options: PropagationOptions) {
    this.#options = options;
    const { metrics } = options;
    this.#seconds = metrics.histogram({
      name: 'propagation_seconds',
      help: 'time from a change as its own cluster saw it to the acknowledgement of a node of this cluster',
      labels: ['cluster', 'scope'],
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
    });
    this.#skewed = metrics.counter({
      name: 'propagation_skewed_total',
      help: 'observations of propagation_seconds that count as 0, because the clock of the cluster is ahead of ours',
      labels: ['cluster'],
    });
  }

  /** Epoch milliseconds: when the oldest of our own changes was seen that is not compiled yet. */
  get seen(): number | undefined {
    return this.#seen;
  }

  /** Changes of our own objects have just been read. */
  saw(): void {
    this.#seen ??= this.#options.clock.wall();
  }

  /** Changes of others: the key of the Contribution and the origin's clock when it made the change. */
  told(marks: ReadonlyMap<string, number>): void {
    for (const [key, mark] of marks) if (!this.#told.has(key)) this.#told.set(key, mark);
  }

  /** All that was seen and told is in the log up to `position`. `touched` undefined: nobody was served before. */
  compiled(touched: Touched | undefined, position: number): void {
    const marks = new Map<string, number>();
    const note = (cluster: string, mark: number): void => {
      marks.set(cluster, Math.min(mark, marks.get(cluster) ?? mark));
    };
    if (touched) {
      const { cluster } = this.#options;
      const { frontends, backends, nodes } = touched;
      const isServed = frontends.size + backends.size + nodes.size > 0;
      if (this.#seen !== undefined && isServed) note(cluster, this.#seen);
      for (const [key, mark] of this.#told) {
        const slash = key.lastIndexOf('/');
        if (backends.has(`composite/${key.slice(0, slash)}`))
          note(key.slice(slash + 1).split(':')[0] ?? '', mark);
      }
    }
    this.#seen = undefined;
    this.#told.clear();
    if (position > this.#position) {
      for (const [cluster, mark] of marks) this.#sent.push({ cluster, mark, position });
    }
    this.#position = position;
    if (this.#sent.length > maxSent) this.#sent = this.#sent.slice(-maxSent);
  }

  /** A node holds what came after position `before`, up to `after`. */
  acknowledged(before: number, after: number): void {
    const now = this.#options.clock.wall();
    for (let i = this.#sent.length - 1; i >= 0; i--) {
      const { position, cluster, mark } = this.#sent[i] as Sent;
      if (position <= before) return;
      if (position <= after) this.#observe(cluster, (now - mark) / 1000);
    }
  }

  #observe(name: string, seconds: number): void {
    const cluster = this.#labelOf(name);
    const scope = name === this.#options.cluster ? 'local' : 'remote';
    if (seconds < 0) this.#skewed.inc({ cluster });
    this.#seconds.observe({ cluster, scope }, Math.min(Math.max(0, seconds), maxSeconds));
  }

  #labelOf(cluster: string): string {
    if (this.#clusters.size < maxClusters) this.#clusters.add(cluster);
    return this.#clusters.has(cluster) ? cluster : 'other';
  }
}
