import { rcodes, recordClasses, recordTypes } from '../../wire/dns/codes.ts';
import { isWithin } from '../../wire/dns/name.ts';
import {
  headerBytes,
  parseQuery,
  type Query,
  type QueryEdns,
  type UnusableQuery,
} from '../../wire/dns/query.ts';
import { type RecordSet, soaPointers } from './record-set.ts';
import type { Zone, ZoneNode } from './zone.ts';

export interface Answer {
  readonly packet: Buffer;
  readonly rcode: number;
}

/** The largest answer over UDP: no fragments on any link that IPv6 may use. Also what we say in EDNS. */
const maxUdpBytes = 1232;
const minUdpBytes = 512;
const maxTcpBytes = 0xffff;
const optBytes = 11;

/**
 * Answers a packet from the zone. Undefined: nothing may be sent (it is a response itself, or shorter than a
 * header). Never throws, whatever the packet holds. docs/dns.md lists which answer is given when.
 */
export function answer(zone: Zone, packet: Buffer, transport: 'udp' | 'tcp'): Answer | undefined {
  const query = parseQuery(packet);
  if (!query) return undefined;
  if (query.refuse !== undefined) return bare(packet, query, query.refuse);
  if (query.class !== recordClasses.IN) return bare(packet, query, rcodes.REFUSED);
  const node = zone.lookup(query.name);
  if (!node && !isWithin(query.name, zone.apex)) return bare(packet, query, rcodes.REFUSED);
  if (query.type === recordTypes.AXFR || query.type === recordTypes.IXFR) {
    return bare(packet, query, rcodes.REFUSED);
  }
  if (!zone.isComplete) return bare(packet, query, rcodes.SERVFAIL);
  if (!node) return negative(zone, packet, query, rcodes.NXDOMAIN);
  const set = find(node, query.type);
  return set ? positive(zone, packet, query, set, transport) : negative(zone, packet, query, rcodes.NOERROR);
}

/** ANY gets one of the sets that there are, whichever (RFC 8482 §4.1). */
function find(node: ZoneNode, type: number): RecordSet | undefined {
  if (type === recordTypes.ANY) return node.sets[0];
  for (const set of node.sets) if (set.type === type) return set;
  return undefined;
}

function positive(
  zone: Zone,
  packet: Buffer,
  query: Query,
  set: RecordSet,
  transport: 'udp' | 'tcp',
): Answer {
  const tail = query.edns ? optBytes : 0;
  const room = limitOf(query.edns, transport) - query.questionEnd - tail;
  const count = set.bytes.length <= room ? set.ends.length : fitting(set.ends, room);
  const truncated = count < set.ends.length;
  const size = truncated ? (set.ends[count - 1] ?? 0) : set.bytes.length;
  const extra = set.target && !truncated ? addressesOf(zone, set.target.key, room - size) : noSets;

  let end = query.questionEnd + size;
  let extraRecords = 0;
  let extraBytes = 0;
  for (const s of extra) {
    extraRecords += s.ends.length;
    extraBytes += s.bytes.length;
  }
  const out = Buffer.allocUnsafe(end + extraBytes + tail);
  packet.copy(out, 0, 0, query.questionEnd);
  set.bytes.copy(out, query.questionEnd, 0, size);
  for (const s of extra) {
    s.bytes.copy(out, end);
    const target = 0xc000 | (query.questionEnd + (set.target?.offset ?? 0));
    for (let i = 0; i < s.ends.length; i += 1) out.writeUInt16BE(target, end + (s.ends[i - 1] ?? 0));
    end += s.bytes.length;
  }
  writeHeader(out, packet, {
    rcode: rcodes.NOERROR,
    aa: true,
    tc: truncated,
    counts: [1, count, 0, extraRecords],
  });
  if (query.edns) writeOpt(out, query.edns, rcodes.NOERROR);
  return { packet: out, rcode: rcodes.NOERROR };
}

