import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Tally } from './tally.ts';

test('counts answers by who gave them and failures by reason', () => {
  const tally = new Tally();
  tally.answer('west/b', 1);
  tally.answer('east/a', 1);
  tally.answer('west/b', 1);
  tally.fail('timeout');
  expect(tally.result).toMatchObject({
    requests: 4,
    failed: 1,
    answers: { 'east/a': 1, 'west/b': 2 },
    errors: { timeout: 1 },
  });
  expect(Object.keys(tally.result.answers)).toEqual(['east/a', 'west/b']);
});

test('nothing answered has no latency', () => {
  const tally = new Tally();
  tally.fail('timeout');
  expect(tally.result).toMatchObject({ p50: null, p99: null });
});

test('percentiles are right to 3 % for any durations', () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: 0.02, max: 10_000, noNaN: true }), { minLength: 1, maxLength: 200 }),
      fc.constantFrom(0.5, 0.99),
      (durations, q) => {
        const tally = new Tally();
        for (const ms of durations) tally.answer('x', ms);
        const exact = [...durations].sort((a, b) => a - b)[Math.ceil(q * durations.length) - 1] as number;
        const got = tally.percentile(q) as number;
        expect(got / exact).toBeGreaterThan(0.99);
        expect(got / exact).toBeLessThan(1.03);
      },
    ),
  );
});

test('adding two tallies equals counting everything in one', () => {
  const [a, b, all] = [new Tally(), new Tally(), new Tally()];
  for (const [tally, who, ms] of [
    [a, 'east/a', 1],
    [a, 'east/b', 5],
    [b, 'east/a', 70_000],
    [b, 'west/c', 0.001],
  ] as const) {
    tally.answer(who, ms);
    all.answer(who, ms);
  }
  b.fail('ECONNREFUSED');
  all.fail('ECONNREFUSED');
  a.add(b);
  expect(a.result).toEqual(all.result);
});

test('a tally survives JSON', () => {
  const tally = new Tally();
  tally.answer('east/a', 1);
  tally.answer('east/a', 9);
  tally.answer('west/b', 70_000);
  tally.fail('timeout');
  const back = Tally.from(JSON.parse(JSON.stringify(tally)));
  expect(back.result).toEqual(tally.result);
  expect(back.percentile(0.99)).toBe(tally.percentile(0.99));
});
