import type { HostAddress } from './address-plan.ts';
import type { Namespace } from './namespace.ts';

export interface NodeOptions {
  readonly zone?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

/** A node: its namespace is where an agent and host-network processes run. */
export interface ClusterNode {
  readonly name: string;
  readonly address: HostAddress;
  readonly podCidrs: HostAddress;
  readonly namespace: Namespace;
  readonly uid: string;
  readonly created: string;
  readonly options: NodeOptions;
  /** 1, 2, … in order of `addNode`. */
  readonly number: number;
  /** Pods that were ever placed here: an address is not given twice. */
  pods: number;
}
