import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { AppError, messageOf } from './errors.ts';
import { formatSpiffeId, type PeerIdentity, type PeerRole, parsePeerIdentity } from './identity.ts';

/** Paths of PEM files: `--tls-cert`, `--tls-key`, `--tls-ca`. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}

/** Their content, which fits together, and who it says we are. */
export interface LoadedTls {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly ca: Buffer;
  readonly identity: PeerIdentity;
}

/** Reads and checks the files. Throws E_TLS_LOAD, which never contains their content. */
export function loadTls(files: TlsFiles): LoadedTls {
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
