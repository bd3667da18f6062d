import type { Objects } from '../api/kinds.ts';
import type { Protocol } from './ir.ts';

/**
 * What the model reads: Kubernetes objects reduced to the fields that `api/` defines, and records of our own.
 * Each is an immutable value under (kind, key): `<namespace>/<name>`, or `<name>` where there is no namespace.
 */
export interface Inputs extends Objects, OwnInputs {}

interface OwnInputs {
  /** key: the address. */
  Claim: Claim;
  /** key: `<namespace>/<composite>/<tcp|udp>-<port>/<source>`, see `contributionSource`. */
  Contribution: Contribution;
  /** key: cluster id. */
  Origin: Origin;
  /** key: `<namespace>/<composite>/<tcp|udp>-<port>`. */
  Import: Import;
  /** key: that of the Contribution. */
  Probe: Probe;
  /** key: `<namespace>/<name>` of the Gateway. */
  Programming: Programming;
  /** key: `<namespace>/<name>` of the Gateway. */
  ClaimFailure: ClaimFailure;
}

/** An address that is taken. `releasing`: its front end is gone, but a node may still translate it. */
export interface Claim {
  readonly address: string;
  /** Who holds it. */
  readonly gateway: { readonly namespace: string; readonly name: string; readonly uid: string };
  readonly state: 'bound' | 'releasing';
}

/** Why a Gateway does not get an address that it asks for. Gone as soon as it has all of them. */
export interface ClaimFailure {
  /** NotAssigned: no address is free. NotUsable: the requested address is taken, or outside every range. */
  readonly reason: 'NotAssigned' | 'NotUsable';
  readonly message: string;
}

/** What another cluster contributes to a composite's port, all shards together. */
export interface Contribution {
  readonly cluster: string;
  /** Of our composite, which it contributes to. */
  readonly namespace: string;
  readonly composite: string;
  /** `<namespace>/<name>` of its own composite, where that is not the same. */
  readonly from?: string;
  readonly protocol: Protocol;
  readonly port: number;
  readonly appProtocol?: string;
  /** Ready endpoints, and all selected ones that are not terminating. */
  readonly ready: number;
  readonly selected: number;
  readonly endpoints: readonly RemoteEndpoint[];
}

export interface RemoteEndpoint {
  readonly addresses: readonly string[];
  readonly port: number;
  readonly zone: string;
  readonly health: 'Healthy' | 'Draining';
}

/** What is known of another cluster. Region, network and labels come from its identity, never from itself. */
export interface Origin {
  readonly cluster: string;
  readonly region: string;
  readonly network: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Syncing: its first complete state has not come. Stale: no heartbeat, or our stream to the relay ended. */
  readonly state: 'Synced' | 'Syncing' | 'Stale';
  /** Epoch milliseconds at which it became Stale; 0 otherwise. */
  readonly staleSince: number;
}

/** A composite's port that is asked of the relay. Until `complete`, what data planes hold must not be replaced. */
interface Import {
  readonly complete: boolean;
  /** No relay has answered, now or before a restart: own endpoints serve, and nothing is known of others. */
  readonly unanswered?: boolean;
}

/** Endpoints of a Stale cluster that do not take connections. Absent: all do, or it is not known. */
interface Probe {
  /** As `ProbeTarget` names them, sorted. */
  readonly failing: readonly string[];
}

/** What nodes hold of a Gateway. */
export interface Programming {
  readonly generation: number;
  /** Every agent connected on a Ready node has acknowledged this generation. */
  readonly programmed: boolean;
  /** For people: counts, or what a node refused. */
  readonly message: string;
  /** A node proved that its packets bypass the table. */
  readonly bypassed?: boolean;
}

export type InputKind = keyof Inputs;

/** `value` undefined: the record is gone. */
export type Change = {
  [K in InputKind]: { readonly kind: K; readonly key: string; readonly value: Inputs[K] | undefined };
}[InputKind];
