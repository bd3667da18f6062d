import protobuf from 'protobufjs/minimal.js';
import { ownBytes } from '../own-bytes.ts';
import { typeUrls } from './type-urls.ts';

const { Reader, Writer } = protobuf;
type Reader = protobuf.Reader;
type Writer = protobuf.Writer;

/**
 * envoy.service.discovery.v3 delta messages, written by hand because every push and every ACK passes here.
 * Bodies, metadata and nodes stay bytes. Decoding throws on malformed input; unknown fields are skipped.
 */
export interface DeltaRequest {
  /** Bytes of envoy.config.core.v3.Node; sent with the first request of a stream. */
  readonly node?: Uint8Array | undefined;
  readonly typeUrl: string;
  readonly subscribe: readonly string[];
  readonly unsubscribe: readonly string[];
  /** Name → version the client already holds. */
  readonly initialVersions: ReadonlyMap<string, string>;
  /** Of the response that is acknowledged; empty in a spontaneous request. */
  readonly nonce: string;
  /** Present in a NACK. */
  readonly error?: RequestError | undefined;
}

interface RequestError {
  readonly code: number;
  readonly message: string;
  /** What was refused, name by name; empty when the client did not say. */
  readonly refusals: readonly Refusal[];
}

export interface Refusal {
  readonly name: string;
  readonly message: string;
}

export interface DeltaResponse {
  readonly typeUrl: string;
  readonly nonce: string;
  readonly resources: readonly DeltaResource[];
  readonly removals: readonly string[];
}

export interface DeltaResource {
  readonly name: string;
  readonly version: string;
  /** Of the body. */
  readonly typeUrl: string;
  /** The message inside the Any. */
  readonly body: Uint8Array;
  /** Bytes of envoy.config.core.v3.Metadata (`Resource.metadata`). */
  readonly metadata?: Uint8Array | undefined;
}

const tag = (field: number, wireType: 0 | 2): number => (field << 3) | wireType;
const INVALID_ARGUMENT = 3;

function writeString(writer: Writer, field: number, value: string): Writer {
  return value === '' ? writer : writer.uint32(tag(field, 2)).string(value);
}

function writeAny(writer: Writer, field: number, typeUrl: string, body: Uint8Array): void {
  writer.uint32(tag(field, 2)).fork();
  writer.uint32(tag(1, 2)).string(typeUrl).uint32(tag(2, 2)).bytes(body);
  writer.ldelim();
}

const finish = (writer: Writer): Buffer => {
  const bytes = writer.finish();
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
};

export function encodeDeltaRequest(request: DeltaRequest): Buffer {
  const writer = Writer.create();
  if (request.node) writer.uint32(tag(1, 2)).bytes(request.node);
  writeString(writer, 2, request.typeUrl);
  for (const name of request.subscribe) writer.uint32(tag(3, 2)).string(name);
  for (const name of request.unsubscribe) writer.uint32(tag(4, 2)).string(name);
  for (const [name, version] of request.initialVersions) {
    writer.uint32(tag(5, 2)).fork();
    writer.uint32(tag(1, 2)).string(name).uint32(tag(2, 2)).string(version).ldelim();
  }
  writeString(writer, 6, request.nonce);
  if (request.error) {
    writer.uint32(tag(7, 2)).fork();
    writer.uint32(tag(1, 0)).int32(request.error.code);
    writeString(writer, 2, request.error.message);
    for (const { name, message } of request.error.refusals) {
      const info = Writer.create();
      writeString(info, 1, request.typeUrl);
      writeString(info, 2, name);
      writeString(info, 4, message);
      writeAny(writer, 3, typeUrls.resourceInfo, info.finish());
    }
    writer.ldelim();
  }
  return finish(writer);
}

/** A request that acknowledges `nonce`; with refusals it is a NACK. */
export function acknowledgement(typeUrl: string, nonce: string, refusals: readonly Refusal[]): DeltaRequest {
  const first = refusals[0];
  return {
    typeUrl,
    subscribe: [],
    unsubscribe: [],
    initialVersions: new Map(),
    nonce,
    error: first && {
      code: INVALID_ARGUMENT,
      message: `${refusals.length} refused, first ${first.name}: ${first.message}`,
      refusals,
    },
  };
}

export function decodeDeltaRequest(bytes: Uint8Array): DeltaRequest {
  const reader = Reader.create(bytes);
  let node: Uint8Array | undefined;
  let typeUrl = '';
  const subscribe: string[] = [];
  const unsubscribe: string[] = [];
  const initialVersions = new Map<string, string>();
  let nonce = '';
  let error: RequestError | undefined;
  eachField(reader, reader.len, (field) => {
    if (field === tag(1, 2)) node = reader.bytes();
    else if (field === tag(2, 2)) typeUrl = reader.string();
    else if (field === tag(3, 2)) subscribe.push(reader.string());
    else if (field === tag(4, 2)) unsubscribe.push(reader.string());
    else if (field === tag(5, 2)) {
      const { 1: name, 2: version } = readStrings(reader, 2);
      initialVersions.set(name ?? '', version ?? '');
    } else if (field === tag(6, 2)) nonce = reader.string();
    else if (field === tag(7, 2)) error = readStatus(reader);
    else return false;
    return true;
  });
  return { node, typeUrl, subscribe, unsubscribe, initialVersions, nonce, error };
}

