import ipaddr from 'ipaddr.js';
import { headerFlags, recordClasses, recordTypes } from './codes.ts';
import type { Edns, Message, RecordData, ResourceRecord } from './message.ts';
import { parseName } from './name.ts';

/**
 * Message → wire form, names compressed where RFC 1035 and RFC 2782 let a receiver expect it. Undefined: a name,
 * address or text that has no wire form, or over 65,535 octets.
 */
export function encodeMessage(message: Message): Buffer | undefined {
  const writer = new Writer();
  const { flags } = message;
  writer.u16(message.id);
  writer.u16(
    (flags.qr ? headerFlags.QR : 0) |
      ((message.opcode & 15) << 11) |
      (flags.aa ? headerFlags.AA : 0) |
      (flags.tc ? headerFlags.TC : 0) |
      (flags.rd ? headerFlags.RD : 0) |
      (flags.ra ? headerFlags.RA : 0) |
      (flags.ad ? headerFlags.AD : 0) |
      (flags.cd ? headerFlags.CD : 0) |
      (message.rcode & 15),
  );
  writer.u16(message.questions.length);
  writer.u16(message.answers.length);
  writer.u16(message.authorities.length);
  writer.u16(message.additionals.length + (message.edns ? 1 : 0));
  for (const q of message.questions) {
    writer.name(q.name, true);
    writer.u16(q.type);
    writer.u16(q.class);
  }
  for (const section of [message.answers, message.authorities, message.additionals]) {
    for (const record of section) writeRecord(writer, record);
  }
  if (message.edns) writeOpt(writer, message.edns, message.rcode);
  return writer.finish();
}

function writeRecord(writer: Writer, record: ResourceRecord): void {
  const { data } = record;
  writer.name(record.name, true);
  writer.u16(data.type === 'other' ? data.code : recordTypes[data.type]);
  writer.u16(record.class);
  writer.u32(record.ttl);
  writer.sized(() => writeData(writer, data));
}

function writeData(writer: Writer, data: RecordData): void {
  switch (data.type) {
    case 'A':
      writer.address(data.address, 4);
      break;
    case 'AAAA':
      writer.address(data.address, 16);
      break;
    case 'NS':
    case 'CNAME':
    case 'PTR':
      writer.name(data.target, true);
      break;
    case 'TXT':
      for (const text of data.strings) writer.text(text);
      break;
    case 'SRV':
      writer.u16(data.priority);
      writer.u16(data.weight);
      writer.u16(data.port);
      writer.name(data.target, false);
      break;
    case 'SOA':
      writer.name(data.mname, true);
      writer.name(data.rname, true);
      for (const n of [data.serial, data.refresh, data.retry, data.expire, data.minimum]) writer.u32(n);
      break;
    case 'other':
      writer.bytes(data.bytes);
      break;
  }
}

function writeOpt(writer: Writer, edns: Edns, rcode: number): void {
  writer.u8(0);
  writer.u16(recordTypes.OPT);
  writer.u16(edns.udpSize);
  writer.u8(rcode >> 4);
  writer.u8(edns.version);
  writer.u16(edns.dnssecOk ? 0x8000 : 0);
  writer.sized(() => {
    for (const option of edns.options) {
      writer.u16(option.code);
      writer.sized(() => writer.bytes(option.bytes));
    }
  });
}

/** Appends to a growing buffer; what has no wire form is remembered and refused at the end. */
class Writer {
  #buffer = Buffer.alloc(512);
  #length = 0;
  #bad = false;
  /** Names already written, in their exact case → where. */
  readonly #names = new Map<string, number>();

  finish(): Buffer | undefined {
    if (this.#bad || this.#length > 0xffff) return undefined;
    return Buffer.from(this.#buffer.subarray(0, this.#length));
  }

  u8(n: number): void {
    this.#reserve(1);
    this.#buffer[this.#length] = n & 0xff;
    this.#length += 1;
  }

  u16(n: number): void {
    this.u8(n >>> 8);
    this.u8(n);
  }

  u32(n: number): void {
    this.u16(n >>> 16);
    this.u16(n);
  }

  bytes(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#buffer.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** A character-string: at most 255 octets. */
  text(bytes: Uint8Array): void {
    if (bytes.length > 255) this.#bad = true;
    this.u8(bytes.length);
    this.bytes(bytes);
  }

  address(text: string, bytes: 4 | 16): void {
    const parsed = ipaddr.isValid(text) ? ipaddr.parse(text).toByteArray() : [];
    if (parsed.length !== bytes) this.#bad = true;
    else this.bytes(Uint8Array.from(parsed));
  }

  /** What `write` writes, with its 16-bit length before it. */
  sized(write: () => void): void {
    const at = this.#length;
    this.u16(0);
    write();
    const size = this.#length - at - 2;
    if (size > 0xffff) this.#bad = true;
    else this.#buffer.writeUInt16BE(size, at);
  }

  name(text: string, compress: boolean): void {
    const wire = parseName(text);
    if (!wire) {
      this.#bad = true;
      return;
    }
    let i = 0;
    for (; wire[i]; i += 1 + (wire[i] as number)) {
      const suffix = wire.toString('latin1', i);
      const seen = this.#names.get(suffix);
      if (seen !== undefined && compress) {
        this.u16(0xc000 | seen);
        return;
      }
      // A pointer has 14 bits.
      if (seen === undefined && this.#length < 0x4000) this.#names.set(suffix, this.#length);
      this.bytes(wire.subarray(i, i + 1 + (wire[i] as number)));
    }
    this.u8(0);
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#buffer.length) return;
    const grown = Buffer.alloc(Math.max(needed, this.#buffer.length * 2));
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#buffer = grown;
  }
}

/** A query for one name with EDNS0, as a resolver's stub would send it. Undefined: the name is not usable. */
export function encodeQuery(query: {
  readonly id: number;
  readonly name: string;
  readonly type: number;
  readonly udpSize?: number;
}): Buffer | undefined {
  const flags = { qr: false, aa: false, tc: false, rd: true, ra: false, ad: false, cd: false };
  return encodeMessage({
    id: query.id,
    flags,
    opcode: 0,
    rcode: 0,
    questions: [{ name: query.name, type: query.type, class: recordClasses.IN }],
    answers: [],
    authorities: [],
    additionals: [],
    ...(query.udpSize === undefined
      ? {}
      : { edns: { udpSize: query.udpSize, version: 0, dnssecOk: false, options: [] } }),
  });
}
