/** Both families of one host; `v6` empty where the machine has no IPv6. */
export interface HostAddress {
  readonly v4: string;
  readonly v6: string;
}

/** Addresses of the network between clusters: the router, the relay, the operator's seat, a client outside. */
export const wanAddress = (host: number): HostAddress => ({ v4: `172.18.0.${host}`, v6: `fd00:18::${host}` });

export const wanHosts = { router: 1, seat: 2, hub: 10, client: 20 } as const;

/** The part of the plan that belongs to cluster number `cluster` (1 to 9). Clusters do not overlap. */
export function clusterPlan(cluster: number) {
  return {
    /** Where the cluster's own control plane (controller and dns) runs. */
    control: { v4: `172.18.${cluster}.100`, v6: `fd00:18:${cluster}::100` },
    serviceCidrs: { v4: `10.${95 + cluster}.0.0/16`, v6: `fd00:96:${cluster}::/112` },
    /** Node number `node` (1 to 99). */
    node: (node: number): HostAddress => ({
      v4: `172.18.${cluster}.${node}`,
      v6: `fd00:18:${cluster}::${node}`,
    }),
    podCidrs: (node: number): HostAddress => ({
      v4: `10.${10 * cluster}.${node}.0/24`,
      v6: `fd00:10:${cluster}:${node}::/64`,
    }),
    /** Pod number `pod` (2 to 254) of a node. */
    pod: (node: number, pod: number): HostAddress => ({
      v4: `10.${10 * cluster}.${node}.${pod}`,
      v6: `fd00:10:${cluster}:${node}::${pod}`,
    }),
  };
}

export type ClusterPlan = ReturnType<typeof clusterPlan>;
