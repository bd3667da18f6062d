import { ChannelCredentials, Client, type ClientOptions } from '@grpc/grpc-js';
import type { Admission } from './admission.ts';
import type { Clock } from './clock.ts';
import type { Dialer } from './duplex-loop.ts';
import { type PeerCertificate, readPeerCertificate } from './peer-certificate.ts';
import type { DialCredentials } from './tls.ts';

export interface RenewedClientOptions {
  /** `host:port` */
  readonly target: string;
  /** Of the first kind are never renewed. */
  readonly credentials: ChannelCredentials | DialCredentials;
  readonly options: ClientOptions;
  readonly clock: Clock;
  readonly random: () => number;
  /** Which servers are revoked. */
  readonly admission?: Admission;
}

interface Connection {
  readonly client: Client;
  /** What the server proved on it; undefined: nothing yet. */
  server: PeerCertificate | undefined;
}

/** How long a new connection may take before the old one is kept for another while. */
const readyMs = 10_000;
const againMs = 30_000;
/** Timers cannot be longer than 24 days. */
const longestWaitMs = 3_600_000;

/**
 * One server whose connection never outlives the certificates that were proved on it. A new one is made when our
 * certificate is replaced, and when of the server's less than a tenth to a fifth of its time is left; calls move to it
 * once it is there. One whose server's certificate has ended or is revoked is given up, also without another.
 */
export class RenewedClient implements Dialer {
  readonly #options: RenewedClientOptions;
  readonly #listeners = new Set<() => void>();
  readonly #unwatch: readonly (() => void)[];
  #current: Connection;
  #next: Connection | undefined;
  #cancelEnd: (() => void) | undefined;
  #cancelAgain: (() => void) | undefined;

  constructor(options: RenewedClientOptions) {
    this.#options = options;
    const { credentials, admission } = options;
    this.#current = this.#make();
    this.#unwatch = [
      ...(credentials instanceof ChannelCredentials ? [] : [credentials.onReplaced(() => this.#renew())]),
      ...(admission ? [admission.onRevoked(() => this.#leaveRevoked())] : []),
    ];
  }

  get client(): Client {
    return this.#current.client;
  }

  /** What the server proved on the connection that is in use; undefined: there was none yet. */
  get server(): PeerCertificate | undefined {
    return this.#current.server;
  }

  onRenewed(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  close(): void {
    for (const unwatch of this.#unwatch) unwatch();
    this.#cancelEnd?.();
    this.#cancelAgain?.();
    this.#next?.client.close();
    this.#next = undefined;
    this.#current.client.close();
  }

  #make(): Connection {
    const { target, credentials, options } = this.#options;
    const met = (raw: Uint8Array): void => {
      made.server = readPeerCertificate(raw);
      if (made === this.#current) this.#waitForEnd();
    };
    const its = credentials instanceof ChannelCredentials ? credentials : credentials.connection(target, met);
    const made: Connection = { client: new Client(target, its, options), server: undefined };
    return made;
  }

  #renew(): void {
    this.#cancelAgain?.();
    this.#next?.client.close();
    const next = this.#make();
    // Nobody calls: whoever does will be the first to connect.
    if (this.#listeners.size === 0) {
      this.#next = undefined;
      this.#moveTo(next);
      return;
    }
    this.#next = next;
    next.client.waitForReady(Date.now() + readyMs, (error) => {
      if (this.#next !== next) return;
      this.#next = undefined;
      if (!error) this.#moveTo(next);
      else {
        next.client.close();
        this.#cancelAgain = this.#options.clock.after(againMs, () => this.#renew());
      }
    });
  }

  /** What is made instead refuses the same certificate, and takes another. */
  #leaveRevoked(): void {
    const { server } = this.#current;
    if (server && this.#options.admission?.isRevoked(server)) this.#moveTo(this.#make());
  }

  #moveTo(next: Connection): void {
    const { client } = this.#current;
    this.#current = next;
    for (const listener of [...this.#listeners]) listener();
    client.close();
    this.#waitForEnd();
  }

  #waitForEnd(): void {
    const { clock, random } = this.#options;
    this.#cancelEnd?.();
    const { server } = this.#current;
    if (!server) return;
    const { from, until } = server;
    // Servers have many clients: not all of them come back in the same moment.
    const soon = until - ((until - from) * (1 + random())) / 10;
    const now = clock.wall();
    const next = now < soon ? soon : until;
    this.#cancelEnd = clock.after(Math.min(Math.max(next - now, 0) + 1, longestWaitMs), () => {
      if (clock.wall() > until) this.#moveTo(this.#make());
      else {
        this.#waitForEnd();
        if (clock.wall() >= soon) this.#renew();
      }
    });
  }
}
