import { beforeEach, expect, test } from 'vitest';
import { ProbeTable } from './probe-table.ts';

let table: ProbeTable;
let now: number;
beforeEach(() => {
  table = new ProbeTable();
  now = 0;
});

const places = (count: number, net = 1): string[] =>
  Array.from({ length: count }, (_, i) => `10.${net}.${i >> 8}.${i & 255} 80`);

/** Probes 50 times a second; each result is there at once. Returns how often each was probed. */
function probes(ms: number, passes: (place: string) => boolean): Map<string, number> {
  const counts = new Map<string, number>();
  for (const end = now + ms; now < end; now += 20) {
    const place = table.next(now);
    if (place === undefined) continue;
    counts.set(place, (counts.get(place) ?? 0) + 1);
    table.result(place, passes(place), now);
  }
  return counts;
}

test('each endpoint is probed once a second, not more often for being in two groups', () => {
  table.setGroup('a', places(3), now);
  table.setGroup('b', places(3), now);
  expect([...probes(10_000, () => true).values()]).toEqual([10, 10, 10]);
  table.setGroup('b', undefined, now);
  expect(table.size).toBe(3);
  table.setGroup('a', undefined, now);
  expect(table.size).toBe(0);
  expect(table.next(now)).toBeUndefined();
});

test('two failures take an endpoint out, two successes bring it back', () => {
  table.setGroup('a', places(2), now);
  const [bad] = places(2) as [string];
  probes(1_000, (place) => place !== bad);
  expect(table.failing('a')).toEqual([]);
  probes(1_000, (place) => place !== bad);
  expect(table.failing('a')).toEqual([bad]);
  probes(1_000, () => true);
  expect(table.failing('a')).toEqual([bad]);
  probes(1_000, () => true);
  expect(table.failing('a')).toEqual([]);
});

test('what is known to fail from the start is out at once, and two successes bring it back', () => {
  const [bad, good] = places(2) as [string, string];
  table.setGroup('a', [bad, good], now, [bad, '10.9.9.9 80']);
  expect(table.failing('a')).toEqual([bad]);
  // Of what is in the table it is known better.
  table.setGroup('a', [bad, good], now, [good]);
  expect(table.failing('a')).toEqual([bad]);
  probes(1_000, () => true);
  expect(table.failing('a')).toEqual([bad]);
  probes(1_000, () => true);
  expect(table.failing('a')).toEqual([]);
});

test('an endpoint whose answers vary is not taken out, nor brought back', () => {
  table.setGroup('a', places(1), now);
  let passed = false;
  probes(20_000, () => {
    passed = !passed;
    return passed;
  });
  expect(table.failing('a')).toEqual([]);
  probes(3_000, () => false);
  probes(20_000, () => {
    passed = !passed;
    return passed;
  });
  expect(table.failing('a')).toEqual(places(1));
});

test('of a large group a few failing samples tell that nothing of it is reachable, and each comes back by itself', () => {
  table.setGroup('a', places(1_000), now);
  probes(3_500, () => false);
  expect(table.failing('a')).toHaveLength(1_000);
  probes(21_000, () => true);
  expect(table.failing('a').length).toBeGreaterThan(0);
  probes(21_000, () => true);
  expect(table.failing('a')).toEqual([]);
});

test('a part of a group that fails takes out nothing else', () => {
  table.setGroup('a', places(500), now);
  const bad = new Set(places(50));
  probes(60_000, (place) => !bad.has(place));
  expect(table.failing('a')).toEqual([...bad].sort());
});

test('a large group holds up no small one, whose failure is found within seconds', () => {
  table.setGroup('large', places(15_000), now);
  for (let i = 0; i < 20; i++) table.setGroup(`small${i}`, places(2, i + 2), now);
  probes(3_500, (place) => place.startsWith('10.1.'));
  for (let i = 0; i < 20; i++) expect(table.failing(`small${i}`)).toEqual(places(2, i + 2));
  expect(table.failing('large')).toEqual([]);
});

test('what is under way is not probed again, and a result of what is gone changes nothing', () => {
  table.setGroup('a', places(1), now);
  const [place] = places(1) as [string];
  expect(table.next(0)).toBe(place);
  expect(table.next(5_000)).toBeUndefined();
  table.setGroup('a', undefined, now);
  expect(table.result(place, false, 5_000)).toEqual(new Set());
});

test('a group that changes keeps what is known of the endpoints that stay', () => {
  table.setGroup('a', places(3), now);
  probes(2_500, (place) => place !== '10.1.0.1 80');
  table.setGroup('a', places(2), now);
  expect(table.failing('a')).toEqual(['10.1.0.1 80']);
  table.setGroup('a', [...places(2), ...places(1, 9)], now);
  expect(table.failing('a')).toEqual(['10.1.0.1 80']);
});
