import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { ManualClock, systemClock } from './clock.ts';

afterEach(() => vi.restoreAllMocks());

const hourMs = 3_600_000;

test.each([hourMs, -hourMs])('a wall clock that is set (%i ms) is no time that passes', (step) => {
  const before = systemClock.now();
  const wall = Date.now() + step;
  vi.spyOn(Date, 'now').mockReturnValue(wall);
  expect(systemClock.wall()).toBe(wall);
  const passed = systemClock.now() - before;
  expect(passed).toBeGreaterThanOrEqual(0);
  expect(passed).toBeLessThan(hourMs / 2);
});

test('on a machine that slept a timer fires once, late, in its order, and not if another one cancelled it', () => {
  const clock = new ManualClock(0);
  const fired: string[] = [];
  const every = (name: string, ms: number): (() => void) =>
    clock.after(ms, () => {
      fired.push(`${name} ${clock.now()}`);
      every(name, ms);
    });
  every('b', 20);
  clock.after(10, () => cancel());
  const cancel = every('c', 30);
  every('a', 5);
  clock.sleep(100);
  expect(fired).toEqual(['a 100', 'b 100']);
  clock.sleep(5);
  expect(fired).toEqual(['a 100', 'b 100', 'a 105']);
});

/** Deadlines that a library reckons in the wall clock. */
const excepted = ['runtime/renewed-client.ts'];

test('roles read no other clock', () => {
  const root = join(import.meta.dirname, '..');
  const found = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter(
      (path) => /\.ts$/.test(path) && !/\.test\.ts$|-bed\.ts$|^cli\/|^ui\/|^runtime\/clock\.ts$/.test(path),
    )
    .filter((path) => /Date\.now\(\)|new Date\(\)/.test(readFileSync(join(root, path), 'utf8')));
  expect(found).toEqual(excepted);
});