/** How many records end within `room`. */
function fitting(ends: readonly number[], room: number): number {
  let count = 0;
  while ((ends[count] ?? Number.POSITIVE_INFINITY) <= room) count += 1;
  return count;
}

const noSets: readonly RecordSet[] = [];

/** Additional data is left out rather than truncated (RFC 2181 §9). */
function addressesOf(zone: Zone, target: string, room: number): readonly RecordSet[] {
  let left = room;
  return (zone.lookup(target)?.sets ?? noSets).filter((s) => {
    if ((s.type !== recordTypes.A && s.type !== recordTypes.AAAA) || s.bytes.length > left) return false;
    left -= s.bytes.length;
    return true;
  });
}

/** NXDOMAIN, or NOERROR without data; both with SOA, so that resolvers know how long to keep it (RFC 2308). */
function negative(zone: Zone, packet: Buffer, query: Query, rcode: number): Answer {
  const soa = zone.soa.bytes;
  const out = Buffer.allocUnsafe(query.questionEnd + soa.length + (query.edns ? optBytes : 0));
  packet.copy(out, 0, 0, query.questionEnd);
  soa.copy(out, query.questionEnd);
  const apex = 0xc000 | (headerBytes + query.name.length - zone.apex.length);
  for (const at of soaPointers) out.writeUInt16BE(apex, query.questionEnd + at);
  writeHeader(out, packet, { rcode, aa: true, tc: false, counts: [1, 0, 1, 0] });
  if (query.edns) writeOpt(out, query.edns, rcode);
  return { packet: out, rcode };
}

/** The header and, where it could be read, the question. */
function bare(packet: Buffer, query: Query | UnusableQuery, rcode: number): Answer {
  const out = Buffer.allocUnsafe(query.questionEnd + (query.edns ? optBytes : 0));
  packet.copy(out, 0, 0, query.questionEnd);
  const questions = query.questionEnd > headerBytes ? 1 : 0;
  writeHeader(out, packet, { rcode, aa: false, tc: false, counts: [questions, 0, 0, 0] });
  if (query.edns) writeOpt(out, query.edns, rcode);
  return { packet: out, rcode };
}

function limitOf(edns: QueryEdns | undefined, transport: 'udp' | 'tcp'): number {
  if (transport === 'tcp') return maxTcpBytes;
  return edns ? Math.min(Math.max(edns.udpSize, minUdpBytes), maxUdpBytes) : minUdpBytes;
}

interface Header {
  readonly rcode: number;
  readonly aa: boolean;
  readonly tc: boolean;
  /** Questions, answers, authorities, additionals without OPT. */
  readonly counts: readonly [number, number, number, number];
}

/** The id stays; opcode and RD are copied (RFC 1035 §4.1.1), RA, Z, AD and CD are 0. */
function writeHeader(out: Buffer, packet: Buffer, header: Header): void {
  const asked = packet[2] as number;
  out[2] = 0x80 | (asked & 0x79) | (header.aa ? 0x04 : 0) | (header.tc ? 0x02 : 0);
  out[3] = header.rcode & 15;
  for (const [i, n] of header.counts.entries()) out.writeUInt16BE(n, 4 + 2 * i);
}

/** The last record: ours, with the sender's DO bit (RFC 6891 §6.1). */
function writeOpt(out: Buffer, edns: QueryEdns, rcode: number): void {
  const at = out.length - optBytes;
  out[at] = 0;
  out.writeUInt16BE(recordTypes.OPT, at + 1);
  out.writeUInt16BE(maxUdpBytes, at + 3);
  out[at + 5] = rcode >> 4;
  out[at + 6] = 0;
  out.writeUInt16BE(edns.dnssecOk ? 0x8000 : 0, at + 7);
  out.writeUInt16BE(0, at + 9);
  out.writeUInt16BE(out.readUInt16BE(10) + 1, 10);
}
