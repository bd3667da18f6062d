import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { RemoteEndpoint } from '../../model/inputs.ts';
import { shardEndpoints } from './shards.ts';

const pod = (n: number): RemoteEndpoint => ({
  addresses: [`10.${n >>> 16}.${(n >>> 8) & 255}.${n & 255}`],
  port: 8080,
  zone: 'a',
  health: 'Healthy',
});
const pods = (n: number) => Array.from({ length: n }, (_, i) => pod(i));

test('350 endpoints are split into shards of about 100, none lost', () => {
  const shards = shardEndpoints(pods(350));
  expect(shards.length).toBeGreaterThanOrEqual(4);
  expect(shards.length).toBeLessThanOrEqual(10);
  for (const shard of shards) {
    expect(shard.endpoints.length).toBeLessThanOrEqual(100);
    expect(shard.endpoints.length).toBeGreaterThan(20);
  }
  const all = shards.flatMap((s) => s.endpoints.map((e) => e.addresses[0])).sort();
  expect(all).toEqual(
    pods(350)
      .map((e) => e.addresses[0])
      .sort(),
  );
  expect(shardEndpoints(pods(80))).toEqual([{ bits: '', endpoints: pods(80) }]);
  expect(shardEndpoints([])).toEqual([{ bits: '', endpoints: [] }]);
});

test('one endpoint more or less, or changed, touches one shard', () => {
  const contents = (endpoints: readonly RemoteEndpoint[]) =>
    new Map(shardEndpoints(endpoints).map((s) => [s.bits, JSON.stringify(s.endpoints)]));
  const touched = (a: readonly RemoteEndpoint[], b: readonly RemoteEndpoint[]) => {
    const [before, after] = [contents(a), contents(b)];
    return [...new Set([...before.keys(), ...after.keys()])].filter((k) => before.get(k) !== after.get(k));
  };
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 600 }), fc.nat(), (count, pick) => {
      const at = pick % count;
      const whole = pods(count);
      const without = whole.filter((_, i) => i !== at);
      const draining = whole.map((e, i) => (i === at ? { ...e, health: 'Draining' as const } : e));
      expect(touched(whole, draining)).toHaveLength(1);
      // Where a shard splits or joins, the only names touched are it and its parts.
      const names = touched(whole, without).sort((a, b) => a.length - b.length);
      for (const name of names) expect(name.startsWith(names[0] as string)).toBe(true);
    }),
  );
});
