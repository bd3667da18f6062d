import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

export type Family = 4 | 6;

/** Where a share of a VIP without endpoints leads: never a valid destination, rejected in forward and output. */
export const reserved: Readonly<Record<Family, string>> = { 4: '192.0.0.8', 6: '100::8' };

export interface Address {
  readonly family: Family;
  /** As the kernel's tools print it. */
  readonly text: string;
}

/** Ranges (as `ipaddr.js` names them) that a connection can be sent to from another machine. */
const usableRanges = new Set([
  'unicast',
  'private',
  'uniqueLocal',
  'carrierGradeNat',
  'as112',
  'amt',
  'benchmarking',
  'orchid2',
  'rfc6052',
  'droneRemoteIdProtocolEntityTags',
]);

/** An address that may stand in our table, or why not. Documentation ranges pass: they are used in examples. */
export function parseAddress(text: unknown): Address | string {
  if (typeof text !== 'string' || text.length > 45) return 'expected an IP address';
  const version = isIP(text);
  if (version === 0 || text.includes('%')) return `expected an IP address, found ${JSON.stringify(text)}`;
  const parsed = ipaddr.parse(text);
  const range = parsed.range();
  const documentation = /^(192\.0\.2|198\.51\.100|203\.0\.113)\./.test(text) || /^2001:0?db8:/i.test(text);
  if (!usableRanges.has(range) && !documentation) return `${text} is not a usable address (${range})`;
  if (version === 4) return { family: 4, text };
  const canonical = (parsed as ipaddr.IPv6).toRFC5952String();
  if (canonical.includes('.') || /^::[0-9a-f]+:[0-9a-f]+$/.test(canonical)) {
    return `${text} is not a usable address (IPv4 inside IPv6)`;
  }
  return { family: 6, text: canonical };
}

/** A port number, or why not. */
export function parsePort(port: unknown): number | string {
  return typeof port === 'number' && Number.isInteger(port) && port >= 1 && port <= 65535
    ? port
    : `expected a port from 1 to 65535, found ${JSON.stringify(port)}`;
}

export interface Range {
  readonly family: Family;
  /** As `nft` lists it: `10.1.0.0/16`; a single address has no length. */
  readonly text: string;
  readonly network: ipaddr.IPv4 | ipaddr.IPv6;
  readonly length: number;
}

/** A CIDR; host bits are cleared. */
export function parseRange(text: unknown): Range | string {
  if (typeof text !== 'string' || text.length > 49 || text.includes('%') || !ipaddr.isValidCIDR(text)) {
    return `expected a CIDR, found ${JSON.stringify(text)}`;
  }
  const [address, length] = ipaddr.parseCIDR(text);
  if (address.kind() === 'ipv4') {
    const network = ipaddr.IPv4.networkAddressFromCIDR(text);
    const name = network.toString();
    return { family: 4, text: length === 32 ? name : `${name}/${length}`, network, length };
  }
  const network = ipaddr.IPv6.networkAddressFromCIDR(text);
  const name = network.toRFC5952String();
  return { family: 6, text: length === 128 ? name : `${name}/${length}`, network, length };
}

/** Whether an address lies in one of many ranges: one look-up per distinct prefix length. */
export class RangeSet {
  readonly size: number;
  readonly #lengths = new Map<string, { family: Family; length: number; networks: Set<string> }>();

  constructor(ranges: readonly Range[]) {
    this.size = ranges.length;
    for (const { family, length, network } of ranges) {
      const id = `${family}/${length}`;
      const entry = this.#lengths.get(id) ?? { family, length, networks: new Set<string>() };
      this.#lengths.set(id, entry);
      entry.networks.add(prefix(network.toByteArray(), length));
    }
  }

  has(address: Address): boolean {
    if (this.size === 0) return false;
    const bytes = ipaddr.parse(address.text).toByteArray();
    for (const { family, length, networks } of this.#lengths.values()) {
      if (family === address.family && networks.has(prefix(bytes, length))) return true;
    }
    return false;
  }
}

function prefix(bytes: readonly number[], length: number): string {
  const whole = length >> 3;
  const rest = length & 7;
  const last = rest === 0 ? [] : [(bytes[whole] as number) & (0xff00 >> rest)];
  return String.fromCharCode(...bytes.slice(0, whole), ...last);
}

/** Sorted, without ranges that lie inside another: nft refuses overlapping intervals. */
export function disjoint(ranges: readonly Range[]): readonly Range[] {
  const keyed = ranges.map((range) => ({ range, bytes: range.network.toByteArray() }));
  keyed.sort(
    (a, b) =>
      a.range.family - b.range.family ||
      Buffer.from(a.bytes).compare(Buffer.from(b.bytes)) ||
      a.range.length - b.range.length,
  );
  const kept: Range[] = [];
  for (const { range } of keyed) {
    const last = kept.at(-1);
    const inside = last?.family === range.family && range.network.match(last.network as never, last.length);
    if (!inside) kept.push(range);
  }
  return kept;
}
