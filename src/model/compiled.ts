import type { ClusterSelector } from '../api/composite-backend.ts';
import type { RemoteEndpoint } from './inputs.ts';
import type { Backend, BackendKey, Frontend, FrontendKey, Ir, NodeFacts, Protocol } from './ir.ts';
import type { ObjectRef, Problem } from './problem.ts';

/** Everything the model says; `Ir` is the part that data planes see. All maps iterate in key order. */
export interface Compiled extends Ir {
  readonly frontends: ReadonlyMap<FrontendKey, Frontend>;
  readonly backends: ReadonlyMap<BackendKey, Backend>;
  readonly nodes: ReadonlyMap<string, NodeFacts>;
  /** key: `<kind>/<namespace>/<name>`. */
  readonly statuses: ReadonlyMap<string, Status>;
  /** key: `<namespace>/<name>` of the Gateway. */
  readonly claims: ReadonlyMap<string, WantedClaim>;
  /** What this cluster offers to others; key: `<namespace>/<composite>/<tcp|udp>-<port>`. */
  readonly exports: ReadonlyMap<string, Export>;
  /** What is asked of other clusters; the keys of `Import` records. */
  readonly imports: ReadonlySet<string>;
  /** Where it must be found out whether endpoints take connections, by the key of their Contribution. */
  readonly probes: ReadonlyMap<string, ProbeTarget>;
  readonly problems: readonly Problem[];
}

/** The status this controller wants on an object: conditions and the fields it owns, in the API's own shape. */
export interface Status {
  readonly ref: ObjectRef;
  readonly apiVersion: string;
  readonly generation: number;
  /** Conditions carry no lastTransitionTime: the output that writes them adds it. */
  readonly status: Readonly<Record<string, unknown>>;
}

/** The addresses that a Gateway should have. An empty `requested` list: any address of `families`. */
export interface WantedClaim {
  readonly gateway: { readonly namespace: string; readonly name: string; readonly uid: string };
  readonly families: readonly ('IPv4' | 'IPv6')[];
  readonly requested: readonly string[];
}

export interface ProbeTarget {
  readonly cluster: string;
  /** `<address> <port>` of each endpoint, TCP. */
  readonly places: readonly string[];
}

export interface Export {
  readonly namespace: string;
  readonly composite: string;
  readonly protocol: Protocol;
  readonly port: number;
  /** What is spoken there, if its back ends say it and agree. */
  readonly appProtocol?: string;
  /** `XEndpointSelector`, …: what stands behind, for people. */
  readonly kinds: readonly string[];
  readonly ready: number;
  readonly selected: number;
  /** Each address and port once, in an order that depends on them alone. */
  readonly endpoints: readonly RemoteEndpoint[];
  /** Who may take it under the same name: clusters that any entry selects. An empty entry is every cluster. */
  readonly to: readonly ClusterSelector[];
  /** Who may take it under another name: by `<namespace>/<name>` of the consumer's composite. */
  readonly as?: Readonly<Record<string, readonly ClusterSelector[]>>;
}

/** Which keys of which table an update touched (set or gone). */
export type Touched = {
  readonly [K in
    | 'frontends'
    | 'backends'
    | 'nodes'
    | 'statuses'
    | 'claims'
    | 'exports'
    | 'imports'
    | 'probes']: ReadonlySet<string>;
};
