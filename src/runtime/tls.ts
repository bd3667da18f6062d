import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { PeerCertificate } from 'node:tls';
import {
  type ChannelCredentials,
  experimental,
  type ServerCredentials,
  ServerInterceptingCall,
  type ServerInterceptor,
  status,
} from '@grpc/grpc-js';
import { type Clock, systemClock } from './clock.ts';
import { AppError, messageOf } from './errors.ts';
import {
  checkPeer,
  type ExpectedPeer,
  formatSpiffeId,
  type PeerIdentity,
  type PeerRole,
  parsePeerIdentity,
} from './identity.ts';

/** Paths of PEM files: `--tls-cert`, `--tls-key`, `--tls-ca`. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}

type Provider = experimental.CertificateProvider;
type CaListener = experimental.CaCertificateUpdateListener;
type IdentityListener = experimental.IdentityCertificateUpdateListener;

interface Loaded {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly ca: Buffer;
  readonly identity: PeerIdentity;
}

/** Reads and checks the files. Throws E_TLS_LOAD, which never contains their content. */
export function loadTls(files: TlsFiles): Loaded {
  const [cert, key, ca] = (['cert', 'key', 'ca'] as const).map((name) => {
    try {
      return readFileSync(files[name]);
    } catch (cause) {
      throw new AppError('E_TLS_LOAD', `cannot read ${files[name]} (--tls-${name}): ${messageOf(cause)}`, {
        cause,
      });
    }
  }) as [Buffer, Buffer, Buffer];
  try {
    const own = new X509Certificate(cert);
    if (!own.checkPrivateKey(createPrivateKey(key))) {
      throw new AppError('E_TLS_LOAD', `${files.key} is not the key of ${files.cert}`);
    }
    new X509Certificate(ca);
    return { cert, key, ca, identity: parsePeerIdentity(own.raw) };
  } catch (cause) {
    if (cause instanceof AppError && cause.code === 'E_TLS_LOAD') throw cause;
    const message = `cannot use ${files.cert}, ${files.key} and ${files.ca}: ${messageOf(cause)}`;
    throw new AppError('E_TLS_LOAD', message, { cause });
  }
}

/** The identity of our own certificate. Throws E_TLS_LOAD. */
function ownIdentity(files: TlsFiles): PeerIdentity {
  return loadTls(files).identity;
}

/**
 * Throws E_TLS_LOAD when the certificate in `files` is not what the role's flags say, so that a wrong file is
 * named at start and not by a far peer.
 */
export function requireOwnIdentity(
  files: TlsFiles,
  want: { readonly set?: string; readonly cluster?: string; readonly role: PeerRole; readonly node?: string },
): PeerIdentity {
  const own = ownIdentity(files);
  for (const field of ['set', 'cluster', 'role', 'node'] as const) {
    if (want[field] !== undefined && own[field] !== want[field]) {
      const found = formatSpiffeId(own);
      throw new AppError('E_TLS_LOAD', `expected ${field} ${want[field]} in ${files.cert}, found ${found}`);
    }
  }
  return own;
}

const watchMs = 2_000;

/**
 * A new listener is called in the next tick: grpc-js registers who waits for the result only after it has added
 * its listener.
 *
 * Credentials from files that may be replaced at any time: new connections use the new ones within seconds.
 * While a certificate and key do not belong together (half replaced) or cannot be read, the last good ones stay.
 */
