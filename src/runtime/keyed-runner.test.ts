import { expect, test } from 'vitest';
import { ManualClock } from './clock.ts';
import { KeyedRunner } from './keyed-runner.ts';

function runner(run: (key: string) => Promise<void>, concurrency = 2) {
  const clock = new ManualClock();
  const errors: string[] = [];
  const keyed = new KeyedRunner({
    clock,
    random: () => 0.5,
    concurrency,
    run,
    onError: (key, error) => errors.push(`${key}: ${String(error)}`),
  });
  return { keyed, clock, errors };
}

test('a key never runs twice at once, and once more when it is triggered meanwhile', async () => {
  let running = 0;
  let runs = 0;
  let most = 0;
  const { keyed } = runner(async () => {
    runs += 1;
    running += 1;
    most = Math.max(most, running);
    await Promise.resolve();
    running -= 1;
  });
  keyed.trigger('a');
  keyed.trigger('a');
  keyed.trigger('a');
  await keyed.idle();
  expect({ runs, most }).toEqual({ runs: 2, most: 1 });
});

test('as many keys at once as allowed', async () => {
  let running = 0;
  let most = 0;
  const { keyed } = runner(async () => {
    running += 1;
    most = Math.max(most, running);
    await Promise.resolve();
    running -= 1;
  }, 3);
  for (const key of 'abcdefgh') keyed.trigger(key);
  await keyed.idle();
  expect(most).toBe(3);
});

test('a failure is tried again, later and later, and holds back no other key', async () => {
  let failures = 3;
  const done: string[] = [];
  const { keyed, clock, errors } = runner(async (key) => {
    if (key === 'bad' && failures-- > 0) throw new Error('no');
    done.push(key);
  }, 1);
  keyed.trigger('bad');
  keyed.trigger('good');
  await keyed.idle();
  expect(done).toEqual(['good']);
  for (const ms of [100, 200, 400]) {
    clock.advance(ms - 1);
    await keyed.idle();
    expect(done).toEqual(['good']);
    clock.advance(1);
    await keyed.idle();
  }
  expect(done).toEqual(['good', 'bad']);
  expect(errors).toHaveLength(3);
  expect(keyed.pending).toBe(0);
});

test('after closing nothing runs', async () => {
  const done: string[] = [];
  const { keyed, clock } = runner(async (key) => {
    done.push(key);
    throw new Error('no');
  });
  keyed.trigger('a');
  await keyed.close();
  keyed.trigger('b');
  clock.advance(100_000);
  await keyed.idle();
  expect(done).toEqual(['a']);
});
