import type { StructMessage, ValueMessage } from './messages.ts';

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** A google.protobuf.Struct with its keys in order, so that equal values have equal bytes. */
export function toStruct(plain: Readonly<Record<string, Json | undefined>>): StructMessage {
  const fields: Record<string, ValueMessage> = {};
  for (const key of Object.keys(plain).sort()) {
    const value = plain[key];
    if (value !== undefined) fields[key] = toValue(value);
  }
  return { fields };
}

function toValue(value: Json): ValueMessage {
  if (value === null) return { nullValue: 0 };
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'number') return { numberValue: value };
  if (typeof value === 'string') return { stringValue: value };
  if (isList(value)) return { listValue: { values: value.map(toValue) } };
  return { structValue: toStruct(value) };
}

const isList = (value: object): value is readonly Json[] => Array.isArray(value);

/** Undefined or an absent Struct is an empty object. Keys that JavaScript gives a meaning are dropped. */
export function fromStruct(struct: StructMessage | null | undefined): { [key: string]: Json } {
  const plain: { [key: string]: Json } = {};
  for (const [key, value] of Object.entries(struct?.fields ?? {})) {
    if (key !== '__proto__') plain[key] = fromValue(value);
  }
  return plain;
}

function fromValue(value: ValueMessage): Json {
  if (value.structValue) return fromStruct(value.structValue);
  if (value.listValue) return (value.listValue.values ?? []).map(fromValue);
  if (Object.hasOwn(value, 'stringValue')) return value.stringValue ?? null;
  if (Object.hasOwn(value, 'numberValue')) return value.numberValue ?? null;
  if (Object.hasOwn(value, 'boolValue')) return value.boolValue ?? null;
  return null;
}
