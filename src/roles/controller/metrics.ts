import type { Compiled } from '../../model/compiled.ts';
import { endpointGauge } from '../../outputs/metrics/endpoint-gauge.ts';
import type { Metrics } from '../../runtime/metrics.ts';

/** Figures of what is compiled, counted when they are read. */
export function controllerMetrics(metrics: Metrics, compiled: () => Compiled): void {
  endpointGauge(metrics, () => compiled().backends.values());
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
