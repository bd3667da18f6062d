import type { Metrics } from './metrics.ts';

/** Which clusters this role knows all of: the same metric in every role. */
export class SyncedGauge {
  readonly #gauge;

  constructor(metrics: Metrics) {
    this.#gauge = metrics.gauge({
      name: 'source_synced',
      help: '1 once what is read of a cluster is complete and current',
      labels: ['cluster'],
    });
  }

  set(cluster: string, synced: boolean): void {
    this.#gauge.set({ cluster }, synced ? 1 : 0);
  }

  remove(cluster: string): void {
    this.#gauge.remove({ cluster });
  }
}
