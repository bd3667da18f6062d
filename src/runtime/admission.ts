import type { CertificateWatch } from './certificate-watch.ts';
import type { Clock } from './clock.ts';
import { AppError } from './errors.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';
import { type PeerCertificate, readPeerCertificate } from './peer-certificate.ts';
import { type Revocation, revocationOf } from './revocations.ts';
import { type CallWithPeer, certificateOfCall } from './tls.ts';

export interface AdmissionOptions {
  readonly certificates: CertificateWatch;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

interface OpenCertificate {
  readonly peer: string;
  readonly serial: string;
  /** ISO 8601. */
  readonly until: string;
  readonly calls: number;
}

interface Guest {
  readonly certificate: PeerCertificate;
  readonly end: (error: AppError) => void;
}

/** Timers cannot be longer than 24 days. */
const longestWaitMs = 3_600_000;

/**
 * Whose calls are open: only of peers whose certificate is in force and not revoked. TLS looks at a certificate once,
 * when a connection begins; this ends calls when their certificate ends or is revoked, and takes no new ones over
 * a connection that lives longer than its certificate.
 */
export class Admission {
  readonly #options: AdmissionOptions;
  readonly #guests = new Set<Guest>();
  readonly #listeners = new Set<() => void>();
  #revoked: readonly Revocation[] = [];
  #cancel: (() => void) | undefined;

  constructor(options: AdmissionOptions) {
    this.#options = options;
    this.#refused();
  }

  /** Replaces the list; calls of those on it end before this returns. */
  setRevoked(revoked: readonly Revocation[]): void {
    const changed = JSON.stringify(revoked) !== JSON.stringify(this.#revoked);
    this.#revoked = revoked;
    if (!changed) return;
    this.#options.log.info({ entries: revoked.length }, 'the list of revoked certificates changed');
    this.#look();
    for (const listener of [...this.#listeners]) listener();
  }

  /** The list of revoked certificates changed. */
  onRevoked(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  isRevoked(certificate: PeerCertificate): boolean {
    return revocationOf(this.#revoked, certificate) !== undefined;
  }

  /**
   * A call begins; `end` ends it later on. Returns what is called when it is over. Throws E_PEER_IDENTITY when it is
   * not taken.
   */
  enter(call: CallWithPeer, end: Guest['end']): () => void {
    const raw = certificateOfCall(call);
    if (!raw) throw new AppError('E_PEER_IDENTITY', 'expected a client certificate, found none');
    const certificate = readPeerCertificate(raw);
    const fault = this.#faultOf(certificate);
    if (fault) throw fault;
    const guest: Guest = { certificate, end };
    this.#guests.add(guest);
    const left = this.#options.certificates.connected(raw);
    this.#wait();
    return () => {
      left();
      this.#guests.delete(guest);
    };
  }

  /** For /debug: which certificates calls are open with, by peer. */
  get certificates(): readonly OpenCertificate[] {
    const found = new Map<string, OpenCertificate>();
    for (const { certificate } of this.#guests) {
      const { name, serial, until } = certificate;
      const calls = (found.get(serial)?.calls ?? 0) + 1;
      found.set(serial, { peer: name, serial, until: timeText(until), calls });
    }
    return [...found.values()].sort((a, b) => (a.peer < b.peer ? -1 : a.peer > b.peer ? 1 : 0));
  }

  /** The server that we dial at `target` proved this certificate (DER). Throws E_PEER_IDENTITY when it is revoked. */
  dialled(raw: Uint8Array, target: string): void {
    const fault = this.#faultOf(readPeerCertificate(raw));
    if (fault) throw fault;
    this.#options.certificates.dialled(raw, target);
  }

  close(): void {
    this.#cancel?.();
    this.#options.certificates.close();
  }

  #look(): void {
    for (const guest of [...this.#guests]) {
      const fault = this.#faultOf(guest.certificate);
      if (!fault) continue;
      this.#guests.delete(guest);
      guest.end(fault);
    }
    this.#wait();
  }

  /** Looks again when the first of the certificates ends. */
  #wait(): void {
    const { clock } = this.#options;
    this.#cancel?.();
    this.#cancel = undefined;
    if (this.#guests.size === 0) return;
    const first = Math.min(...[...this.#guests].map(({ certificate }) => certificate.until));
    const wait = Math.min(Math.max(first - clock.wall(), 0) + 1, longestWaitMs);
    this.#cancel = clock.after(wait, () => this.#look());
  }

  #faultOf(certificate: PeerCertificate): AppError | undefined {
    const { name, serial, from, until } = certificate;
    const revocation = revocationOf(this.#revoked, certificate);
    if (revocation) {
      this.#refused().inc({ reason: 'revoked' });
      const which =
        revocation.issuedBefore === undefined
          ? ''
          : `: it is valid from ${timeText(from)}, before ${timeText(revocation.issuedBefore)}`;
      return new AppError('E_PEER_IDENTITY', `certificate ${serial} of ${name} is revoked${which}`);
    }
    if (until >= this.#options.clock.wall()) return undefined;
    this.#refused().inc({ reason: 'ended' });
    const message = `certificate ${serial} of ${name} ended at ${timeText(until)}; expected a new connection with one that is in force`;
    return new AppError('E_PEER_IDENTITY', message, { retryable: true });
  }

  #refused() {
    return this.#options.metrics.counter({
      name: 'certificates_refused_total',
      help: 'Calls that were refused or ended because the certificate of the peer is revoked or has ended',
      labels: ['reason'],
    });
  }
}

const timeText = (ms: number): string => new Date(ms).toISOString();
