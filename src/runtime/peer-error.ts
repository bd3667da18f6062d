import { AppError } from './errors.ts';

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
