import { AppError } from './errors.ts';
import { type PeerRole, peerRoles } from './identity.ts';
import { dnsLabel, dnsSubdomain } from './name-patterns.ts';
import type { PeerCertificate } from './peer-certificate.ts';

/** One entry of a `revoked:` list: it means every certificate that matches all that it says. */
export interface Revocation {
  /** Lower-case hexadecimal without leading zeros. */
  readonly serial?: string;
  readonly cluster?: string;
  readonly role?: PeerRole;
  readonly node?: string;
  /** Epoch milliseconds: those that are valid from a time before this. */
  readonly issuedBefore?: number;
}

const maxEntries = 10_000;
const maxSerialDigits = 40;
const timestamp = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:\d\d)$/;
const fields: readonly string[] = ['serial', 'cluster', 'role', 'node', 'issuedBefore', 'reason'];

/** Of `5F:03:…` or `0x5f03…`; undefined: it is no serial number (RFC 5280: at most 20 octets). */
export function parseSerial(text: string): string | undefined {
  const digits = text
    .replace(/^0x/i, '')
    .replaceAll(':', '')
    .toLowerCase()
    .replace(/^0+(?=.)/, '');
  return /^[0-9a-f]+$/.test(digits) && digits.length <= maxSerialDigits ? digits : undefined;
}

/**
 * What a `revoked:` list means, its scalars being texts; absent: nobody. `reason` is for people. Throws E_USAGE
 * with the path of what is wrong: an entry that is not understood must not revoke less than was meant.
 */
export function parseRevocations(list: unknown): readonly Revocation[] {
  if (list === undefined || list === null || list === '') return [];
  if (!Array.isArray(list)) throw wrong('revoked', 'a list', list);
  if (list.length > maxEntries) throw wrong('revoked', `at most ${maxEntries} entries`, list.length);
  return (list as unknown[]).map((entry, i) => parseEntry(entry, `revoked[${i}]`));
}

/** The `revoked:` list of a file that may hold more. Throws E_USAGE. */
export const parseRevokedFile = (value: unknown): readonly Revocation[] =>
  parseRevocations((value as { revoked?: unknown } | null | undefined)?.revoked);

function parseEntry(entry: unknown, at: string): Revocation {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) throw wrong(at, 'fields', entry);
  const unknown = Object.keys(entry).find((key) => !fields.includes(key));
  if (unknown !== undefined) throw wrong(at, fields.join(', '), unknown);
  const { serial, cluster, role, node, issuedBefore } = entry as Record<string, unknown>;
  if (serial === undefined && cluster === undefined) throw wrong(at, 'a serial or a cluster', undefined);
  const parsed: { -readonly [K in keyof Revocation]: Revocation[K] } = {};
  if (serial !== undefined) {
    const digits = typeof serial === 'string' ? parseSerial(serial) : undefined;
    if (digits === undefined) throw wrong(`${at}.serial`, 'up to 40 hexadecimal digits', serial);
    parsed.serial = digits;
  }
  if (cluster !== undefined) {
    if (typeof cluster !== 'string' || !dnsLabel.test(cluster)) {
      throw wrong(`${at}.cluster`, 'a DNS label', cluster);
    }
    parsed.cluster = cluster;
  }
  if (role !== undefined) {
    const known = peerRoles.find((each) => each === role);
    if (!known) throw wrong(`${at}.role`, peerRoles.join(', '), role);
    parsed.role = known;
  }
  if (node !== undefined) {
    if (typeof node !== 'string' || !dnsSubdomain.test(node)) throw wrong(`${at}.node`, 'a DNS name', node);
    parsed.node = node;
  }
  if (issuedBefore !== undefined) {
    const at0 =
      typeof issuedBefore === 'string' && timestamp.test(issuedBefore) ? Date.parse(issuedBefore) : NaN;
    if (Number.isNaN(at0)) throw wrong(`${at}.issuedBefore`, 'a time as 2026-01-31T12:00:00Z', issuedBefore);
    parsed.issuedBefore = at0;
  }
  return parsed;
}

/** The entry that means this certificate. */
export function revocationOf(
  list: readonly Revocation[],
  { serial, identity, from }: Pick<PeerCertificate, 'serial' | 'identity' | 'from'>,
): Revocation | undefined {
  return list.find(
    (r) =>
      (r.serial ?? serial) === serial &&
      (r.cluster ?? identity.cluster) === identity.cluster &&
      (r.role ?? identity.role) === identity.role &&
      (r.node ?? identity.node) === identity.node &&
      (r.issuedBefore === undefined || from < r.issuedBefore),
  );
}

const wrong = (at: string, expected: string, found: unknown): AppError =>
  new AppError(
    'E_USAGE',
    `${at}: expected ${expected}, found ${found === undefined ? 'none' : JSON.stringify(found).slice(0, 100)}`,
  );
