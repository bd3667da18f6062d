/**
 * Messages over TCP carry their length in two octets before them (RFC 1035 §4.2.2). Takes what arrives in any
 * pieces and gives back whole messages; holds at most one incomplete message and what was pushed last.
 */
export class TcpFrames {
  readonly #maxBytes: number;
  #pending: Buffer = empty;

  /** `maxBytes`: the largest message that is taken. */
  constructor(maxBytes = 0xffff) {
    this.#maxBytes = maxBytes;
  }

  get pendingBytes(): number {
    return this.#pending.length;
  }

  push(chunk: Buffer): void {
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
  }

  /** The next whole message; undefined: it has not arrived yet; 'too-long': the stream is of no use any more. */
  next(): Buffer | undefined | 'too-long' {
    if (this.#pending.length < 2) return undefined;
    const size = this.#pending.readUInt16BE(0);
    if (size > this.#maxBytes) return 'too-long';
    if (this.#pending.length < 2 + size) return undefined;
    const message = this.#pending.subarray(2, 2 + size);
    this.#pending = this.#pending.subarray(2 + size);
    return message;
  }
}

const empty = Buffer.alloc(0);

/** A message with its length before it. */
export function tcpFrame(message: Buffer): Buffer {
  const frame = Buffer.allocUnsafe(2 + message.length);
  frame.writeUInt16BE(message.length, 0);
  message.copy(frame, 2);
  return frame;
}
