import type { Cause } from '../../model/explain/explanation.ts';

/** One step of the real path, as it was tried. Field names are a promise to scripts (docs/seeing-why.md). */
export interface Hop {
  readonly hop: 'Wanted' | 'DNS' | 'Node' | 'VIP' | 'Endpoint';
  /** What was tried: a name, a node, `address:port`, a cluster. */
  readonly what: string;
  /** `Skipped`: it cannot be tried from here, or the protocol gives no answer. */
  readonly result: 'Good' | 'Broken' | 'Skipped';
  /** What came of it. */
  readonly found: string;
  readonly ms: number;
  /** Why; where it is broken. */
  readonly cause?: Cause;
}

export interface Verification {
  readonly asked: string;
  readonly cluster: string;
  /** Who sent the packets: host name and address. */
  readonly from: string;
  readonly works: boolean;
  readonly hops: readonly Hop[];
}

/**
 * What became of a connection or datagram that was tried. `refused`: a TCP reset or an ICMP "port unreachable", from
 * the endpoint or from a node on the way. `silent`: nothing came back, of which UDP alone cannot say why.
 */
export type Tried = 'answered' | 'refused' | 'silent' | 'unreachable';

export interface Resolved {
  /** The rcode's name, or `TIMEOUT`. */
  readonly rcode: string;
  readonly addresses: readonly string[];
}

/** The world that packets go through; a fake one in tests. */
export interface Probes {
  /** Who we are: for people. */
  readonly from: string;
  readonly hostname: string;
  readonly addresses: readonly string[];
  /** The resolver that programs here use; undefined: none is configured. */
  readonly resolver: string | undefined;
  resolve(server: string, name: string, family: 'IPv4' | 'IPv6'): Promise<Resolved>;
  connect(address: string, port: number): Promise<Tried>;
  /** Sends a datagram from a socket of its own, again while nothing comes back, and waits for any answer. */
  exchange(address: string, port: number, datagram: Buffer): Promise<Tried>;
  /** Milliseconds, monotonic. */
  now(): number;
}
