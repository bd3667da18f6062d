import { readFileSync } from 'node:fs';
import protobuf from 'protobufjs';
import type { Messages } from './messages.ts';
import { fromStruct } from './struct.ts';
import { messageName } from './type-urls.ts';

export interface Codec<T> {
  /** Equal values give equal bytes, where maps are given in the same order. */
  encode(value: T): Buffer;
  /** Throws on malformed bytes; unknown fields are skipped. */
  decode(bytes: Uint8Array): T;
}

let loaded: protobuf.Root | undefined;
const codecs = new Map<string, Codec<unknown>>();

/** Encodes and decodes a message by its full name. The descriptors are loaded with the first call. */
export function codec<K extends keyof Messages>(name: K): Codec<Messages[K]> {
  const known = codecs.get(name);
  if (known) return known as Codec<Messages[K]>;
  const type = root().lookupType(name);
  const longs = type.fieldsArray.filter((f) => /64$/.test(f.type)).map((f) => f.name);
  const made: Codec<Messages[K]> = {
    encode: (value) => {
      const bytes = type.encode(value as Record<string, unknown>).finish();
      return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    },
    decode: (bytes) => readLongs(type.decode(bytes), longs) as Messages[K],
  };
  codecs.set(name, made as Codec<unknown>);
  return made;
}

/**
 * A message as people read it: enums by name, Structs as plain values, Anys of known types opened. Undefined when
 * the type is not known.
 */
export function describeMessage(typeUrl: string, bytes: Uint8Array): unknown {
  const type = root().lookup(messageName(typeUrl));
  if (!(type instanceof protobuf.Type)) return undefined;
  const plain = type.toObject(type.decode(bytes), { enums: String, longs: Number });
  return open(plain, type);
}

function root(): protobuf.Root {
  loaded ??= protobuf.Root.fromJSON(
    JSON.parse(readFileSync(new URL('./descriptors.json', import.meta.url), 'utf8')) as protobuf.INamespace,
  );
  return loaded;
}

/** 64-bit integers come as objects where the package `long` is there; ours are below 2^53. */
function readLongs(message: protobuf.Message, fields: readonly string[]): protobuf.Message {
  const record = message as unknown as Record<string, unknown>;
  for (const field of fields) record[field] = Number(String(record[field]));
  return message;
}

function open(value: unknown, type: protobuf.Type): unknown {
  if (type.fullName === '.google.protobuf.Struct') return fromStruct(value as object);
  if (type.fullName === '.google.protobuf.Any')
    return openAny(value as { type_url?: string; value?: Uint8Array });
  const plain = value as Record<string, unknown>;
  for (const field of type.fieldsArray) {
    const held = plain[field.name];
    const { resolvedType } = field;
    if (held === undefined || held === null || !(resolvedType instanceof protobuf.Type)) continue;
    if (field.map) {
      const entries = Object.entries(held).map(([key, item]) => [key, open(item, resolvedType)]);
      plain[field.name] = Object.fromEntries(entries);
    } else {
      plain[field.name] = Array.isArray(held)
        ? held.map((item) => open(item, resolvedType))
        : open(held, resolvedType);
    }
  }
  return plain;
}

function openAny(any: { type_url?: string; value?: Uint8Array }): unknown {
  const typeUrl = any.type_url ?? '';
  const opened = describeMessage(typeUrl, any.value ?? new Uint8Array());
  if (opened === undefined) return { '@type': typeUrl };
  return { '@type': typeUrl, ...(opened as object) };
}
