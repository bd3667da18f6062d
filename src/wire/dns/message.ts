/** A whole message, for clients and tests. Servers read queries with `parseQuery` and never build this. */
export interface Message {
  readonly id: number;
  readonly flags: MessageFlags;
  readonly opcode: number;
  /** All 12 bits: the upper eight travel in OPT (RFC 6891 §6.1.3). */
  readonly rcode: number;
  readonly questions: readonly Question[];
  readonly answers: readonly ResourceRecord[];
  readonly authorities: readonly ResourceRecord[];
  /** Without OPT, which is `edns`. */
  readonly additionals: readonly ResourceRecord[];
  readonly edns?: Edns;
}

export interface MessageFlags {
  readonly qr: boolean;
  readonly aa: boolean;
  readonly tc: boolean;
  readonly rd: boolean;
  readonly ra: boolean;
  readonly ad: boolean;
  readonly cd: boolean;
}

/** Names are text as in `name.ts`, in the case they were sent in. */
export interface Question {
  readonly name: string;
  readonly type: number;
  readonly class: number;
}

export interface ResourceRecord {
  readonly name: string;
  readonly class: number;
  /** Seconds. */
  readonly ttl: number;
  readonly data: RecordData;
}

export type RecordData =
  | { readonly type: 'A' | 'AAAA'; readonly address: string }
  | { readonly type: 'NS' | 'CNAME' | 'PTR'; readonly target: string }
  | { readonly type: 'TXT'; readonly strings: readonly Buffer[] }
  | SrvData
  | SoaData
  | { readonly type: 'other'; readonly code: number; readonly bytes: Buffer };

interface SrvData {
  readonly type: 'SRV';
  readonly priority: number;
  readonly weight: number;
  readonly port: number;
  readonly target: string;
}

/** Times in seconds. */
interface SoaData {
  readonly type: 'SOA';
  readonly mname: string;
  readonly rname: string;
  readonly serial: number;
  readonly refresh: number;
  readonly retry: number;
  readonly expire: number;
  readonly minimum: number;
}

/** The OPT pseudo-record (RFC 6891). */
export interface Edns {
  /** The largest UDP message its sender takes. */
  readonly udpSize: number;
  readonly version: number;
  readonly dnssecOk: boolean;
  readonly options: readonly { readonly code: number; readonly bytes: Buffer }[];
}

export const noFlags: MessageFlags = {
  qr: false,
  aa: false,
  tc: false,
  rd: false,
  ra: false,
  ad: false,
  cd: false,
};
