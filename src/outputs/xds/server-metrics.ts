import type { Counter, Gauge } from 'prom-client';
import type { Metrics } from '../../runtime/metrics.ts';
import type { AckTracker } from './acks.ts';

export function xdsMetrics(metrics: Metrics): {
  readonly streams: Gauge<string>;
  readonly ended: Counter<string>;
  readonly nacks: Counter<string>;
  readonly pushBytes: Counter<string>;
} {
  return {
    streams: metrics.gauge({
      name: 'xds_streams',
      help: 'Open xDS streams by role of the client',
      labels: ['role'],
    }),
    ended: metrics.counter({
      name: 'xds_streams_ended_total',
      help: 'xDS streams that were refused or ended by the server, by code of the error',
      labels: ['code'],
    }),
    nacks: metrics.counter({
      name: 'xds_nacks_total',
      help: 'Resources refused by xDS clients, by role of the client',
      labels: ['role'],
    }),
    pushBytes: metrics.counter({
      name: 'xds_push_bytes_total',
      help: 'Bytes of xDS responses sent, by role of the client',
      labels: ['role'],
    }),
  };
}

/** Changes of the log that each connected node has not acknowledged, read when the metrics are. */
export function watchClientLag(metrics: Metrics, acks: AckTracker, head: () => number): void {
  metrics.gauge({
    name: 'xds_client_lag',
    help: 'Changes that a connected node has not acknowledged yet',
    labels: ['node'],
    collect: (gauge) => {
      gauge.reset();
      for (const { node, connected, position } of acks.snapshot()) {
        if (connected) gauge.set({ node }, head() - Math.max(0, position));
      }
    },
  });
}
