import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import protobuf from 'protobufjs';

const descriptors = join(import.meta.dirname, '..', '..', 'src', 'wire', 'proto', 'descriptors.json');
const root = protobuf.Root.fromJSON(JSON.parse(readFileSync(descriptors, 'utf8')) as protobuf.INamespace);
const struct = '.google.protobuf.Struct';

/** A field of a message as it is on the wire, and the message inside it if it is one. */
interface WireField {
  readonly number: number;
  readonly wireType: number;
  readonly content: Uint8Array;
  readonly inside: protobuf.Type | undefined;
  readonly name: string;
}

/**
 * What a later version may add: fields of every wire type in every message, and keys in every Struct but an export
 * policy, where an unknown one has a meaning.
 */
export function withUnknownFields(message: string, bytes: Uint8Array): Buffer {
  return rebuild(root.lookupType(message), bytes, (type) => {
    const writer = protobuf.Writer.create();
    writer.uint32((9001 << 3) | 0).uint32(7);
    writer.uint32((9002 << 3) | 1).fixed64('1');
    writer.uint32((9003 << 3) | 2).string('from a later version');
    writer.uint32((9004 << 3) | 5).fixed32(5);
    if (type?.fullName === struct) {
      // Struct.fields: an entry with a key (1) and a Value (2) that is a string (3).
      const value = protobuf.Writer.create().uint32(26).string('new').finish();
      const entry = protobuf.Writer.create().uint32(10).string('later').uint32(18).bytes(value).finish();
      writer.uint32(10).bytes(entry);
    }
    return writer.finish();
  });
}

/** The message without one field, for each field of it and of the messages in it: where it was, and the bytes. */
export function* withoutEachField(
  message: string,
  bytes: Uint8Array,
): IterableIterator<{ readonly path: string; readonly bytes: Buffer }> {
  yield* strip(root.lookupType(message), bytes, '');
}

function* strip(
  type: protobuf.Type,
  bytes: Uint8Array,
  path: string,
): IterableIterator<{ path: string; bytes: Buffer }> {
  const fields = fieldsOf(type, bytes);
  for (const [i, field] of fields.entries()) {
    const others = (content: Uint8Array | undefined) =>
      Buffer.concat(
        fields.map((f, at) =>
          at !== i ? written(f, f.content) : content ? written(f, content) : Buffer.of(),
        ),
      );
    const here = `${path}/${field.name}`;
    yield { path: here, bytes: others(undefined) };
    if (!field.inside) continue;
    for (const inner of strip(field.inside, field.content, here)) {
      yield { path: inner.path, bytes: others(inner.bytes) };
    }
  }
}

function rebuild(
  type: protobuf.Type | undefined,
  bytes: Uint8Array,
  more: (type: protobuf.Type | undefined) => Uint8Array,
): Buffer {
  const parts = fieldsOf(type, bytes).map((field) => {
    const isOpen = field.inside !== undefined && field.name !== 'fields export';
    return written(field, isOpen ? rebuild(field.inside, field.content, more) : field.content);
  });
  return Buffer.concat([...parts, more(type)]);
}

function fieldsOf(type: protobuf.Type | undefined, bytes: Uint8Array): WireField[] {
  const reader = protobuf.Reader.create(bytes);
  const fields: WireField[] = [];
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    const [number, wireType] = [tag >>> 3, tag & 7];
    const start = reader.pos;
    if (wireType !== 2) reader.skipType(wireType);
    const content = wireType === 2 ? reader.bytes() : bytes.subarray(start, reader.pos);
    const field = type?.fieldsById[number];
    const inside = wireType === 2 && field ? insideOf(field) : undefined;
    const key = field?.map ? ` ${keyOf(content)}` : '';
    const name = `${field?.name ?? number}${key}`;
    fields.push({ number, wireType, content, inside, name });
  }
  return fields;
}

const entryTypes = new Map<string, protobuf.Type>();

/** The message type of a field's content; an entry of a map is a message of its own. */
function insideOf(field: protobuf.Field): protobuf.Type | undefined {
  field.resolve();
  const type = field.resolvedType instanceof protobuf.Type ? field.resolvedType : undefined;
  if (!field.map) return type;
  const known = entryTypes.get(field.fullName);
  if (known) return known;
  const value = new protobuf.Field('value', 2, field.type);
  const entry = new protobuf.Type('Entry').add(new protobuf.Field('key', 1, 'string')).add(value);
  value.resolvedType = type ?? null;
  value.resolved = true;
  entryTypes.set(field.fullName, entry);
  return entry;
}

function keyOf(entry: Uint8Array): string {
  const reader = protobuf.Reader.create(entry);
  return reader.len > 0 && reader.uint32() === 10 ? reader.string() : '';
}

function written({ number, wireType }: WireField, content: Uint8Array): Buffer {
  const writer = protobuf.Writer.create().uint32(((number << 3) | wireType) >>> 0);
  if (wireType === 2) return Buffer.from(writer.bytes(content).finish());
  return Buffer.concat([writer.finish(), content]);
}
