import { type ClientHttp2Session, connect } from 'node:http2';
import protobuf from 'protobufjs/minimal.js';
import { acknowledgement, encodeDeltaRequest } from '../src/wire/proto/discovery.ts';
import { methods } from '../src/wire/proto/methods.ts';
import { codec } from '../src/wire/proto/registry.ts';
import { typeUrls } from '../src/wire/proto/type-urls.ts';

/**
 * The client of xds-fanout.ts, in a process of its own: `xds-streams.ts ADDRESS STREAMS` opens so many delta ADS
 * streams, each on a connection of its own, subscribes to every assignment and acknowledges what comes. It is told how
 * many resources each stream has to get and says when each had them; it looks into no resource.
 */

/** To it: each stream is to get so many resources more. */
export interface Expect {
  readonly resources: number;
}

/** From it: when each stream had them, on the monotonic clock, milliseconds. */
export interface Arrived {
  readonly at: readonly number[];
}

const [address = '', streams = ''] = process.argv.slice(2);
let wanted = 0;
let arrived: number[] = [];
let missing = 0;

process.on('message', ({ resources }: Expect) => {
  wanted = resources;
  arrived = [];
  missing = Number(streams);
  for (const stream of all) stream.expect();
});

/** One stream; gRPC messages are a flag, a length of four bytes, and that many bytes. */
class Stream {
  readonly #call;
  #chunks: Buffer[] = [];
  #size = 0;
  #got = 0;
  #waiting = false;

  constructor(session: ClientHttp2Session, node: string) {
    this.#call = session.request({
      ':method': 'POST',
      ':path': methods.deltaAds,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    this.#call.on('data', (chunk: Buffer) => this.#receive(chunk));
    this.#call.on('end', () => {
      throw new Error(`the server ended stream ${node}`);
    });
    this.#send({
      node: codec('envoy.config.core.v3.Node').encode({ id: node }),
      typeUrl: typeUrls.assignment,
      subscribe: ['*'],
      unsubscribe: [],
      initialVersions: new Map(),
      nonce: '',
    });
  }

  expect(): void {
    this.#waiting = true;
    this.#look();
  }

  #send(request: Parameters<typeof encodeDeltaRequest>[0]): void {
    const message = encodeDeltaRequest(request);
    const frame = Buffer.alloc(5 + message.length);
    frame.writeUInt32BE(message.length, 1);
    message.copy(frame, 5);
    this.#call.write(frame);
  }

  #receive(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    for (;;) {
      if (this.#size < 5) return;
      if ((this.#chunks[0] as Buffer).length < 5) this.#chunks = [Buffer.concat(this.#chunks)];
      const length = 5 + (this.#chunks[0] as Buffer).readUInt32BE(1);
      if (this.#size < length) return;
      const bytes = this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks);
      this.#chunks = bytes.length > length ? [bytes.subarray(length)] : [];
      this.#size -= length;
      this.#message(bytes.subarray(5, length));
    }
  }

  #message(bytes: Buffer): void {
    const reader = protobuf.Reader.create(bytes);
    let nonce = '';
    let resources = 0;
    while (reader.pos < reader.len) {
      const tag = reader.uint32();
      if (tag === 42) nonce = reader.string();
      else {
        if (tag === 18) resources += 1;
        reader.skipType(tag & 7);
      }
    }
    this.#got += resources;
    this.#send(acknowledgement(typeUrls.assignment, nonce, []));
    this.#look();
  }

  #look(): void {
    if (!this.#waiting || this.#got < wanted) return;
    this.#waiting = false;
    this.#got -= wanted;
    arrived.push(Number(process.hrtime.bigint()) / 1e6);
    missing -= 1;
    if (missing === 0) process.send?.({ at: arrived } satisfies Arrived);
  }
}

const window = 4 * 1024 * 1024;

function open(number: number): Stream {
  const session = connect(`http://${address}`, { settings: { initialWindowSize: window } });
  session.once('connect', () => session.setLocalWindowSize(window));
  return new Stream(session, `n${number}`);
}

const all = Array.from({ length: Number(streams) }, (_, i) => open(i));
