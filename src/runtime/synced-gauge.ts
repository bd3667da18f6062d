import type { Metrics } from './metrics.ts';

/**
 * The same metric in every role: the clusters that it reads of, and whether what it knows of each is complete.
 * `read` is called when the metrics are; of two entries for a cluster the later counts.
 */
export function syncedGauge(
  metrics: Metrics,
  read: () => Iterable<readonly [cluster: string, synced: boolean]>,
): void {
  metrics.gauge({
    name: 'source_synced',
    help: '1 once what is read of a cluster is complete',
    labels: ['cluster'],
    collect: (gauge) => {
      gauge.reset();
      for (const [cluster, synced] of read()) gauge.set({ cluster }, synced ? 1 : 0);
    },
  });
}
