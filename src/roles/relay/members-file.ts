import { AppError } from '../../runtime/errors.ts';
import { dnsLabel } from '../../runtime/name-patterns.ts';
import { parseRevocations, type Revocation } from '../../runtime/revocations.ts';

/** `{members: [{cluster: west}, …], revoked: […]}` */
export interface MembersList {
  readonly clusters: ReadonlySet<string>;
  readonly revoked: readonly Revocation[];
}

const maxMembers = 10_000;

/** Other fields are left for later. Throws E_USAGE with the path of what is wrong. */
export function parseMembers(value: unknown): MembersList {
  const { members, revoked } = (value ?? {}) as { members?: unknown; revoked?: unknown };
  if (!Array.isArray(members)) throw wrong('members', 'a list', members);
  if (members.length > maxMembers) throw wrong('members', `at most ${maxMembers}`, members.length);
  const clusters = new Set<string>();
  for (const [i, member] of (members as unknown[]).entries()) {
    const cluster = (member as { cluster?: unknown } | null)?.cluster;
    const at = `members[${i}].cluster`;
    if (typeof cluster !== 'string' || !dnsLabel.test(cluster)) throw wrong(at, 'a DNS label', cluster);
    if (clusters.has(cluster)) throw wrong(at, 'each cluster once', cluster);
    clusters.add(cluster);
  }
  return { clusters, revoked: parseRevocations(revoked) };
}

const wrong = (at: string, expected: string, found: unknown): AppError =>
  new AppError(
    'E_USAGE',
    `${at}: expected ${expected}, found ${found === undefined ? 'none' : JSON.stringify(found).slice(0, 100)}`,
  );
