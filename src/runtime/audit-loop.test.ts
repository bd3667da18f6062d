import { expect, test } from 'vitest';
import { AuditLoop } from './audit-loop.ts';
import { ManualClock } from './clock.ts';

/** A loop whose looks take `tookMs`. */
const setUp = (tookMs: number) => {
  const clock = new ManualClock();
  const looks: number[] = [];
  const loop = new AuditLoop({
    intervalMs: 1_000,
    clock,
    random: () => 1,
    look: () => {
      looks.push(clock.now());
      return new Promise((resolve) => clock.after(tookMs, resolve));
    },
  });
  const advance = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { loop, looks, advance };
};

test('it looks again an interval after the last look, until it is closed', async () => {
  const { loop, looks, advance } = setUp(1);
  await advance(1_000);
  await advance(1);
  await advance(1_000);
  await advance(1);
  expect(looks).toEqual([1_000, 2_001]);
  loop.close();
  await advance(10_000);
  expect(looks).toHaveLength(2);
});

test('a look that takes long is made less often: it gets a hundredth of the time', async () => {
  const { looks, advance } = setUp(50);
  await advance(1_000);
  await advance(50);
  await advance(4_999);
  expect(looks).toHaveLength(1);
  await advance(1);
  expect(looks).toEqual([1_000, 6_050]);
});

test('looks do not overlap', async () => {
  const { looks, advance } = setUp(100_000);
  await advance(1_000);
  await advance(50_000);
  expect(looks).toEqual([1_000]);
});
