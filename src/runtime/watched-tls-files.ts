import type { experimental } from '@grpc/grpc-js';
import type { Clock } from './clock.ts';
import type { PeerIdentity } from './identity.ts';
import { type LoadedTls, loadTls, type TlsFiles } from './tls-files.ts';

type Provider = experimental.CertificateProvider;
type CaListener = experimental.CaCertificateUpdateListener;
type IdentityListener = experimental.IdentityCertificateUpdateListener;

const watchMs = 2_000;

/** grpc-js registers who waits for the result only after it has added its listener. */
const calledSoon = (call: () => void): void => process.nextTick(call);

/**
 * Credentials from files that may be replaced at any time: new connections use the new ones within seconds.
 * While a certificate and key do not belong together (half replaced) or cannot be read, the last good ones stay.
 */
export class WatchedTlsFiles implements Provider {
  readonly #files: TlsFiles;
  #last: LoadedTls;
  readonly #caListeners = new Set<CaListener>();
  readonly #identityListeners = new Set<IdentityListener>();
  readonly #replacedListeners = new Set<() => void>();
  readonly #clock: Clock;
  #cancel: (() => void) | undefined;

  constructor(files: TlsFiles, clock: Clock) {
    this.#files = files;
    this.#clock = clock;
    this.#last = loadTls(files);
  }

  get identity(): PeerIdentity {
    return this.#last.identity;
  }

  addCaCertificateListener(listener: CaListener): void {
    this.#caListeners.add(listener);
    this.#watch();
    calledSoon(() => listener({ caCertificate: this.#last.ca }));
  }

  removeCaCertificateListener(listener: CaListener): void {
    this.#caListeners.delete(listener);
    this.#watch();
  }

  addIdentityCertificateListener(listener: IdentityListener): void {
    this.#identityListeners.add(listener);
    this.#watch();
    calledSoon(() => listener({ certificate: this.#last.cert, privateKey: this.#last.key }));
  }

  removeIdentityCertificateListener(listener: IdentityListener): void {
    this.#identityListeners.delete(listener);
    this.#watch();
  }

  /** The certificate was replaced by another that can be used. */
  onReplaced(listener: () => void): () => void {
    this.#replacedListeners.add(listener);
    this.#watch();
    return () => {
      this.#replacedListeners.delete(listener);
      this.#watch();
    };
  }

  #reload(): void {
    let next: LoadedTls;
    try {
      next = loadTls(this.#files);
    } catch {
      return;
    }
    const last = this.#last;
    this.#last = next;
    if (!next.ca.equals(last.ca)) for (const l of this.#caListeners) l({ caCertificate: next.ca });
    if (!next.cert.equals(last.cert) || !next.key.equals(last.key)) {
      for (const l of this.#identityListeners) l({ certificate: next.cert, privateKey: next.key });
      for (const l of this.#replacedListeners) l();
    }
  }

  #watch(): void {
    if (this.#caListeners.size + this.#identityListeners.size + this.#replacedListeners.size === 0) {
      this.#cancel?.();
      this.#cancel = undefined;
    } else {
      this.#cancel ??= this.#clock.after(watchMs, () => {
        this.#cancel = undefined;
        this.#reload();
        this.#watch();
      });
    }
  }
}
