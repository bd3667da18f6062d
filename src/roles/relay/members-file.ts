import type { MemberList } from '../../model/relay/members.ts';
import { AppError } from '../../runtime/errors.ts';
import { dnsLabel } from '../../runtime/name-patterns.ts';
import { parseRevocations, type Revocation } from '../../runtime/revocations.ts';

/** `{members: [{cluster: west}, {relay: eu, clusters: [north, south]}, …], revoked: […]}` */
export interface MembersFile {
  readonly list: MemberList;
  readonly revoked: readonly Revocation[];
}

const maxMembers = 10_000;

/** Other fields are left for later. Throws E_USAGE with the path of what is wrong. */
export function parseMembers(value: unknown): MembersFile {
  const { members, revoked } = (value ?? {}) as { members?: unknown; revoked?: unknown };
  const clusters = new Set<string>();
  const relays = new Map<string, ReadonlySet<string>>();
  for (const [i, member] of listOf('members', members).entries()) {
    const { cluster, relay, clusters: delegated } = (member ?? {}) as Readonly<Record<string, unknown>>;
    const at = `members[${i}]`;
    if (relay === undefined) addName(clusters, `${at}.cluster`, cluster);
    else if (cluster !== undefined) throw wrong(at, 'a cluster or a relay', { cluster, relay });
    else {
      addName(new Set(relays.keys()), `${at}.relay`, relay);
      const names = new Set<string>();
      for (const [j, name] of listOf(`${at}.clusters`, delegated).entries()) {
        addName(names, `${at}.clusters[${j}]`, name);
      }
      relays.set(relay as string, names);
    }
  }
  return { list: { clusters, relays }, revoked: parseRevocations(revoked) };
}

function listOf(at: string, value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw wrong(at, 'a list', value);
  if (value.length > maxMembers) throw wrong(at, `at most ${maxMembers}`, value.length);
  return value;
}

function addName(names: Set<string>, at: string, name: unknown): void {
  if (typeof name !== 'string' || !dnsLabel.test(name)) throw wrong(at, 'a DNS label', name);
  if (names.has(name)) throw wrong(at, 'each name once', name);
  names.add(name);
}

const wrong = (at: string, expected: string, found: unknown): AppError =>
  new AppError(
    'E_USAGE',
    `${at}: expected ${expected}, found ${found === undefined ? 'none' : JSON.stringify(found).slice(0, 100)}`,
  );
