/**
 * The intermediate representation: what traffic should do, in terms that know no Kubernetes. The model
 * compiles it from input records; xDS carries it; agents, dns and tools read it.
 */

export type Protocol = 'TCP' | 'UDP';

/** `gateway|service/<namespace>/<name>`; read from xDS, one per port: `…/<tcp|udp>-<port>`. */
export type FrontendKey = string;

/** `composite|selector|service|xbackend/<namespace>/<name>/<tcp|udp>-<port>`; also the xDS Cluster's name. */
export type BackendKey = string;

/**
 * A name and an address, and what stands behind each port. Several front ends may carry the same names and
 * VIPs: xDS delivers one port at a time.
 */
export interface Frontend {
  readonly key: FrontendKey;
  /** metadata.generation of the object it was compiled from. */
  readonly generation: number;
  /** Fully qualified DNS names, lower case, without a trailing dot. Empty: it has no name. */
  readonly names: readonly string[];
  /** Seconds. */
  readonly ttl: number;
  /** Canonical text, the primary family's first, at most one per family. */
  readonly vips: readonly string[];
  /** Sorted by protocol, then port. */
  readonly ports: readonly Port[];
}

export interface Port {
  readonly protocol: Protocol;
  readonly port: number;
  /** Names of the listeners on this port, for SRV: `_<name>._tcp.<frontend>`. */
  readonly listeners: readonly string[];
  /** What is spoken there, as `http`: targets with a weight say this or nothing. A hint, for people and proxies. */
  readonly appProtocol?: string;
  /** Empty: the port is ours and nothing answers there (rejected). */
  readonly targets: readonly Target[];
}

/** A share of a port's connections. `backend` null: a reference that does not resolve; its share is rejected. */
export interface Target {
  readonly backend: BackendKey | null;
  /** 0 to 1,000,000; 0 takes no traffic. */
  readonly weight: number;
}

export interface Backend {
  readonly key: BackendKey;
  /** Nodes prefer endpoints of their own zone only under PreferLocal. */
  readonly policy: 'Even' | 'PreferLocal' | 'Ordered';
  /** Sorted by cluster, then zone. The lowest priority that has an endpoint takes everything. */
  readonly groups: readonly Group[];
  /** Content is not known yet: it is answered neither with a body nor with a removal. */
  readonly withheld?: boolean;
}

/** The endpoints of one cluster and zone. */
export interface Group {
  readonly cluster: string;
  readonly network: string;
  readonly region: string;
  readonly zone: string;
  /** 0 is first; contiguous within a back end. */
  readonly priority: number;
  /** This group's share within its priority; 0 takes nothing. */
  readonly weight: number;
  readonly endpoints: readonly Endpoint[];
}

export interface Endpoint {
  /** One per IP family, canonical text: a dual-stack pod is one endpoint. */
  readonly addresses: readonly string[];
  readonly port: number;
  /** Draining endpoints are used only where no healthy one exists in any group. */
  readonly health: 'Healthy' | 'Draining';
  /** Share within the group, at least 1. */
  readonly weight: number;
  /** The source must be a node's address (the endpoint cannot route back to a client's own). */
  readonly snat?: boolean;
}

/** What a node must know of its cluster's nodes. */
export interface NodeFacts {
  readonly name: string;
  readonly zone: string;
  /** Sources in these ranges keep their address. */
  readonly podCIDRs: readonly string[];
  /** For the control plane only: clients are not expected there. */
  readonly reserved?: true;
}

/** A consistent view. Keys of the maps are the keys of what they hold. */
export interface Ir {
  readonly frontends: ReadonlyMap<FrontendKey, Frontend>;
  readonly backends: ReadonlyMap<BackendKey, Backend>;
  readonly nodes: ReadonlyMap<string, NodeFacts>;
}
