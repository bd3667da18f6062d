/** What the model must know of its own cluster. Constant: another configuration is another model. */
export interface ModelConfig {
  /** Cluster id, a DNS label. */
  readonly cluster: string;
  readonly region: string;
  /** Clusters of the same network (`networkOf`) reach each other's pods directly. Empty: none is said. */
  readonly network: string;
  /** Labels bound to this cluster's identity. */
  readonly labels?: Readonly<Record<string, string>>;
  /** DNS zone of front ends, without a trailing dot. */
  readonly zone: string;
  /** Seconds. */
  readonly ttl: number;
  readonly controllerName: string;
  /** Ranges of virtual addresses; the first one's family is the primary. */
  readonly serviceCidrs: readonly string[];
  /** Id of the set of clusters, if there is one. */
  readonly clusterset?: string;
  /** A relay is configured: what other clusters contribute is unknown until it has said so. */
  readonly relay: boolean;
}

export const defaultModelConfig: ModelConfig = {
  cluster: 'local',
  region: '',
  network: '',
  zone: 'gw.cluster.local',
  ttl: 5,
  controllerName: 'causeway.dev/gateway-controller',
  serviceCidrs: ['10.96.0.0/16'],
  relay: false,
};
