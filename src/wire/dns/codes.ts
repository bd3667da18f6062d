/** Numbers of the IANA registry "Domain Name System (DNS) Parameters": those this program uses. */
export const recordTypes = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  TXT: 16,
  AAAA: 28,
  SRV: 33,
  OPT: 41,
  IXFR: 251,
  AXFR: 252,
  ANY: 255,
} as const;

export const recordClasses = { IN: 1, CH: 3, ANY: 255 } as const;

export const opcodes = { QUERY: 0, IQUERY: 1, STATUS: 2, NOTIFY: 4, UPDATE: 5 } as const;

export const rcodes = {
  NOERROR: 0,
  FORMERR: 1,
  SERVFAIL: 2,
  NXDOMAIN: 3,
  NOTIMP: 4,
  REFUSED: 5,
  BADVERS: 16,
} as const;

/** Bits of the header's second word (RFC 1035 §4.1.1, RFC 4035 §3). */
export const headerFlags = {
  QR: 0x8000,
  AA: 0x0400,
  TC: 0x0200,
  RD: 0x0100,
  RA: 0x0080,
  AD: 0x0020,
  CD: 0x0010,
} as const;

/** `NXDOMAIN`, or `RCODE23` for a number that is not in the table above. */
export function rcodeName(rcode: number): string {
  return rcodeNames.get(rcode) ?? `RCODE${rcode}`;
}

const rcodeNames = new Map<number, string>(Object.entries(rcodes).map(([name, code]) => [code, name]));
