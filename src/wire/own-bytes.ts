/**
 * A copy with memory of its own, for bytes that stay. A part of a message keeps the whole message, and what comes of a
 * pool (`Buffer.from`, an encoder) keeps the block that it shares with what was thrown away long ago.
 */
export function ownBytes(bytes: Uint8Array): Buffer {
  const own = Buffer.allocUnsafeSlow(bytes.length);
  own.set(bytes);
  return own;
}
