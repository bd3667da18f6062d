import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Export } from '../../model/compiled.ts';
import { addresses } from './memory-bed.ts';
import { endpoint, RelayTestBed, store, type TestMember } from './test-bed.ts';

let bed: RelayTestBed;
beforeEach(() => {
  bed = new RelayTestBed();
});
afterEach(() => bed.close());

const patience = { timeout: 90_000, interval: 50 };

test('S3 a relay restarts with 50,000 endpoints: every subscriber is complete again, and nothing is taken meanwhile', async () => {
  const [clusters, ports, each] = [5, 100, 100];
  const names = Array.from({ length: clusters }, (_, c) => `c${c}`);
  const offers = (c: number, more: readonly string[] = []): Export[] =>
    Array.from({ length: ports }, (_, p) =>
      store([...addresses(each, (c * ports + p) % 250), ...more], { composite: `s${p}` }),
    );
  bed.writeMembers(...names);
  await bed.startRelay();
  const members: TestMember[] = [];
  for (const [c, name] of names.entries()) {
    const member = await bed.member(name);
    member.import(...Array.from({ length: ports }, (_, p) => `shop/s${p}/tcp-80`));
    member.export(...offers(c));
    members.push(member);
  }
  const held = () =>
    members.map(({ contributions }) => {
      const endpoints = [...contributions.values()].map((c) => c.endpoints.length);
      return endpoints.reduce((sum, n) => sum + n, 0);
    });
  const ofOthers = (perPort: number) => members.map(() => (clusters - 1) * ports * perPort);
  await expect.poll(held, patience).toEqual(ofOthers(each));

  await bed.stopRelay();
  const stale = () => members.every(({ origins }) => [...origins.values()].every((o) => o.state === 'Stale'));
  await expect.poll(stale, patience).toBe(true);
  for (const member of members) member.changes.length = 0;
  await bed.startRelay();
  const synced = () =>
    members.map(({ origins }) => [...origins.values()].filter((o) => o.state === 'Synced').length);
  await expect.poll(synced, patience).toEqual(members.map(() => clusters - 1));
  expect(held()).toEqual(ofOthers(each));
  for (const [c, member] of members.entries()) member.export(...offers(c, ['10.255.0.1']));
  await expect.poll(held, patience).toEqual(ofOthers(each + 1));
  for (const member of members) {
    expect(member.losses()).toEqual([]);
    const sizes = member.changes.flatMap((c) =>
      c.kind === 'Contribution' ? (c.value?.endpoints.length ?? 0) : [],
    );
    expect(Math.min(...sizes)).toBeGreaterThanOrEqual(each);
  }
}, 180_000);

/** What it should see: `<port> <cluster> <address>`. */
const view = ({ contributions }: TestMember): string[] =>
  [...contributions]
    .flatMap(([key, { endpoints }]) =>
      endpoints.map(({ addresses: [first], zone }) => `${key} ${first} ${zone}`),
    )
    .sort();

/** A cluster of a hundred: nothing that it says of itself has to be agreed with others. */
interface Joining {
  readonly name: string;
  readonly number: number;
  readonly team: string;
  readonly tier: string;
}

function joining(number: number): Joining {
  const names = ['0', 'x', `${number}`, `a--${number}`, `${number}-z`, `${'long-'.repeat(12)}${number}`];
  const name = number < 2 ? (names[number] as string) : (names[2 + (number % 4)] as string);
  return { name, number, team: `team-${number % 10}`, tier: number % 3 === 0 ? 'prod' : 'test' };
}

/** Own, for all of its team; to one tier; to one cluster by name. */
const offersOf = ({ number, team }: Joining, next: string): Export[] => {
  const at = (last: number): Export['endpoints'] => [
    endpoint(`10.${number}.0.${last}`, { zone: `zone-${number}` }),
  ];
  return [
    store([], { namespace: team, composite: 'own', endpoints: at(1) }),
    store([], { composite: 'tier', endpoints: at(2), to: [{ matchLabels: { tier: 'prod' } }] }),
    store([], { composite: 'named', endpoints: at(3), to: [{ names: [next] }] }),
  ];
};

function expected(me: Joining, all: readonly Joining[], nextOf: (of: Joining) => string): string[] {
  return all
    .filter(({ name }) => name !== me.name)
    .flatMap((of) => {
      const seen = (port: string, last: number): string =>
        `${port}/${of.name} 10.${of.number}.0.${last} zone-${of.number}`;
      return [
        ...(of.team === me.team ? [seen(`${of.team}/own/tcp-80`, 1)] : []),
        ...(me.tier === 'prod' ? [seen('shop/tier/tcp-80', 2)] : []),
        ...(nextOf(of) === me.name ? [seen('shop/named/tcp-80', 3)] : []),
      ];
    })
    .sort();
}

test('S5 a hundred clusters of any name join, with nothing set alike: each sees what it should; one leaves, one more joins', async () => {
  const all = Array.from({ length: 101 }, (_, number) => joining(number));
  const nextOf = ({ number }: Joining): string => (all[(number + 1) % all.length] as Joining).name;
  const [late, first] = [all[100] as Joining, all.slice(0, 100)];
  bed.writeMembers(...first.map(({ name }) => name));
  await bed.startRelay();
  const members = new Map<string, TestMember>();
  const join = async (cluster: Joining): Promise<void> => {
    const { name, number, team, tier } = cluster;
    const member = await bed.member(name, {
      labels: { tier },
      namespaces: [team, 'shop'],
      region: `region-${number}`,
      network: `network-${number}`,
    });
    member.import(`${team}/own/tcp-80`, 'shop/tier/tcp-80', 'shop/named/tcp-80');
    member.export(...offersOf(cluster, nextOf(cluster)));
    members.set(name, member);
  };
  const eachSees = async (present: readonly Joining[]): Promise<void> => {
    for (const me of present) {
      const wanted = expected(me, present, nextOf);
      await expect.poll(() => view(members.get(me.name) as TestMember), patience).toEqual(wanted);
    }
  };
  for (const cluster of first) await join(cluster);
  await eachSees(first);

  const gone = first[50] as Joining;
  const rest = first.filter((cluster) => cluster !== gone);
  bed.writeMembers(...rest.map(({ name }) => name));
  await eachSees(rest);
  await members.get(gone.name)?.stop();
  const present = [...rest, late];
  bed.writeMembers(...present.map(({ name }) => name));
  await join(late);
  await eachSees(present);
  for (const { name } of rest) {
    const losses = members.get(name)?.losses() ?? [];
    expect(losses.filter((lost) => !lost.endsWith(gone.name))).toEqual([]);
  }
}, 180_000);
