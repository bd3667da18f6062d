import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { Clock } from '../../runtime/clock.ts';
import { TcpFrames, tcpFrame } from '../../wire/dns/tcp-frames.ts';
import type { Listener } from './udp.ts';

/** What one listening address gives to its clients together and to each of them. */
export interface TcpLimits {
  /** One more closes the connection that has been without a query for longest. */
  readonly connections: number;
  /** Milliseconds without a whole query after which a connection is closed. */
  readonly idleMs: number;
  readonly queryBytes: number;
  /** Answers a client has not taken: above this, no more of its queries are read. */
  readonly unsentBytes: number;
}

export const tcpLimits: TcpLimits = {
  connections: 1000,
  idleMs: 30_000,
  queryBytes: 4096,
  unsentBytes: 16_384,
};

type TcpCloseReason = 'idle' | 'limit' | 'too-long';

export interface TcpOptions {
  readonly host: string;
  readonly port: number;
  /** Undefined: nothing is sent. */
  readonly answer: (packet: Buffer) => Buffer | undefined;
  readonly clock: Clock;
  readonly limits: TcpLimits;
  readonly onOpen: () => void;
  /** Undefined: the client or the network ended it. */
  readonly onClose: (reason: TcpCloseReason | undefined) => void;
  readonly onError: (error: Error) => void;
}

/** Rejects with the socket's error when it cannot be bound. */
export async function listenTcp(options: TcpOptions): Promise<Listener> {
  const { limits, clock } = options;
  /** In the order of their last query, so that the first is the longest idle. */
  const connections = new Map<Connection, number>();
  const touch = (connection: Connection): void => {
    connections.delete(connection);
    connections.set(connection, clock.now());
  };

  const server = createServer({ noDelay: true, highWaterMark: limits.unsentBytes }, (socket) => {
    if (connections.size >= limits.connections) connections.keys().next().value?.close('limit');
    const connection = new Connection(socket, options, {
      onQuery: () => touch(connection),
      onClose: (reason) => {
        connections.delete(connection);
        options.onClose(reason);
      },
    });
    touch(connection);
    options.onOpen();
  });
  server.listen({ host: options.host, port: options.port, ipv6Only: options.host.includes(':') });
  await once(server, 'listening');
  server.on('error', options.onError);

  const sweep = (): void => {
    const oldest = clock.now() - limits.idleMs;
    for (const [connection, lastQuery] of connections) {
      if (lastQuery > oldest) break;
      connection.close('idle');
    }
    stopSweeping = clock.after(1000, sweep);
  };
  let stopSweeping = clock.after(1000, sweep);

  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        stopSweeping();
        server.close(() => resolve());
        for (const connection of connections.keys()) connection.close(undefined);
      }),
  };
}

interface ConnectionEvents {
  readonly onQuery: () => void;
  readonly onClose: (reason: TcpCloseReason | undefined) => void;
}

/** Reads queries and writes their answers in order; stops reading while the client does not take answers. */
class Connection {
  readonly #socket: Socket;
  readonly #frames: TcpFrames;
  readonly #options: TcpOptions;
  readonly #events: ConnectionEvents;
  #reason: TcpCloseReason | undefined;

  constructor(socket: Socket, options: TcpOptions, events: ConnectionEvents) {
    this.#socket = socket;
    this.#frames = new TcpFrames(options.limits.queryBytes);
    this.#options = options;
    this.#events = events;
    socket.on('data', (chunk: Buffer) => {
      this.#frames.push(chunk);
      this.#work();
    });
    socket.on('drain', () => this.#work());
    // What broke is of no interest: 'close' follows.
    socket.on('error', () => {});
    socket.on('close', () => events.onClose(this.#reason));
  }

  close(reason: TcpCloseReason | undefined): void {
    this.#reason = reason;
    // Not counted as open from now on, though 'close' comes later.
    this.#socket.removeAllListeners('close');
    this.#socket.destroy();
    this.#events.onClose(reason);
  }

  /** Answers what has arrived, until the client has more answers to take than it may. */
  #work(): void {
    const { unsentBytes } = this.#options.limits;
    for (;;) {
      const answers: Buffer[] = [];
      let bytes = 0;
      while (bytes < unsentBytes) {
        const query = this.#frames.next();
        if (query === 'too-long') {
          this.close('too-long');
          return;
        }
        if (!query) break;
        this.#events.onQuery();
        const answer = this.#options.answer(query);
        if (!answer) continue;
        const frame = tcpFrame(answer);
        answers.push(frame);
        bytes += frame.length;
      }
      if (answers.length === 0) break;
      // False: 'drain' follows, and calls this again.
      if (!this.#socket.write(Buffer.concat(answers))) {
        this.#socket.pause();
        return;
      }
    }
    if (this.#socket.isPaused()) this.#socket.resume();
  }
}
