import type { TallyState } from './tally.ts';

/** What a client does. It ends after `requests`, after `seconds`, or when it is stopped. */
export interface LoadPlan {
  /** A name (asked for again each second) or an address. */
  readonly host: string;
  readonly port: number;
  /** TCP: a new connection per request. UDP: a new socket per datagram, unless `oneSocket`. */
  readonly protocol: 'TCP' | 'UDP';
  readonly requests?: number;
  readonly seconds?: number;
  /** Requests in flight at most; default 8. */
  readonly concurrency?: number;
  /** Requests started per second at most. */
  readonly rate?: number;
  /** A request without an answer by then has failed; default 3000. */
  readonly timeoutMs?: number;
  /** Only addresses of this family. */
  readonly family?: 4 | 6;
  readonly oneSocket?: boolean;
  /** Prints what happened since the last time, this often. */
  readonly everyMs?: number;
  /** Tells of each request that failed, and when it was made. */
  readonly tellFailures?: boolean;
}

/** A request that got no answer. Epoch milliseconds. */
export interface FailedRequest {
  readonly begun: number;
  readonly ended: number;
  readonly reason: string;
}

/** One line of a client's standard output. The last one is the total. */
export type LoadLine =
  | { readonly delta: TallyState }
  | { readonly failed: FailedRequest }
  | { readonly total: TallyState };
