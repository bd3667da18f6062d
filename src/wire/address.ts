import ipaddr from 'ipaddr.js';

export type Family = 'IPv4' | 'IPv6';

const dotted = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;

/**
 * The one text form of an IP address: dotted decimal for IPv4, RFC 5952 for IPv6. Undefined for anything else:
 * short or octal IPv4, zone ids, prefixes, host names.
 */
export function canonicalAddress(text: string): string | undefined {
  if (dotted.test(text)) return text;
  if (text.length > 45 || !text.includes(':') || text.includes('%') || !ipaddr.IPv6.isValid(text))
    return undefined;
  return ipaddr.IPv6.parse(text).toRFC5952String();
}

/** Of a canonical address. */
export function familyOf(address: string): Family {
  return address.includes(':') ? 'IPv6' : 'IPv4';
}

/** IPv6 ranges that ipaddr.js knows by name and that no other host can answer from. */
const unusable: ReadonlySet<string> = new Set([
  'unspecified',
  'multicast',
  'linkLocal',
  'loopback',
  'ipv4Mapped',
]);

/**
 * Whether traffic may be sent to a canonical address. Kubernetes forbids the same ranges in EndpointSlices, for
 * the same reason: they would reach the node itself, or nobody.
 */
export function isUsableEndpoint(address: string): boolean {
  if (familyOf(address) === 'IPv6') return !unusable.has(ipaddr.IPv6.parse(address).range());
  const first = Number(address.slice(0, address.indexOf('.')));
  if (first === 0 || first === 127 || (first >= 224 && first < 240)) return false;
  return !address.startsWith('169.254.') && address !== '255.255.255.255';
}

/** An address as a number, with its family. Undefined: no address. */
export function addressToBigInt(
  text: string,
): { readonly family: Family; readonly value: bigint } | undefined {
  const address = canonicalAddress(text);
  if (address === undefined) return undefined;
  const value = ipaddr
    .parse(address)
    .toByteArray()
    .reduce((number, byte) => (number << 8n) | BigInt(byte), 0n);
  return { family: familyOf(address), value };
}

export function bigIntToAddress(family: Family, value: bigint): string {
  const bytes: number[] = [];
  for (let shift = family === 'IPv4' ? 24n : 120n; shift >= 0n; shift -= 8n) {
    bytes.push(Number((value >> shift) & 0xffn));
  }
  const address = ipaddr.fromByteArray(bytes);
  return address instanceof ipaddr.IPv6 ? address.toRFC5952String() : address.toString();
}

export interface Cidr {
  readonly family: Family;
  /** The first and last address of the range. */
  readonly first: bigint;
  readonly last: bigint;
  readonly prefix: number;
}

/** Undefined: not `<address>/<prefix length>`. Bits beyond the prefix are ignored. */
export function parseCidr(text: string): Cidr | undefined {
  const [address, length, ...rest] = text.split('/');
  if (address === undefined || length === undefined || rest.length > 0 || !/^\d{1,3}$/.test(length))
    return undefined;
  const parsed = addressToBigInt(address);
  const prefix = Number(length);
  const bits = parsed?.family === 'IPv4' ? 32 : 128;
  if (!parsed || prefix > bits) return undefined;
  const size = 1n << BigInt(bits - prefix);
  const first = parsed.value & ~(size - 1n);
  return { family: parsed.family, first, last: first + size - 1n, prefix };
}

export function cidrContains(
  cidr: Cidr,
  address: { readonly family: Family; readonly value: bigint },
): boolean {
  return cidr.family === address.family && address.value >= cidr.first && address.value <= cidr.last;
}
