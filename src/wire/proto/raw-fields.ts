import protobuf from 'protobufjs/minimal.js';

/** The message without its fields of these numbers; the others, unknown ones too, stay as they are. Throws. */
export function withoutFields(message: Uint8Array, numbers: ReadonlySet<number>): Uint8Array {
  const reader = protobuf.Reader.create(message);
  const kept: Uint8Array[] = [];
  while (reader.pos < reader.len) {
    const start = reader.pos;
    const tag = reader.uint32();
    reader.skipType(tag & 7);
    if (!numbers.has(tag >>> 3)) kept.push(message.subarray(start, reader.pos));
  }
  return Buffer.concat(kept);
}
