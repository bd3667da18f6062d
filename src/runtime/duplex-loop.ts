import { type Client, type ClientDuplexStream, Metadata, type StatusObject, status } from '@grpc/grpc-js';
import { Backoff } from './backoff.ts';
import type { Clock } from './clock.ts';
import { AppError, messageOf } from './errors.ts';
import { peerError } from './peer-error.ts';

/** One end of an open call. */
export interface Duplex {
  /** False: no more until `drained`. */
  send(message: Buffer): boolean;
  /** Ends the call; `closed` follows with this. */
  fail(error: AppError): void;
}

/** Makes the connections of one server. */
export interface Dialer {
  /** For the next call. */
  readonly client: Client;
  /** Calls the listener when calls should be made anew, over the client that is there then. */
  onRenewed(listener: () => void): () => void;
}

export interface DuplexHandler {
  /** The peer has taken the call: its headers came. */
  accepted?(): void;
  /** A throw ends the call. */
  receive(message: Buffer): void;
  drained(): void;
  /** Another call takes the place of this one in the same moment; default: as closed. */
  replaced?(): void;
  closed(error: AppError): void;
}

export interface DuplexLoopOptions {
  /** A function is asked before each call, so that another address may be tried. */
  readonly dialer: Dialer | (() => Dialer);
  /** `host:port`, for messages. */
  readonly target: string;
  /** `/package.Service/Method`. */
  readonly path: string;
  /** Headers of each call. */
  readonly headers?: () => Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly random: () => number;
  /** A call begins; whether the peer answers is not known yet. */
  readonly open: (duplex: Duplex) => DuplexHandler;
}

const bytes = (message: Buffer): Buffer => message;

/**
 * Keeps one bidirectional call open: when it ends it is made again, after 100 ms to 1 s with jitter (up to 5 s when
 * an identity was refused), from the shortest again once the peer has sent something.
 */
export class DuplexLoop {
  readonly #options: DuplexLoopOptions;
  readonly #lost: Backoff;
  readonly #refused: Backoff;
  #call: ClientDuplexStream<Buffer, Buffer> | undefined;
  #forget: (() => void) | undefined;
  #cancel: (() => void) | undefined;
  #closed = false;

  constructor(options: DuplexLoopOptions) {
    this.#options = options;
    this.#lost = new Backoff({ minMs: 100, maxMs: 1_000, random: options.random });
    this.#refused = new Backoff({ minMs: 100, maxMs: 5_000, random: options.random });
    this.#dial();
  }

  close(): void {
    this.#closed = true;
    this.#cancel?.();
    this.#forget?.();
    this.#call?.cancel();
  }

  #dial(): void {
    const { dialer, path, headers, target } = this.#options;
    const metadata = new Metadata();
    for (const [key, value] of Object.entries(headers?.() ?? {})) metadata.set(key, value);
    const dialled = typeof dialer === 'function' ? dialer() : dialer;
    const call = dialled.client.makeBidiStreamRequest<Buffer, Buffer>(path, bytes, bytes, metadata);
    this.#call = call;
    let reason: AppError | undefined;
    const fail = (error: AppError): void => {
      reason ??= error;
      call.cancel();
    };
    const handler = this.#options.open({ send: (message) => call.write(message), fail });
    this.#forget?.();
    this.#forget = dialled.onRenewed(() => {
      if (this.#call !== call) return;
      this.#call = undefined;
      call.cancel();
      if (handler.replaced) handler.replaced();
      else handler.closed(new AppError('E_XDS_STREAM', `${target}: the connection is renewed`));
      this.#dial();
    });
    call.on('metadata', () => handler.accepted?.());
    call.on('data', (message: Buffer) => {
      if (this.#call !== call) return;
      this.#lost.reset();
      this.#refused.reset();
      try {
        handler.receive(message);
      } catch (cause) {
        fail(cause instanceof AppError ? cause : new AppError('E_XDS_STREAM', messageOf(cause), { cause }));
      }
    });
    call.on('drain', () => handler.drained());
    // The status event follows every error and every end.
    call.on('error', () => {});
    call.on('status', (s: StatusObject) => {
      if (this.#call !== call) return;
      this.#call = undefined;
      const details = s.code === status.OK ? 'the peer ended the stream' : s.details;
      const error = reason ?? peerError(target, details);
      handler.closed(error);
      if (this.#closed) return;
      const backoff = error.code === 'E_PEER_IDENTITY' ? this.#refused : this.#lost;
      this.#cancel = this.#options.clock.after(backoff.next(), () => this.#dial());
    });
  }
}
