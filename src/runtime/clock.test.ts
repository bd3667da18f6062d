import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { systemClock } from './clock.ts';

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
