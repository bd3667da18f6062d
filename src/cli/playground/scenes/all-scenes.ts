import { canary } from './canary.ts';
import { clusterGoes } from './cluster-goes.ts';
import { oneCluster } from './one-cluster.ts';
import { podsComeAndGo } from './pods-come-and-go.ts';
import { relayDies } from './relay-dies.ts';
import { remoteOnly } from './remote-only.ts';
import type { Scene } from './scene.ts';
import { twoClusters } from './two-clusters.ts';
import { udp } from './udp.ts';

/** In the order in which they run; each leaves the world as it found it. */
export const scenes: readonly Scene[] = [
  oneCluster,
  twoClusters,
  canary,
  remoteOnly,
  udp,
  podsComeAndGo,
  relayDies,
  clusterGoes,
];
