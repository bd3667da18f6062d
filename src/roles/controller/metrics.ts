import type { Compiled } from '../../model/compiled.ts';
import type { Origin } from '../../model/inputs.ts';
import type { ClusterStatus } from '../../model/units/composite-clusters.ts';
import { endpointGauge } from '../../outputs/metrics/endpoint-gauge.ts';
import type { Metrics } from '../../runtime/metrics.ts';
import { syncedGauge } from '../../runtime/synced-gauge.ts';

export interface ControllerFigures {
  readonly cluster: string;
  /** The own cluster's objects have been read whole. */
  readonly complete: () => boolean;
  /** Other clusters that were told of, by their ids. */
  readonly origins: () => ReadonlyMap<string, Origin>;
  readonly compiled: () => Compiled;
  /** How many problems the files of the folder have. */
  readonly fileProblems: () => number;
}

/** Figures of what is known and compiled, counted when they are read. */
export function controllerMetrics(metrics: Metrics, figures: ControllerFigures): void {
  const { cluster, complete, origins, compiled, fileProblems } = figures;
  syncedGauge(metrics, () => [
    ...unheard(compiled()).map((name) => [name, false] as const),
    ...[...origins()].map(([name, { state }]) => [name, state === 'Synced'] as const),
    [cluster, complete()],
  ]);
  endpointGauge(metrics, () => compiled().backends.values());
  metrics.gauge({
    name: 'frontends',
    help: 'front ends that are compiled',
    collect: (gauge) => gauge.set(compiled().frontends.size),
  });
  metrics.gauge({
    name: 'problems',
    help: 'problems of objects, as /debug/problems lists them',
    collect: (gauge) => gauge.set(compiled().problems.length),
  });
  metrics.gauge({
    name: 'file_problems',
    help: 'problems of files, as /debug/problems lists them',
    collect: (gauge) => gauge.set(fileProblems()),
  });
}

/** Clusters that a composite imports by name, while the relay has not said whether they offer anything. */
function unheard(compiled: Compiled): readonly string[] {
  return [...compiled.statuses.values()].flatMap(({ status }) => {
    const clusters = (status.clusters as readonly ClusterStatus[] | undefined) ?? [];
    return clusters.filter(({ state }) => state === 'Syncing').map(({ name }) => name);
  });
}
