import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect } from 'node:net';
import { recordTypes } from '../../src/wire/dns/codes.ts';
import { decodeMessage } from '../../src/wire/dns/decode.ts';
import { encodeQuery } from '../../src/wire/dns/encode.ts';
import type { Message } from '../../src/wire/dns/message.ts';
import { TcpFrames, tcpFrame } from '../../src/wire/dns/tcp-frames.ts';

export interface AskOptions {
  readonly type?: keyof typeof recordTypes;
  readonly transport?: 'udp' | 'tcp';
  /** Absent: no EDNS. */
  readonly udpSize?: number;
}

const timeoutMs = 5_000;
/** UDP loses packets when a queue is full. */
const resendMs = 300;

/** One query, one answer; rejects when none comes within 5 s. */
export class DnsClient {
  readonly #address: string;
  readonly #port: number;
  #id = 0;

  constructor(address: string, port = 53) {
    this.#address = address;
    this.#port = port;
  }

  async ask(name: string, options: AskOptions = {}): Promise<Message> {
    this.#id = (this.#id + 1) & 0xffff;
    const query = encodeQuery({
      id: this.#id,
      name,
      type: recordTypes[options.type ?? 'A'],
      ...(options.udpSize === undefined ? {} : { udpSize: options.udpSize }),
    });
    if (!query) throw new Error(`not a domain name: ${name}`);
    const packet = await (options.transport === 'tcp' ? this.#overTcp(query) : this.#overUdp(query));
    const message = decodeMessage(packet);
    if (!message || message.id !== this.#id) throw new Error(`${name}: not an answer to the query`);
    return message;
  }

  /** The addresses of a name, or the response code's number. */
  async addresses(name: string, options: AskOptions = {}): Promise<readonly string[] | number> {
    const { rcode, answers } = await this.ask(name, options);
    return rcode === 0 ? answers.flatMap(({ data }) => ('address' in data ? [data.address] : [])) : rcode;
  }

  async #overUdp(query: Buffer): Promise<Buffer> {
    let again: NodeJS.Timeout | undefined;
    const socket = createSocket(this.#address.includes(':') ? 'udp6' : 'udp4');
    try {
      socket.connect(this.#port, this.#address);
      await once(socket, 'connect');
      const answer = once(socket, 'message', { signal: AbortSignal.timeout(timeoutMs) });
      socket.send(query);
      again = setInterval(() => socket.send(query), resendMs);
      return ((await answer) as [Buffer])[0];
    } finally {
      clearInterval(again);
      socket.close();
    }
  }

  async #overTcp(query: Buffer): Promise<Buffer> {
    const socket = connect(this.#port, this.#address);
    socket.setTimeout(timeoutMs, () => socket.destroy(new Error('no answer within 5 s')));
    try {
      socket.write(tcpFrame(query));
      const frames = new TcpFrames();
      for await (const chunk of socket) {
        frames.push(chunk as Buffer);
        const answer = frames.next();
        if (Buffer.isBuffer(answer)) return answer;
      }
      throw new Error('the connection ended without an answer');
    } finally {
      socket.destroy();
    }
  }
}

/** Sends that many queries as fast as the kernel takes them and reads no answer. */
export async function flood(address: string, name: string, count: number): Promise<void> {
  const query = encodeQuery({ id: 1, name, type: recordTypes.A }) as Buffer;
  const socket = createSocket('udp4');
  try {
    socket.connect(53, address);
    await once(socket, 'connect');
    for (let sent = 0; sent < count; sent += 1) {
      // A queue of our own would only slow the flood.
      if (socket.getSendQueueSize() > 0 || sent % 200 === 0) await new Promise((r) => setImmediate(r));
      socket.send(query);
    }
  } finally {
    socket.close();
  }
}
