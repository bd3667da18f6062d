import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Clock } from './clock.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';
import { type PeerCertificate, readPeerCertificate } from './peer-certificate.ts';

export interface CertificateWatchOptions {
  /** Path of our own certificate; it may be replaced at any time. */
  readonly own: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

type Validity = Pick<PeerCertificate, 'from' | 'until'>;

const hourMs = 3_600_000;
const monthMs = 30 * 24 * hourMs;
const share = 0.2;

/** In less than 30 days, and in less than a fifth of the time for which it was issued. */
export function endsSoon({ from, until }: Validity, now: number): boolean {
  const left = until - now;
  return left < monthMs && left < (until - from) * share;
}

/** When our own certificate and those of peers end: a metric, and a line of the log where one of them ends soon. */
export class CertificateWatch {
  readonly #options: CertificateWatchOptions;
  /** Of connections that are open, by peer. */
  readonly #open = new Map<string, Set<Validity>>();
  /** Of servers that we dial the last one, by target: another server there takes the place of the one before. */
  readonly #dialled = new Map<string, PeerCertificate>();
  #own: Validity | undefined;
  /** Peer → the end that was warned of. */
  readonly #warned = new Map<string, number>();
  #cancel: () => void = () => {};

  constructor(options: CertificateWatchOptions) {
    this.#options = options;
    options.metrics.gauge({
      name: 'cert_expiry_seconds',
      help: 'time until a certificate ends, our own and those of connected peers',
      labels: ['peer'],
      collect: (gauge) => {
        gauge.reset();
        const now = options.clock.wall();
        for (const [peer, { until }] of this.#all()) gauge.set({ peer }, (until - now) / 1000);
      },
    });
    this.#check();
  }

  /** A peer that proved this certificate (DER) is connected, until the returned function is called. */
  connected(raw: Uint8Array): () => void {
    const validity = readPeerCertificate(raw);
    const peer = validity.name;
    const all = this.#open.get(peer) ?? new Set();
    this.#open.set(peer, all.add(validity));
    this.#warn(peer, validity);
    return () => {
      all.delete(validity);
      if (all.size > 0 || this.#open.get(peer) !== all) return;
      this.#open.delete(peer);
      this.#warned.delete(peer);
    };
  }

  /** The server that we dial at `target` proved this certificate (DER). */
  dialled(raw: Uint8Array, target: string): void {
    const certificate = readPeerCertificate(raw);
    const before = this.#dialled.get(target);
    this.#dialled.set(target, certificate);
    if (before && !this.#all().has(before.name)) this.#warned.delete(before.name);
    this.#warn(certificate.name, certificate);
  }

  /** Our own; undefined: it was never readable. */
  get own(): Validity | undefined {
    try {
      this.#own = readPeerCertificate(new X509Certificate(readFileSync(this.#options.own)).raw);
    } catch {
      // It is being replaced: the last one is in force.
    }
    return this.#own;
  }

  close(): void {
    this.#cancel();
  }

  #check(): void {
    for (const [peer, validity] of this.#all()) this.#warn(peer, validity);
    this.#cancel = this.#options.clock.after(hourMs, () => this.#check());
  }

  /** Of several certificates of a peer the one that ends first. */
  #all(): ReadonlyMap<string, Validity> {
    const first = new Map<string, Validity>();
    const add = (peer: string, validity: Validity): void => {
      const known = first.get(peer);
      if (!known || validity.until < known.until) first.set(peer, validity);
    };
    const { own } = this;
    if (own) add('own', own);
    for (const certificate of this.#dialled.values()) add(certificate.name, certificate);
    for (const [peer, all] of this.#open) for (const validity of all) add(peer, validity);
    return first;
  }

  #warn(peer: string, validity: Validity): void {
    const { until } = validity;
    const now = this.#options.clock.wall();
    if (!endsSoon(validity, now) || this.#warned.get(peer) === until) return;
    const left = until - now;
    this.#warned.set(peer, until);
    const fields = { peer, until: new Date(until).toISOString(), hours: Math.round(left / hourMs) };
    this.#options.log.warn(fields, left > 0 ? 'a certificate ends soon' : 'a certificate has ended');
  }
}
