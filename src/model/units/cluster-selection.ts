import type { ClusterSelector } from '../../api/composite-backend.ts';
import type { Origin } from '../inputs.ts';
import { type Labels, selects } from '../label-selector.ts';
import type { ModelConfig } from '../model-config.ts';

/** What selectors of clusters see of one. */
export interface ClusterFacts {
  readonly cluster: string;
  readonly network: string;
  readonly region: string;
  readonly labels: Labels;
}

/** `region` and `network` can be selected as labels; a label of that name that the identity carries wins. */
const labelsOf = ({ region, network, labels }: ClusterFacts): Labels => ({ region, network, ...labels });

export function selectsCluster(selector: ClusterSelector, cluster: ClusterFacts): boolean {
  if (selector.names && !selector.names.includes(cluster.cluster)) return false;
  return selects(selector, labelsOf(cluster));
}

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
