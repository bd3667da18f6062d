import ipaddr from 'ipaddr.js';
import { recordClasses, recordTypes } from '../../wire/dns/codes.ts';
import type { NameKey } from '../../wire/dns/name.ts';

/**
 * The records of one name and type as they go into an answer. Their owner is a pointer to the question's name
 * (which always starts at octet 12), so the octets are the same in every answer.
 */
export interface RecordSet {
  readonly type: number;
  readonly bytes: Buffer;
  /** Where each record ends within `bytes`. */
  readonly ends: readonly number[];
  /** SRV: the name whose addresses go along, and where in `bytes` it first stands uncompressed. */
  readonly target?: { readonly key: NameKey; readonly offset: number };
}

/** Seconds; refresh, retry and expire matter to secondaries only, which there are none of. */
export const soaTimes = { refresh: 7200, retry: 1800, expire: 86_400 } as const;
export const srvPriority = 0;
export const srvWeight = 100;

const pointerToQuestion = 0xc00c;
const fixedBytes = 12;

/** A or AAAA records; every address is of that family. */
export function addressSet(type: 1 | 28, addresses: readonly string[], ttl: number): RecordSet {
  return recordSet(
    type,
    ttl,
    addresses.map((address) => Buffer.from(ipaddr.parse(address).toByteArray())),
  );
}

/** SRV records that differ in their port. The target is never compressed (RFC 2782). */
export function srvSet(ports: readonly number[], target: NameKey, ttl: number): RecordSet {
  const data = ports.map((port) => {
    const fixed = Buffer.alloc(6);
    fixed.writeUInt16BE(srvPriority, 0);
    fixed.writeUInt16BE(srvWeight, 2);
    fixed.writeUInt16BE(port, 4);
    return Buffer.concat([fixed, Buffer.from(target, 'latin1')]);
  });
  return { ...recordSet(recordTypes.SRV, ttl, data), target: { key: target, offset: fixedBytes + 6 } };
}

/** The zone's one name server: label `ns` under the apex, which the question names. */
export function apexNsSet(ttl: number): RecordSet {
  return recordSet(recordTypes.NS, ttl, [Buffer.concat([label('ns'), pointer(pointerToQuestion)])]);
}

/**
 * The SOA record, in an answer at the apex or in the authority section of a negative one: all of its names end in
 * a pointer to the apex, wherever that stands in the question (`soaPointers`).
 */
export function soaSet(serial: number, negativeTtl: number): RecordSet {
  const numbers = Buffer.alloc(20);
  for (const [i, n] of [serial, soaTimes.refresh, soaTimes.retry, soaTimes.expire, negativeTtl].entries()) {
    numbers.writeUInt32BE(n, i * 4);
  }
  const apex = pointer(pointerToQuestion);
  return recordSet(recordTypes.SOA, negativeTtl, [
    Buffer.concat([label('ns'), apex, label('hostmaster'), apex, numbers]),
  ]);
}

/** Where the pointers to the apex stand within the octets of `soaSet`. */
export const soaPointers = [0, fixedBytes + 3, fixedBytes + 3 + 2 + 11] as const;

function recordSet(type: number, ttl: number, data: readonly Buffer[]): RecordSet {
  const ends: number[] = [];
  let end = 0;
  for (const d of data) {
    end += fixedBytes + d.length;
    ends.push(end);
  }
  const bytes = Buffer.alloc(end);
  let at = 0;
  for (const d of data) {
    bytes.writeUInt16BE(pointerToQuestion, at);
    bytes.writeUInt16BE(type, at + 2);
    bytes.writeUInt16BE(recordClasses.IN, at + 4);
    bytes.writeUInt32BE(ttl, at + 6);
    bytes.writeUInt16BE(d.length, at + 10);
    d.copy(bytes, at + fixedBytes);
    at += fixedBytes + d.length;
  }
  return { type, bytes, ends };
}

const label = (text: string): Buffer => Buffer.concat([Buffer.of(text.length), Buffer.from(text, 'latin1')]);
const pointer = (to: number): Buffer => Buffer.of(to >> 8, to & 0xff);
