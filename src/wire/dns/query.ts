import { headerFlags, opcodes, rcodes, recordTypes } from './codes.ts';
import { maxLabelBytes, maxNameBytes, type NameKey, skipName } from './name.ts';

export const headerBytes = 12;

/** What a server needs of a query with one question. The question's octets are `packet[12 … questionEnd)`. */
export interface Query {
  readonly refuse?: undefined;
  readonly name: NameKey;
  readonly type: number;
  readonly class: number;
  readonly questionEnd: number;
  readonly edns: QueryEdns | undefined;
}

export interface QueryEdns {
  /** As sent; below 512 means 512 (RFC 6891 §6.2.3). */
  readonly udpSize: number;
  readonly version: number;
  readonly dnssecOk: boolean;
}

/** A packet that is answered with an error alone. `questionEnd` 12: its question cannot be repeated. */
export interface UnusableQuery {
  readonly refuse: number;
  readonly questionEnd: number;
  readonly edns: QueryEdns | undefined;
}

/**
 * Reads a packet that a server received. Undefined: it must not be answered (a response, or too short to have
 * an id to answer to). Never throws; time is linear in the packet's size. Options and records other than OPT are
 * skipped unread.
 */
export function parseQuery(packet: Buffer): Query | UnusableQuery | undefined {
  if (packet.length < headerBytes) return undefined;
  const flags = (packet[2] as number) << 8;
  if (flags & headerFlags.QR) return undefined;
  if (((flags >> 11) & 15) !== opcodes.QUERY) return unusable(rcodes.NOTIMP);
  if (packet[4] !== 0 || packet[5] !== 1) return unusable(rcodes.FORMERR);

  const nameEnd = endOfPlainName(packet);
  const questionEnd = nameEnd + 4;
  if (nameEnd < 0 || questionEnd > packet.length) return unusable(rcodes.FORMERR);
  const edns = readEdns(packet, questionEnd);
  if (edns === null) return unusable(rcodes.FORMERR, questionEnd);
  if (edns && edns.version !== 0) return { refuse: rcodes.BADVERS, questionEnd, edns };
  return {
    name: keyAt(packet, nameEnd),
    type: u16(packet, nameEnd),
    class: u16(packet, nameEnd + 2),
    questionEnd,
    edns,
  };
}

const unusable = (refuse: number, questionEnd = headerBytes): UnusableQuery => ({
  refuse,
  questionEnd,
  edns: undefined,
});

const u16 = (packet: Buffer, at: number): number =>
  ((packet[at] as number) << 8) | (packet[at + 1] as number);

/** The question's name cannot be compressed: nothing but the header comes before it. -1: it is malformed. */
function endOfPlainName(packet: Buffer): number {
  let i = headerBytes;
  for (;;) {
    const size = packet[i];
    if (size === undefined || size > maxLabelBytes) return -1;
    i += 1 + size;
    if (i - headerBytes > maxNameBytes) return -1;
    if (size === 0) return i;
  }
}

const scratch = Buffer.alloc(maxNameBytes);

function keyAt(packet: Buffer, nameEnd: number): NameKey {
  const length = nameEnd - headerBytes;
  for (let i = 0; i < length; i += 1) {
    const byte = packet[headerBytes + i] as number;
    // Length octets are below 0x40, so folding every octet folds letters only.
    scratch[i] = byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte;
  }
  return scratch.toString('latin1', 0, length);
}

/** The OPT record of the additional section; undefined: there is none; null: malformed, or there are two. */
function readEdns(packet: Buffer, offset: number): QueryEdns | undefined | null {
  const before = u16(packet, 6) + u16(packet, 8);
  const total = before + u16(packet, 10);
  let found: QueryEdns | undefined;
  let i = offset;
  for (let n = 0; n < total; n += 1) {
    const start = i;
    const nameEnd = skipName(packet, i);
    if (nameEnd === undefined || nameEnd + 10 > packet.length) return null;
    i = nameEnd + 10 + u16(packet, nameEnd + 8);
    if (i > packet.length) return null;
    if (n < before || u16(packet, nameEnd) !== recordTypes.OPT) continue;
    if (found || packet[start] !== 0) return null;
    found = {
      udpSize: u16(packet, nameEnd + 2),
      version: packet[nameEnd + 5] as number,
      dnssecOk: ((packet[nameEnd + 6] as number) & 0x80) !== 0,
    };
  }
  return found;
}
