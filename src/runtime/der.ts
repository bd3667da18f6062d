/**
 * Reads DER (X.690), as little of it as certificates need. Input may be hostile: every length is checked, and
 * anything but definite, minimal lengths is refused with a RangeError.
 */
export interface DerValue {
  /** The identifier octet: class, constructed bit and number (below 31). */
  readonly tag: number;
  readonly body: Uint8Array;
}

export const derTags = {
  boolean: 0x01,
  octetString: 0x04,
  oid: 0x06,
  utf8String: 0x0c,
  sequence: 0x30,
} as const;

/** The value that `bytes` consist of, nothing after it. */
export function readDer(bytes: Uint8Array): DerValue {
  const { value, end } = readAt(bytes, 0);
  if (end !== bytes.length) throw new RangeError('bytes after the end of a DER value');
  return value;
}

/** The values inside a constructed value. */
export function readDerChildren(bytes: Uint8Array): readonly DerValue[] {
  const values: DerValue[] = [];
  for (let at = 0; at < bytes.length; ) {
    const { value, end } = readAt(bytes, at);
    values.push(value);
    at = end;
  }
  return values;
}

function readAt(bytes: Uint8Array, at: number): { value: DerValue; end: number } {
  const tag = byteAt(bytes, at);
  if ((tag & 0x1f) === 0x1f) throw new RangeError('long DER tags are not read');
  const first = byteAt(bytes, at + 1);
  let start = at + 2;
  let length = first;
  if (first >= 0x80) {
    const count = first & 0x7f;
    if (count === 0 || count > 3) throw new RangeError('a DER length is indefinite or too large');
    length = 0;
    for (let i = 0; i < count; i++) length = length * 256 + byteAt(bytes, start++);
    if (length < 0x80 || length < 256 ** (count - 1)) throw new RangeError('a DER length is not minimal');
  }
  const end = start + length;
  if (end > bytes.length) throw new RangeError('a DER value ends after its container');
  return { value: { tag, body: bytes.subarray(start, end) }, end };
}

function byteAt(bytes: Uint8Array, at: number): number {
  const byte = bytes[at];
  if (byte === undefined) throw new RangeError('a DER value is cut off');
  return byte;
}

/** A UTF8String with `text`, for extension values. */
export function writeDerText(text: string): Uint8Array {
  const body = new TextEncoder().encode(text);
  const length: number[] = [];
  if (body.length < 0x80) length.push(body.length);
  else {
    for (let n = body.length; n > 0; n = Math.floor(n / 256)) length.unshift(n & 0xff);
    length.unshift(0x80 | length.length);
  }
  return Uint8Array.of(derTags.utf8String, ...length, ...body);
}
