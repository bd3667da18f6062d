import { expect, test } from 'vitest';
import { ManualClock } from './clock.ts';
import { Coalescer } from './coalesce.ts';

/** When runs were, with what had been asked for until then. */
function coalescer(windowMs: number, firstWindowMs?: number) {
  const clock = new ManualClock(0);
  const runs: number[] = [];
  const made = new Coalescer(clock, windowMs, () => void runs.push(clock.now()), firstWindowMs);
  return {
    runs,
    /** Calls at these times, and time that passes until `until`. */
    async play(times: readonly number[], until: number): Promise<readonly number[]> {
      for (let now = clock.now(); now <= until; now += 1) {
        if (now > clock.now()) clock.advance(now - clock.now());
        await Promise.resolve();
        if (times.includes(now)) made.trigger();
        await new Promise((resolve) => setImmediate(resolve));
      }
      return runs;
    },
  };
}

test('the first call runs at once, followers together at the end of the window', async () => {
  expect(await coalescer(50).play([1, 2, 30], 200)).toEqual([1, 51]);
});

test('a call after the window is a first one again', async () => {
  expect(await coalescer(50).play([1, 60, 140], 200)).toEqual([1, 60, 140]);
});

test('the first window of a burst may be shorter; while calls keep coming it is the long one', async () => {
  const burst = Array.from({ length: 60 }, (_, i) => 1 + 2 * i);
  expect(await coalescer(50, 5).play(burst, 300)).toEqual([1, 6, 56, 106, 156]);
  // After a window without a call the next one is a first one.
  expect(await coalescer(50, 5).play([1, 3, 80, 82], 300)).toEqual([1, 6, 80, 85]);
});
