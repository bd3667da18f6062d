import type { Compiled } from '../../model/compiled.ts';
import type { Metrics } from '../../runtime/metrics.ts';

/** Figures of what is compiled, counted when they are read. */
export function controllerMetrics(metrics: Metrics, compiled: () => Compiled): void {
  metrics.gauge({
    name: 'endpoints',
    help: 'endpoints that back ends have, by the cluster they are in',
    labels: ['cluster', 'state'],
    collect: (gauge) => {
      gauge.reset();
      for (const { groups } of compiled().backends.values()) {
        for (const { cluster, endpoints } of groups) {
          for (const { health } of endpoints) gauge.inc({ cluster, state: health.toLowerCase() });
        }
      }
    },
  });
  metrics.gauge({
    name: 'frontends',
    help: 'front ends that are compiled',
    collect: (gauge) => gauge.set(compiled().frontends.size),
  });
  metrics.gauge({
    name: 'problems',
    help: 'mistakes in objects, each shown in a condition',
    collect: (gauge) => gauge.set(compiled().problems.length),
  });
}
