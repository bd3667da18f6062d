import type { ModelConfig } from '../model-config.ts';
import { networkOf } from '../network.ts';
import type { Unit } from '../reader.ts';
import type { StatusResult } from './gateway-class.ts';

/** The about-api properties that say what the configuration says too. */
const configured: Readonly<Record<string, (config: ModelConfig) => string | undefined>> = {
  'cluster.clusterset.k8s.io': ({ cluster }) => cluster,
  'clusterset.k8s.io': ({ clusterset }) => clusterset,
  'region.causeway.dev': ({ region }) => region,
  'network.causeway.dev': ({ network }) => networkOf(network),
};

/** A property that contradicts the configuration changes nothing and is told. It has no status of ours. */
export const clusterPropertyProblems: Unit<StatusResult | undefined> = {
  name: 'clusterPropertyProblems',
  compute: (reader, name) => {
    const found = reader.get('ClusterProperty', name)?.spec.value;
    const expected = configured[name]?.(reader.config);
    if (found === undefined || !expected || found === expected) return undefined;
    const ref = { kind: 'ClusterProperty', namespace: '', name };
    const message = `the configuration says ${JSON.stringify(expected)} and stays in force, found ${JSON.stringify(found.slice(0, 100))}`;
    return {
      status: undefined,
      problems: [{ code: 'ClusterPropertyDiffers', ref, path: 'spec.value', message }],
    };
  },
};
