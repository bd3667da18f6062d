import type { ChannelCredentials } from '@grpc/grpc-js';
import type { Clock } from '../../runtime/clock.ts';
import { type Dialer, type Duplex, type DuplexHandler, DuplexLoop } from '../../runtime/duplex-loop.ts';
import { AppError } from '../../runtime/errors.ts';
import type { Log } from '../../runtime/log.ts';
import { RenewedClient } from '../../runtime/renewed-client.ts';
import type { DialCredentials } from '../../runtime/tls.ts';
import { methods } from '../../wire/proto/methods.ts';
import { type DeltaClientOptions, DeltaClientStream } from './delta-client-stream.ts';

export interface AdsClientOptions extends Pick<DeltaClientOptions, 'apply' | 'node' | 'passed'> {
  /** `host:port`, tried in turn. */
  readonly addresses: readonly string[];
  /** They check who the server is. */
  readonly credentials: ChannelCredentials | DialCredentials;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  /** The server took the stream, or it was lost. */
  readonly onConnected?: (connected: boolean) => void;
}

const channelOptions = {
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5_000,
  'grpc.keepalive_permit_without_calls': 1,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.min_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1_000,
  'grpc.max_receive_message_length': 64 * 1024 * 1024,
  'grpc.use_local_subchannel_pool': 1,
  'grpc.service_config_disable_resolution': 1,
};

/** A server that does not take the stream by then is given up for the next address. */
const acceptMs = 10_000;

/**
 * Delta ADS over gRPC: one stream to one of several servers, made again when it ends. What was told stays in force
 * while there is none.
 */
export class AdsClient {
  readonly stream: DeltaClientStream;
  readonly #options: AdsClientOptions;
  readonly #loop: DuplexLoop;
  readonly #clients = new Map<string, RenewedClient>();
  #next = 0;
  #address = '';
  #connected = false;
  /** One line per outage, not one per try. */
  #saidDown = false;

  /** `subscribe` makes the first subscriptions, before the first call. */
  constructor(options: AdsClientOptions, subscribe: (stream: DeltaClientStream) => void) {
    this.#options = options;
    this.stream = new DeltaClientStream(options);
    subscribe(this.stream);
    const { clock, random, addresses } = options;
    this.#loop = new DuplexLoop({
      dialer: () => this.#pick(),
      target: addresses.join(', '),
      path: methods.deltaAds,
      clock,
      random,
      open: (duplex) => this.#open(duplex),
    });
  }

  /** A server has taken the stream. */
  get connected(): boolean {
    return this.#connected;
  }

  close(): void {
    this.#loop.close();
    for (const client of this.#clients.values()) client.close();
  }

  #pick(): Dialer {
    const { addresses, credentials, clock, random } = this.#options;
    this.#address = addresses[this.#next % addresses.length] as string;
    this.#next += 1;
    const known = this.#clients.get(this.#address);
    if (known) return known;
    const target = this.#address;
    const made = new RenewedClient({ target, credentials, options: channelOptions, clock, random });
    this.#clients.set(this.#address, made);
    return made;
  }

  #open(duplex: Duplex): DuplexHandler {
    const { clock } = this.#options;
    const fail = (error: AppError): void => duplex.fail(error);
    const cancel = clock.after(acceptMs, () =>
      fail(new AppError('E_XDS_STREAM', `${this.#address} does not take the stream`, { retryable: true })),
    );
    this.stream.opened({ send: (message) => void duplex.send(message), fail });
    return {
      accepted: () => {
        cancel();
        // When the stream is lost, the server that was found is the first to be tried again.
        this.#next -= 1;
        this.#setConnected(true);
      },
      receive: (message) => this.stream.receive(message),
      drained: () => {},
      replaced: () => {
        cancel();
        this.stream.closed();
      },
      closed: (error) => {
        cancel();
        this.stream.closed();
        const { code, message } = error;
        if (!this.#saidDown) this.#options.log.warn({ code }, `no xDS stream: ${message}`);
        this.#saidDown = true;
        this.#setConnected(false);
      },
    };
  }

  #setConnected(connected: boolean): void {
    if (this.#connected === connected) return;
    this.#connected = connected;
    if (connected) {
      this.#saidDown = false;
      this.#options.log.info({ server: this.#address }, 'xDS stream is up');
    }
    this.#options.onConnected?.(connected);
  }
}