/**
 * One resource as the bytes of field 2 of DeltaDiscoveryResponse, tag included. Repeated fields concatenate, so
 * a response is fragments followed by `responseTail`, and a resource is encoded once for all streams.
 */
export function resourceFragment(resource: DeltaResource): Buffer {
  const writer = Writer.create();
  writer.uint32(tag(2, 2)).fork();
  writeString(writer, 1, resource.version);
  writeAny(writer, 2, resource.typeUrl, resource.body);
  writeString(writer, 3, resource.name);
  if (resource.metadata) writer.uint32(tag(9, 2)).bytes(resource.metadata);
  writer.ldelim();
  return ownBytes(writer.finish());
}

/** Everything of a response that is not a resource. */
export function responseTail(typeUrl: string, nonce: string, removals: readonly string[]): Buffer {
  const writer = Writer.create();
  writeString(writer, 4, typeUrl);
  writeString(writer, 5, nonce);
  for (const name of removals) writer.uint32(tag(6, 2)).string(name);
  return finish(writer);
}

export function encodeDeltaResponse(response: DeltaResponse): Buffer {
  return Buffer.concat([
    ...response.resources.map(resourceFragment),
    responseTail(response.typeUrl, response.nonce, response.removals),
  ]);
}

export function decodeDeltaResponse(bytes: Uint8Array): DeltaResponse {
  const reader = Reader.create(bytes);
  let typeUrl = '';
  let nonce = '';
  const resources: DeltaResource[] = [];
  const removals: string[] = [];
  eachField(reader, reader.len, (field) => {
    if (field === tag(2, 2)) {
      const resource = readResource(reader);
      if (resource) resources.push(resource);
    } else if (field === tag(4, 2)) typeUrl = reader.string();
    else if (field === tag(5, 2)) nonce = reader.string();
    else if (field === tag(6, 2)) removals.push(reader.string());
    else if (field === tag(8, 2)) removals.push(readStrings(reader, 1)[1] ?? '');
    else return false;
    return true;
  });
  return { typeUrl, nonce, resources, removals };
}

/** Undefined for a resource without a body (a heartbeat of a server that uses TTLs). */
function readResource(reader: Reader): DeltaResource | undefined {
  let name = '';
  let version = '';
  let any: { typeUrl: string; body: Uint8Array } | undefined;
  let metadata: Uint8Array | undefined;
  eachField(reader, end(reader), (field) => {
    if (field === tag(1, 2)) version = reader.string();
    else if (field === tag(2, 2)) any = readAny(reader);
    else if (field === tag(3, 2)) name = reader.string();
    else if (field === tag(8, 2)) name ||= readStrings(reader, 1)[1] ?? '';
    else if (field === tag(9, 2)) metadata = reader.bytes();
    else return false;
    return true;
  });
  return any && { name, version, ...any, metadata };
}

function readAny(reader: Reader): { typeUrl: string; body: Uint8Array } {
  let typeUrl = '';
  let body: Uint8Array = new Uint8Array();
  eachField(reader, end(reader), (field) => {
    if (field === tag(1, 2)) typeUrl = reader.string();
    else if (field === tag(2, 2)) body = reader.bytes();
    else return false;
    return true;
  });
  return { typeUrl, body };
}

function readStatus(reader: Reader): RequestError {
  let code = 0;
  let message = '';
  const refusals: Refusal[] = [];
  eachField(reader, end(reader), (field) => {
    if (field === tag(1, 0)) code = reader.int32();
    else if (field === tag(2, 2)) message = reader.string();
    else if (field === tag(3, 2)) {
      const any = readAny(reader);
      if (any.typeUrl !== typeUrls.resourceInfo) return true;
      const info = Reader.create(any.body);
      const texts = readStrings(info, 4, info.len);
      refusals.push({ name: texts[2] ?? '', message: texts[4] ?? '' });
    } else return false;
    return true;
  });
  return { code, message, refusals };
}

const end = (reader: Reader): number => {
  const length = reader.uint32();
  if (reader.pos + length > reader.len) throw new RangeError('a field is longer than its message');
  return reader.pos + length;
};

/** The string fields 1 to `last` of a message, by number. */
function readStrings(reader: Reader, last: number, to = end(reader)): Record<number, string> {
  const texts: Record<number, string> = {};
  eachField(reader, to, (field) => {
    const number = field >>> 3;
    if ((field & 7) !== 2 || number > last) return false;
    texts[number] = reader.string();
    return true;
  });
  return texts;
}

/** Calls `take` with each tag up to `to`; a tag it does not take is skipped. */
function eachField(reader: Reader, to: number, take: (field: number) => boolean): void {
  while (reader.pos < to) {
    const field = reader.uint32();
    if (!take(field)) reader.skipType(field & 7);
  }
  if (reader.pos !== to) throw new RangeError('a field runs over the end of its message');
}
