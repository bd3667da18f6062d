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
import { checkPeer, type ExpectedPeer, type PeerIdentity, parsePeerIdentity } from './identity.ts';
import type { TlsFiles } from './tls-files.ts';
import { WatchedTlsFiles } from './watched-tls-files.ts';

/**
 * For `Server.bindAsync`: mutual TLS. A call over a connection whose client did not prove a certificate of our CA
 * never reaches a service: it ends with UNAUTHENTICATED and says why, where a failed handshake would tell neither
 * end. Throws E_TLS_LOAD.
 */
export function serverCredentials(files: TlsFiles, clock: Clock = systemClock): ServerCredentials {
  const provider = new WatchedTlsFiles(files, clock);
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
 * expected) and have the expected role and cluster. Host names are not looked at.
 */
export class DialCredentials {
  readonly #files: WatchedTlsFiles;
  readonly #expect: ExpectedPeer;
  readonly #dialled: ((raw: Uint8Array, target: string) => void) | undefined;

  /**
   * `dialled` is given the certificate (DER) of each server that is accepted, and where it is; it may throw to refuse it. Throws
   * E_TLS_LOAD.
   */
  constructor(
    files: TlsFiles,
    expect: ExpectedPeer,
    options: { readonly clock?: Clock; readonly dialled?: (raw: Uint8Array, target: string) => void } = {},
  ) {
    this.#files = new WatchedTlsFiles(files, options.clock ?? systemClock);
    this.#expect = { ...expect, set: expect.set ?? this.#files.identity.set };
    this.#dialled = options.dialled;
  }

  /** Our certificate was replaced. */
  onReplaced(listener: () => void): () => void {
    return this.#files.onReplaced(listener);
  }

  /** For one client of the server at `target` (`host:port`); `met` is given the certificate (DER) of each server that it accepts. */
  connection(target: string, met?: (raw: Uint8Array) => void): ChannelCredentials {
    const files = this.#files;
    const credentials = experimental.createCertificateProviderChannelCredentials(files, files, {
      checkServerIdentity: (_host: string, { raw }: PeerCertificate) => {
        try {
          checkPeer(parsePeerIdentity(raw), this.#expect);
          this.#dialled?.(raw, target);
          met?.(raw);
          return undefined;
        } catch (error) {
          return new Error(`E_PEER_IDENTITY: ${messageOf(error)}`);
        }
      },
    });
    // grpc-js would send the target as server name, which may not be an IP address (RFC 6066 section 3).
    const connector = credentials._createSecureConnector.bind(credentials);
    credentials._createSecureConnector = (address, options, calls) =>
      connector(address, { ...options, 'grpc.ssl_target_name_override': 'causeway' }, calls);
    return credentials;
  }
}

export interface CallWithPeer {
  getAuthContext(): { readonly sslPeerCertificate?: PeerCertificate };
}

/** The verified certificate (DER) of who called; undefined: it has none. */
export function certificateOfCall(call: CallWithPeer): Uint8Array | undefined {
  return call.getAuthContext().sslPeerCertificate?.raw;
}

/** Who called. Throws E_PEER_IDENTITY when it has no verified certificate or is not what is expected. */
export function identifyCall(call: CallWithPeer, expect: ExpectedPeer): PeerIdentity {
  const raw = certificateOfCall(call);
  if (!raw) throw new AppError('E_PEER_IDENTITY', 'expected a client certificate, found none');
  const peer = parsePeerIdentity(raw);
  checkPeer(peer, expect);
  return peer;
}
