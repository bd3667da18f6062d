import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Export } from '../../model/compiled.ts';
import { addresses } from './memory-bed.ts';
import { RelayTestBed, store, type TestMember } from './test-bed.ts';

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
