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

/** Ranges of IPv6 (as `ipaddr.js` names them) that a connection can be sent to on another machine. */
const usableRanges = new Set([
  'unicast',
  'uniqueLocal',
  'amt',
  'orchid2',
  'rfc6052',
  'droneRemoteIdProtocolEntityTags',
]);

/** An address that may stand in our table, or why not. Documentation ranges pass: they are used in examples. */
export function parseAddress(text: unknown): Address | string {
  if (typeof text !== 'string' || text.length > 45) return 'expected an IP address';
  const version = isIP(text);
  if (version === 4) {
    const fault = fault4(text);
    return fault === undefined ? { family: 4, text } : `${text} is not a usable address (${fault})`;
  }
  if (version === 0 || text.includes('%')) return `expected an IP address, found ${JSON.stringify(text)}`;
  const parsed = ipaddr.IPv6.parse(text);
  const range = parsed.range();
  if (!usableRanges.has(range) && !/^2001:0?db8:/i.test(text)) {
    return `${text} is not a usable address (${range})`;
  }
  const canonical = parsed.toRFC5952String();
  if (canonical.includes('.') || /^::[0-9a-f]+:[0-9a-f]+$/.test(canonical)) {
    return `${text} is not a usable address (IPv4 inside IPv6)`;
  }
  return { family: 6, text: canonical };
}

/** RFC 6890: what is never another machine's own address. */
function fault4(text: string): string | undefined {
  const dot = text.indexOf('.');
  const a = Number(text.slice(0, dot));
  if (a !== 0 && a !== 127 && a !== 169 && a !== 192 && a < 224) return undefined;
  const [b = 0, c = 0] = text
    .slice(dot + 1)
    .split('.', 2)
    .map(Number);
  if (a === 0) return 'unspecified';
  if (a === 127) return 'loopback';
  if (a === 169 && b === 254) return 'linkLocal';
  if (a === 192 && b === 0 && c === 0) return 'reserved';
  if (a >= 240) return 'reserved';
  return a >= 224 ? 'multicast' : undefined;
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
    const bytes =
      address.family === 4 ? address.text.split('.').map(Number) : ipaddr.parse(address.text).toByteArray();
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
