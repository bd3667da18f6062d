import type { Protocol } from '../ir.ts';
import type { ObjectRef } from '../problem.ts';

/**
 * Why a name leads where it leads: front end → port → route → back end → cluster → endpoint. Field names are a
 * promise to scripts (docs/seeing-why.md).
 */
export interface Explanation {
  /** As it was asked for. */
  readonly asked: string;
  /** Whose answer it is. */
  readonly cluster: string;
  /** Every port leads to an endpoint, and nothing that a route names is refused. */
  readonly works: boolean;
  /** What stops the path or takes a part of it away, from the name down; the first is the answer to "why". */
  readonly causes: readonly Cause[];
  readonly frontend?: FrontendExplanation;
  /** Where no Gateway is called so: what this cluster contributes to the CompositeBackend of that name. */
  readonly offer?: OfferExplanation;
}

export interface Cause {
  /** The name leads nowhere, or not to all it should; false: worth knowing. */
  readonly stops: boolean;
  /** A problem's code, a cluster's reason, or a reason of explain: all in docs/errors.md. */
  readonly reason: string;
  readonly ref: ObjectRef;
  /** Field of the object; empty: the whole. */
  readonly field: string;
  /** What was expected and what was found; no trailing period. */
  readonly message: string;
  /** What to do next. */
  readonly next: string;
}

interface ConditionLine {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

export interface FrontendExplanation {
  readonly namespace: string;
  readonly name: string;
  readonly class: string;
  readonly names: readonly string[];
  /** Seconds. */
  readonly ttl: number;
  readonly addresses: readonly string[];
  readonly conditions: readonly ConditionLine[];
  readonly causes: readonly Cause[];
  readonly ports: readonly PortExplanation[];
}

export interface OfferExplanation {
  readonly namespace: string;
  readonly name: string;
  readonly conditions: readonly ConditionLine[];
  readonly causes: readonly Cause[];
  readonly ports: readonly OfferedPort[];
}

export interface OfferedPort {
  readonly protocol: Protocol;
  readonly port: number;
  /** It is told to relays. */
  readonly offered: boolean;
  /** Who may take it, for people: as `every cluster`, `cluster west as team-b/shop`. */
  readonly to: readonly string[];
  /** What stands behind it here. */
  readonly own: ClusterExplanation;
}

export interface RouteName {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

export interface PortExplanation {
  readonly listener: string;
  readonly protocol: string;
  readonly port: number;
  readonly causes: readonly Cause[];
  /** What carries the traffic; `attached` false: what would, if nothing stopped it. */
  readonly route?: RouteName & { readonly attached: boolean };
  /** Routes that name this listener and carry nothing. */
  readonly notUsed: readonly (RouteName & { readonly reason: string })[];
  readonly backends: readonly BackendExplanation[];
}

export interface BackendExplanation {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly port?: number;
  /** Of the port's connections, 0 to 1. */
  readonly share: number;
  readonly policy?: string;
  readonly causes: readonly Cause[];
  readonly clusters: readonly ClusterExplanation[];
}

export interface ClusterExplanation {
  readonly cluster: string;
  /** `own`, `direct` (its network is ours), `none` (no way there). */
  readonly path: 'own' | 'direct' | 'none';
  readonly network: string;
  /** As in the status of a CompositeBackend. */
  readonly state: string;
  readonly reason: string;
  readonly ready: number;
  /** All that are selected and not terminating. */
  readonly selected: number;
  /** Of the back end's connections, 0 to 1. */
  readonly share: number;
  /** Why it takes this share, or nothing; no trailing period. */
  readonly why: string;
  /** `address:port` of those that can take traffic; where the share is 0 they wait. */
  readonly endpoints: readonly string[];
  readonly notUsed: readonly { readonly name: string; readonly why: string }[];
  readonly causes: readonly Cause[];
}
