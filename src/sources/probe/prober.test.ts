import { createServer } from 'node:net';
import { beforeEach, expect, test } from 'vitest';
import type { ProbeTarget } from '../../model/compiled.ts';
import { ManualClock } from '../../runtime/clock.ts';
import { Metrics } from '../../runtime/metrics.ts';
import { dialTcp } from './dial-tcp.ts';
import { Prober } from './prober.ts';

const key = 'shop/store/tcp-80/west';
const target = (...places: string[]): ReadonlyMap<string, ProbeTarget> =>
  new Map([[key, { cluster: 'west', places }]]);

let clock: ManualClock;
let metrics: Metrics;
let dead: Set<string>;
let dialled: string[];
let told: string[];
let prober: Prober;
const start = (earlier: ReadonlyMap<string, readonly string[]> = new Map()): Prober =>
  new Prober({
    clock,
    metrics,
    earlier,
    random: () => 0.5,
    dial: async (place) => {
      dialled.push(place);
      return !dead.has(place);
    },
    onChanges: (changes) => {
      for (const { key: of, value } of changes) told.push(`${of} ${JSON.stringify(value)}`);
    },
  });
beforeEach(() => {
  clock = new ManualClock(1_000_000);
  metrics = new Metrics();
  dead = new Set();
  dialled = [];
  told = [];
  prober = start();
});

async function passes(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 20) {
    clock.advance(20);
    await Promise.resolve();
    await Promise.resolve();
  }
}

test('what fails is told, and told to be gone with what was to be probed', async () => {
  prober.update(target('10.1.0.1 80', '10.1.0.2 80'), [key]);
  dead.add('10.1.0.2 80');
  await passes(3_000);
  expect(told.splice(0)).toEqual([`${key} {"failing":["10.1.0.2 80"]}`]);
  const text = await metrics.registry.metrics();
  expect(text).toContain('causeway_endpoints_unreachable{cluster="west"} 1');
  expect(text).toMatch(/causeway_probes_total\{result="failed"\} [23]\n/);
  prober.update(new Map(), [key]);
  expect(told).toEqual([`${key} undefined`]);
  dialled = [];
  await passes(3_000);
  expect(dialled).toEqual([]);
});

test('what failed before a restart is told before anything is probed, and comes back with two successes', async () => {
  prober.update(target('10.1.0.1 80', '10.1.0.2 80', '10.1.0.3 80'), [key]);
  for (const place of ['10.1.0.2 80', '10.1.0.3 80']) dead.add(place);
  await passes(3_000);
  prober.close();
  const { failing } = prober;
  expect(failing).toEqual(new Map([[key, ['10.1.0.2 80', '10.1.0.3 80']]]));

  told = [];
  metrics = new Metrics();
  const gone = 'shop/old/tcp-80/west';
  const next = start(new Map([...failing, [gone, ['10.1.0.9 80']]]));
  const both = '{"failing":["10.1.0.2 80","10.1.0.3 80"]}';
  expect(told.splice(0)).toEqual([`${key} ${both}`, `${gone} {"failing":["10.1.0.9 80"]}`]);
  // One of them went meanwhile, and so did a whole target.
  next.update(target('10.1.0.1 80', '10.1.0.2 80'), undefined);
  expect(told.splice(0)).toEqual([`${key} {"failing":["10.1.0.2 80"]}`, `${gone} undefined`]);
  await passes(3_000);
  expect(told).toEqual([]);
  dead.clear();
  await passes(3_000);
  expect(told).toEqual([`${key} undefined`]);
  expect(next.failing).toEqual(new Map());
});

test('not more than 50 a second, whatever there is', async () => {
  const places = Array.from({ length: 5_000 }, (_, i) => `10.1.${i >> 8}.${i & 255} 80`);
  prober.update(target(...places), [key]);
  await passes(10_000);
  expect(dialled.length).toBeLessThanOrEqual(500);
  expect(new Set(dialled).size).toBe(dialled.length);
});

test('a clock that steps stops nothing and starts no burst', async () => {
  prober.update(target('10.1.0.1 80'), [key]);
  await passes(1_000);
  let offset = -3_600_000;
  const { now } = clock;
  clock.now = () => now.call(clock) + offset;
  dialled = [];
  await passes(3_000);
  expect(dialled.length).toBeGreaterThanOrEqual(2);
  offset = 3_600_000;
  await passes(3_000);
  expect(dialled.length).toBeLessThanOrEqual(8);
});

test('a connection is tried and closed; what refuses fails', async () => {
  let closed = 0;
  const server = createServer((socket) => socket.resume().once('close', () => (closed += 1)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  expect(await dialTcp(`127.0.0.1 ${port}`)).toBe(true);
  await expect.poll(() => closed).toBe(1);
  await new Promise((resolve) => server.close(resolve));
  expect(await dialTcp(`127.0.0.1 ${port}`)).toBe(false);
  expect(await dialTcp('not-an-address 80')).toBe(false);
});
