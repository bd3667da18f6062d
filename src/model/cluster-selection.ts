import type { Origin } from './inputs.ts';
import { type LabelSelector, type Labels, selects } from './label-selector.ts';
import type { ModelConfig } from './model-config.ts';

/** `import`, `export` and `order` of a composite: by id, by labels, or both; empty: every cluster. */
export interface ClusterMatch extends LabelSelector {
  /** Absent: any. */
  readonly names?: readonly string[];
}

/** What selectors see of a cluster: what its identity carries. */
export interface ClusterFacts {
  readonly cluster: string;
  /** Empty: not known; so is `region`. */
  readonly network: string;
  readonly region: string;
  readonly labels: Labels;
}

/** The one meaning of a selector of clusters, for consumers and for relays. */
export function selectsCluster(selector: ClusterMatch, cluster: ClusterFacts): boolean {
  if (selector.names && !selector.names.includes(cluster.cluster)) return false;
  return selects(selector, labelsOf(cluster));
}

/** `region` and `network` can be selected as labels; a label of that name that the identity carries wins. */
const labelsOf = ({ region, network, labels }: ClusterFacts): Labels => ({
  ...(region === '' ? {} : { region }),
  ...(network === '' ? {} : { network }),
  ...labels,
});

export const ownCluster = ({ cluster, network, region, labels = {} }: ModelConfig): ClusterFacts => ({
  cluster,
  network,
  region,
  labels,
});

export const clusterOf = ({ cluster, network, region, labels }: Origin): ClusterFacts => ({
  cluster,
  network,
  region,
  labels,
});