class WatchedFiles implements Provider {
  readonly #files: TlsFiles;
  #last: Loaded;
  readonly #caListeners = new Set<CaListener>();
  readonly #identityListeners = new Set<IdentityListener>();
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
    process.nextTick(() => listener({ caCertificate: this.#last.ca }));
  }

  removeCaCertificateListener(listener: CaListener): void {
    this.#caListeners.delete(listener);
    this.#watch();
  }

  addIdentityCertificateListener(listener: IdentityListener): void {
    this.#identityListeners.add(listener);
    this.#watch();
    process.nextTick(() => listener({ certificate: this.#last.cert, privateKey: this.#last.key }));
  }

  removeIdentityCertificateListener(listener: IdentityListener): void {
    this.#identityListeners.delete(listener);
    this.#watch();
  }

  #reload(): void {
    let next: Loaded;
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
    }
  }

  #watch(): void {
    if (this.#caListeners.size + this.#identityListeners.size === 0) {
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

/**
 * For `Server.bindAsync`: mutual TLS. A call over a connection whose client did not prove a certificate of our CA
 * never reaches a service: it ends with UNAUTHENTICATED and says why, where a failed handshake would tell neither
 * end. Throws E_TLS_LOAD.
 */
export function serverCredentials(files: TlsFiles, clock: Clock = systemClock): ServerCredentials {
  const provider = new WatchedFiles(files, clock);
  return experimental.createServerCredentialsWithInterceptors(
    experimental.createCertificateProviderServerCredentials(provider, provider, false),
    [refuseStrangers],
  );
}

const refuseStrangers: ServerInterceptor = (_method, call) => {
  if (call.getAuthContext().sslPeerCertificate?.raw) return new ServerInterceptingCall(call);
  call.sendStatus({
    code: status.UNAUTHENTICATED,
    details: 'E_PEER_IDENTITY: expected a client certificate of our CA that is in force, found none',
  });
  return new ServerInterceptingCall(call, { start: () => {} });
};

/**
 * For clients: mutual TLS; the server must have a certificate of our CA, be of our own set (unless another is
 * expected) and have the expected role and cluster. Host names are not looked at. Throws E_TLS_LOAD.
 */
export function channelCredentials(
  files: TlsFiles,
  expect: ExpectedPeer,
  clock: Clock = systemClock,
): ChannelCredentials {
  const provider = new WatchedFiles(files, clock);
  const credentials = experimental.createCertificateProviderChannelCredentials(provider, provider, {
    checkServerIdentity: (_host: string, certificate: PeerCertificate) => {
      try {
        checkPeer(parsePeerIdentity(certificate.raw), {
          ...expect,
          set: expect.set ?? provider.identity.set,
        });
        return undefined;
      } catch (error) {
        return new Error(`E_PEER_IDENTITY: ${messageOf(error)}`);
      }
    },
  });
  // grpc-js would send the target as server name, which may not be an IP address (RFC 6066 section 3).
  const connector = credentials._createSecureConnector.bind(credentials);
  credentials._createSecureConnector = (target, options, calls) =>
    connector(target, { ...options, 'grpc.ssl_target_name_override': 'causeway' }, calls);
  return credentials;
}

interface CallWithPeer {
  getAuthContext(): { readonly sslPeerCertificate?: PeerCertificate };
}

/** Who called. Throws E_PEER_IDENTITY when it has no verified certificate or is not what is expected. */
export function identifyCall(call: CallWithPeer, expect: ExpectedPeer): PeerIdentity {
  const raw = call.getAuthContext().sslPeerCertificate?.raw;
  if (!raw) throw new AppError('E_PEER_IDENTITY', 'expected a client certificate, found none');
  const peer = parsePeerIdentity(raw);
  checkPeer(peer, expect);
  return peer;
}

/**
 * OpenSSL's and Node's words for a peer that TLS itself did not accept, as they arrive in the details of a gRPC
 * status (only the text arrives).
 */
const tlsRefusal =
  /E_PEER_IDENTITY|certificate|self[- ]signed|unable to verify|bad record|handshake|tls alert|SSL/i;

/** A gRPC status as E_PEER_IDENTITY where the other end was refused or refused us, as E_XDS_STREAM otherwise. */
export function peerError(peer: string, details: string): AppError {
  if (!tlsRefusal.test(details)) {
    return new AppError('E_XDS_STREAM', `${peer}: ${details}`, { retryable: true });
  }
  return new AppError('E_PEER_IDENTITY', `${peer}: ${details.replace('E_PEER_IDENTITY: ', '')}`, {
    retryable: true,
  });
}
