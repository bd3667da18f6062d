/**
 * Domain names. On the wire: length-prefixed labels and an empty one (RFC 1035 §3.1). As text: labels joined by
 * dots without a trailing one, `.` for the root, bytes other than printable ASCII as `\DDD`, what has a meaning in
 * names or zone files behind a backslash (§5.1).
 */
export const maxLabelBytes = 63;
export const maxNameBytes = 255;

/** Text → wire form, in the case given. Undefined: an empty or overlong label, an overlong name, a bad escape. */
export function parseName(text: string): Buffer | undefined {
  if (text === '.' || text === '') return Buffer.of(0);
  const wire = Buffer.alloc(maxNameBytes);
  let length = 0;
  let end = 1;
  const endLabel = (): boolean => {
    const size = end - length - 1;
    if (size === 0 || size > maxLabelBytes || end >= maxNameBytes) return false;
    wire[length] = size;
    length = end;
    end += 1;
    return true;
  };
  for (let i = 0; i < text.length; i += 1) {
    let code = text.charCodeAt(i);
    if (code === 0x2e) {
      if (!endLabel()) return undefined;
      if (i === text.length - 1) return Buffer.from(wire.subarray(0, length + 1));
      continue;
    }
    if (code === 0x5c) {
      const escaped = /^(?:\d{3}|\D)/.exec(text.slice(i + 1, i + 4))?.[0];
      if (escaped === undefined) return undefined;
      code = escaped.length === 3 ? Number(escaped) : escaped.charCodeAt(0);
      i += escaped.length;
    }
    if (!(code <= 0xff) || end >= maxNameBytes) return undefined;
    wire[end] = code;
    end += 1;
  }
  if (!endLabel()) return undefined;
  return Buffer.from(wire.subarray(0, length + 1));
}

/** Uncompressed wire form → text. The caller vouches for the form. */
export function formatName(wire: Uint8Array): string {
  if (wire[0] === 0) return '.';
  const labels: string[] = [];
  for (let i = 0; wire[i]; i += 1 + (wire[i] as number)) {
    labels.push(formatLabel(wire.subarray(i + 1, i + 1 + (wire[i] as number))));
  }
  return labels.join('.');
}

function formatLabel(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) {
    const character = String.fromCharCode(byte);
    if ('.\\"();@$'.includes(character)) text += `\\${character}`;
    else if (byte > 0x20 && byte < 0x7f) text += character;
    else text += `\\${String(byte).padStart(3, '0')}`;
  }
  return text;
}

/**
 * A name as a map key: its wire form with ASCII letters in lower case, one character per byte. Names that differ
 * in case only have the same key (RFC 4343); the key of a name's parent is the key without its first label.
 */
export type NameKey = string;

export function nameKey(wire: Uint8Array): NameKey {
  const folded = Buffer.from(wire);
  for (let i = 0; i < folded.length; i += 1) {
    const byte = folded[i] as number;
    // Length octets are below 0x40, so folding every octet folds letters only.
    if (byte >= 0x41 && byte <= 0x5a) folded[i] = byte + 0x20;
  }
  return folded.toString('latin1');
}

/** The root has no parent: its key is given back. */
export function parentKey(key: NameKey): NameKey {
  return key.slice(1 + key.charCodeAt(0)) || key;
}

/** Whether `key` is `ancestor` or below it, on a label's border. */
export function isWithin(key: NameKey, ancestor: NameKey): boolean {
  if (!key.endsWith(ancestor)) return false;
  const start = key.length - ancestor.length;
  let i = 0;
  while (i < start) i += 1 + key.charCodeAt(i);
  return i === start;
}

/** A name within a message, compression followed. `end`: where reading goes on after the name. */
export interface ReadName {
  readonly wire: Buffer;
  readonly end: number;
}

/**
 * Reads a name at `offset`. A pointer must lead to before the labels that it ends (so it cannot loop). Undefined:
 * the name leaves the message, is over 255 octets or uses a label type other than the two of RFC 1035.
 */
export function readName(message: Uint8Array, offset: number): ReadName | undefined {
  const wire = Buffer.alloc(maxNameBytes);
  let length = 0;
  let end = -1;
  let start = offset;
  let i = offset;
  for (;;) {
    const size = message[i];
    if (size === undefined) return undefined;
    if (size >= 0xc0) {
      const low = message[i + 1];
      if (low === undefined) return undefined;
      if (end < 0) end = i + 2;
      const target = ((size & 0x3f) << 8) | low;
      if (target >= start) return undefined;
      start = target;
      i = target;
      continue;
    }
    if (size > maxLabelBytes || length + 1 + size > maxNameBytes || i + 1 + size > message.length)
      return undefined;
    for (let k = 0; k <= size; k += 1) wire[length + k] = message[i + k] as number;
    length += 1 + size;
    i += 1 + size;
    if (size === 0) return { wire: Buffer.from(wire.subarray(0, length)), end: end < 0 ? i : end };
  }
}

/** Where the name at `offset` ends, pointers not followed; undefined as for `readName`. */
export function skipName(message: Uint8Array, offset: number): number | undefined {
  let i = offset;
  for (;;) {
    const size = message[i];
    if (size === undefined) return undefined;
    if (size >= 0xc0) return i + 2 <= message.length ? i + 2 : undefined;
    if (size > maxLabelBytes || i - offset >= maxNameBytes) return undefined;
    i += 1 + size;
    if (size === 0) return i;
  }
}
