import type { Backend } from '../../model/ir.ts';
import type { Metrics } from '../../runtime/metrics.ts';

/** Endpoints of these back ends by cluster and state, counted when they are read. */
export function endpointGauge(metrics: Metrics, backends: () => Iterable<Backend>): void {
  metrics.gauge({
    name: 'endpoints',
    help: 'endpoints of back ends by cluster and state (healthy, draining)',
    labels: ['cluster', 'state'],
    collect: (gauge) => {
      gauge.reset();
      for (const { groups } of backends()) {
        for (const { cluster, endpoints } of groups) {
          for (const { health } of endpoints) gauge.inc({ cluster, state: health.toLowerCase() });
        }
      }
    },
  });
}
