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

/**
 * `note` is for people. Throws E_USAGE with the path of what is wrong, a field that is not known included: a typing error
 * must not admit or revoke something else than was meant.
 */
export function parseMembers(value: unknown): MembersFile {
  onlyFields('', value, ['members', 'revoked']);
  const { members, revoked } = (value ?? {}) as { members?: unknown; revoked?: unknown };
  const clusters = new Set<string>();
  const relays = new Map<string, ReadonlySet<string>>();
  for (const [i, member] of listOf('members', members).entries()) {
    const { cluster, relay, clusters: delegated } = (member ?? {}) as Readonly<Record<string, unknown>>;
    const at = `members[${i}]`;
    onlyFields(
      `${at}.`,
      member,
      relay === undefined ? ['cluster', 'note'] : ['relay', 'clusters', 'cluster', 'note'],
    );
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

function onlyFields(at: string, value: unknown, known: readonly string[]): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return;
  const unknown = Object.keys(value).find((key) => !known.includes(key));
  if (unknown !== undefined) throw wrong(`${at}${unknown}`, `one of the fields ${known.join(', ')}`, unknown);
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
