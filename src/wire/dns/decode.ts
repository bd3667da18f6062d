import ipaddr from 'ipaddr.js';
import { headerFlags, recordTypes } from './codes.ts';
import type { Edns, Message, Question, RecordData, ResourceRecord } from './message.ts';
import { formatName, readName } from './name.ts';

/**
 * Wire form → message. Undefined: it is not one (truncated, bad names, record data that does not fit its type,
 * two OPT records). Octets after the last record are ignored. Work and memory are bounded by the packet's size:
 * each record takes 11 octets or more, each name at most 255.
 */
export function decodeMessage(packet: Uint8Array): Message | undefined {
  const reader = new Reader(Buffer.from(packet.buffer, packet.byteOffset, packet.byteLength));
  try {
    return readMessage(reader);
  } catch (error) {
    if (error === malformed) return undefined;
    throw error;
  }
}

/** Thrown and caught within this file only: one shared value, so that hostile input costs no stack trace. */
const malformed = new Error('malformed message');

function readMessage(reader: Reader): Message {
  const id = reader.u16();
  const bits = reader.u16();
  const counts = [reader.u16(), reader.u16(), reader.u16(), reader.u16()] as const;
  const questions: Question[] = [];
  for (let i = 0; i < counts[0]; i += 1) {
    questions.push({ name: reader.name(), type: reader.u16(), class: reader.u16() });
  }
  const answers = readRecords(reader, counts[1]);
  const authorities = readRecords(reader, counts[2]);
  const additionals = readRecords(reader, counts[3]);
  const opts = additionals.filter(isOpt);
  if (opts.length > 1) throw malformed;
  const opt = opts[0] && readOpt(opts[0]);
  const has = (bit: number): boolean => (bits & bit) !== 0;
  return {
    id,
    flags: {
      qr: has(headerFlags.QR),
      aa: has(headerFlags.AA),
      tc: has(headerFlags.TC),
      rd: has(headerFlags.RD),
      ra: has(headerFlags.RA),
      ad: has(headerFlags.AD),
      cd: has(headerFlags.CD),
    },
    opcode: (bits >> 11) & 15,
    rcode: (bits & 15) | ((opt?.rcodeHigh ?? 0) << 4),
    questions,
    answers,
    authorities,
    additionals: additionals.filter((r) => !isOpt(r)),
    ...(opt ? { edns: opt.edns } : {}),
  };
}

function readRecords(reader: Reader, count: number): ResourceRecord[] {
  const records: ResourceRecord[] = [];
  for (let i = 0; i < count; i += 1) {
    const name = reader.name();
    const type = reader.u16();
    const class_ = reader.u16();
    const ttl = reader.u32();
    const end = reader.u16() + reader.offset;
    const data = readData(reader, type, end);
    if (reader.offset !== end) throw malformed;
    records.push({ name, class: class_, ttl, data });
  }
  return records;
}

function readData(reader: Reader, type: number, end: number): RecordData {
  switch (type) {
    case recordTypes.A:
      return { type: 'A', address: reader.address(4) };
    case recordTypes.AAAA:
      return { type: 'AAAA', address: reader.address(16) };
    case recordTypes.NS:
      return { type: 'NS', target: reader.name() };
    case recordTypes.CNAME:
      return { type: 'CNAME', target: reader.name() };
    case recordTypes.PTR:
      return { type: 'PTR', target: reader.name() };
    case recordTypes.TXT: {
      const strings: Buffer[] = [];
      while (reader.offset < end) strings.push(reader.bytes(reader.u8()));
      return { type: 'TXT', strings };
    }
    case recordTypes.SRV:
      return {
        type: 'SRV',
        priority: reader.u16(),
        weight: reader.u16(),
        port: reader.u16(),
        target: reader.name(),
      };
    case recordTypes.SOA:
      return {
        type: 'SOA',
        mname: reader.name(),
        rname: reader.name(),
        serial: reader.u32(),
        refresh: reader.u32(),
        retry: reader.u32(),
        expire: reader.u32(),
        minimum: reader.u32(),
      };
    default:
      return { type: 'other', code: type, bytes: reader.bytes(end - reader.offset) };
  }
}

const isOpt = (r: ResourceRecord): boolean => r.data.type === 'other' && r.data.code === recordTypes.OPT;

function readOpt(record: ResourceRecord): { edns: Edns; rcodeHigh: number } {
  if (record.name !== '.' || record.data.type !== 'other') throw malformed;
  const reader = new Reader(record.data.bytes);
  const options: { code: number; bytes: Buffer }[] = [];
  while (reader.offset < record.data.bytes.length) {
    options.push({ code: reader.u16(), bytes: reader.bytes(reader.u16()) });
  }
  return {
    edns: {
      udpSize: record.class,
      version: (record.ttl >>> 16) & 0xff,
      dnssecOk: (record.ttl & 0x8000) !== 0,
      options,
    },
    rcodeHigh: record.ttl >>> 24,
  };
}

class Reader {
  offset = 0;
  readonly #packet: Buffer;

  constructor(packet: Buffer) {
    this.#packet = packet;
  }

  u8(): number {
    const n = this.#packet[this.offset];
    if (n === undefined) throw malformed;
    this.offset += 1;
    return n;
  }

  u16(): number {
    return (this.u8() << 8) | this.u8();
  }

  u32(): number {
    return this.u16() * 0x10000 + this.u16();
  }

  bytes(size: number): Buffer {
    if (size < 0 || this.offset + size > this.#packet.length) throw malformed;
    const bytes = Buffer.from(this.#packet.subarray(this.offset, this.offset + size));
    this.offset += size;
    return bytes;
  }

  address(size: 4 | 16): string {
    return ipaddr.fromByteArray([...this.bytes(size)]).toString();
  }

  name(): string {
    const read = readName(this.#packet, this.offset);
    if (!read) throw malformed;
    this.offset = read.end;
    return formatName(read.wire);
  }
}
