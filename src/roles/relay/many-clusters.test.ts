import { expect, onTestFinished, test } from 'vitest';
import type { Export } from '../../model/compiled.ts';
import { RelayTestBed, store } from './test-bed.ts';

const [clusters, exportsEach, endpointsEach, used] = [20, 750, 20, 50];
const patience = { timeout: 90_000, interval: 100 };

/** `shop/<cluster>-s<i>`:80 of a cluster. */
function exported(cluster: string, c: number, i: number): Export {
  const addresses = Array.from({ length: endpointsEach }, (_, e) => `10.${c}.${i >> 3}.${(i & 7) * 32 + e}`);
  return store(addresses, { composite: `${cluster}-s${i}`, to: [{ names: ['east'] }] });
}

const portOf = (cluster: string, i: number): string => `shop/${cluster}-s${i}/tcp-80`;

test('S1 what reaches a cluster grows with what it refers to, not with what there is', async () => {
  const bed = new RelayTestBed();
  onTestFinished(() => bed.close());
  const names = Array.from({ length: clusters }, (_, c) => `c${c}`);
  bed.writeMembers('east', ...names);
  const { hub } = await bed.startRelay();
  for (const [c, name] of names.entries()) {
    const member = await bed.member(name);
    member.import();
    member.export(...Array.from({ length: exportsEach }, (_, i) => exported(name, c, i)));
  }
  const held = () => {
    const usages = names.map((name) => hub.origin(name)?.usage);
    const sum = (key: 'names' | 'bytes'): number => usages.reduce((n, usage) => n + (usage?.[key] ?? 0), 0);
    return { names: sum('names'), bytes: sum('bytes') };
  };
  // A Cluster and an assignment of each.
  await expect.poll(() => held().names, patience).toBe(2 * clusters * exportsEach);

  /** Bytes that the relay has sent to readers. */
  const sent = async (): Promise<number> => {
    const text = await bed.metrics.registry.metrics();
    return Number(/^causeway_xds_push_bytes_total\{role="controller"\} (\d+)/m.exec(text)?.[1] ?? 0);
  };
  const east = await bed.member('east');
  east.export();
  const ports = (count: number): string[] =>
    Array.from({ length: count }, (_, i) => portOf(names[i % clusters] as string, i));
  const costOf = async (count: number): Promise<number> => {
    const before = await sent();
    east.import(...ports(count));
    await expect.poll(() => east.contributions.size, patience).toBe(count);
    return (await sent()) - before;
  };
  const first = await costOf(used);
  expect([...east.contributions.values()].map((c) => c.endpoints.length)).toEqual(
    Array(used).fill(endpointsEach),
  );
  expect(new Set(east.contributions.keys())).toEqual(
    new Set(ports(used).map((port, i) => `${port}/${names[i % clusters]}`)),
  );
  // 50 of 15,000 back ends, and who the twenty clusters are.
  expect(first).toBeLessThan(held().bytes / 50);

  const asMuchAgain = await costOf(2 * used);
  expect(asMuchAgain).toBeGreaterThan(first / 4);
  expect(asMuchAgain).toBeLessThan(first * 2);
}, 180_000);
