import { X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { isSeq, parseDocument } from 'yaml';
import { AppError, messageOf } from '../runtime/errors.ts';
import { readTexts } from '../runtime/followed-file.ts';
import { readPeerCertificate } from '../runtime/peer-certificate.ts';
import { parseRevokedFile, parseSerial } from '../runtime/revocations.ts';
import { writeAtomic } from '../runtime/write-atomic.ts';

export interface RelayRevokeOptions {
  /** Path of the file that relays or controllers follow. */
  readonly members: string;
  /** Serial numbers, hexadecimal. */
  readonly serials: readonly string[];
  /** Paths of certificates in PEM. */
  readonly certificates: readonly string[];
  /** For people; empty: none. */
  readonly reason: string;
}

/**
 * `causeway relay revoke`: adds certificates to the `revoked:` list of a file, and leaves the rest of it as it is,
 * comments included. Resolves with the exit code.
 */
export async function runRelayRevoke(options: RelayRevokeOptions): Promise<number> {
  const { members, reason } = options;
  const serials = [...new Set([...options.serials.map(serialOf), ...options.certificates.map(serialIn)])];
  if (serials.length === 0) {
    throw new AppError('E_USAGE', 'expected --serial or --certificate, found none');
  }
  const text = readText(members);
  const known = parseRevokedFile(readTexts(text)).flatMap(({ serial, ...more }) =>
    serial !== undefined && Object.keys(more).length === 0 ? [serial] : [],
  );
  const added = serials.filter((serial) => !known.includes(serial));
  const document = parseDocument(text, { schema: 'failsafe' });
  if (!isSeq(document.get('revoked'))) document.set('revoked', document.createNode([]));
  for (const serial of added) {
    document.addIn(['revoked'], document.createNode({ serial, ...(reason === '' ? {} : { reason }) }));
  }
  const next = document.toString({ indentSeq: false, lineWidth: 0 });
  parseRevokedFile(readTexts(next));
  if (added.length > 0) await writeAtomic(members, next, { mode: statSync(members).mode & 0o777 });
  for (const serial of serials) {
    process.stdout.write(
      `${serial} ${added.includes(serial) ? 'is revoked' : 'was revoked already'} in ${members}\n`,
    );
  }
  return 0;
}

function serialOf(text: string): string {
  const serial = parseSerial(text);
  if (serial === undefined) {
    throw new AppError(
      'E_USAGE',
      `--serial: expected up to 40 hexadecimal digits, found ${JSON.stringify(text)}`,
    );
  }
  return serial;
}

function serialIn(path: string): string {
  try {
    return readPeerCertificate(new X509Certificate(readText(path)).raw).serial;
  } catch (cause) {
    throw new AppError('E_TLS_LOAD', `cannot use ${path} (--certificate): ${messageOf(cause)}`, { cause });
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new AppError('E_FILE_READ', `cannot read ${path}: ${messageOf(cause)}`, { cause });
  }
}
