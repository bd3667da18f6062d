import { expect, test } from 'vitest';
import { ManualClock } from './clock.ts';
import { silentLog } from './log.ts';
import { Metrics } from './metrics.ts';
import { OutputDriver } from './output-driver.ts';

function setUp(fails: (key: string) => boolean) {
  const clock = new ManualClock();
  const world = new Map<string, string>();
  const wanted = new Map<string, string>();
  const guard = (key: string): void => {
    if (fails(key)) throw new Error(`no ${key}`);
  };
  const driver = new OutputDriver<string>({
    name: 'test',
    output: {
      update: async (key, value) => {
        guard(key);
        world.set(key, value);
      },
      delete: async (key) => {
        guard(key);
        world.delete(key);
      },
      prune: async (keys) => {
        for (const key of [...world.keys()]) if (!keys.has(key)) world.delete(key);
      },
    },
    wanted: (key) => wanted.get(key),
    clock,
    random: () => 0.5,
    log: silentLog,
    metrics: new Metrics(),
  });
  return { clock, world, wanted, driver };
}

test('a failing key is tried again with a growing delay and holds up no other', async () => {
  let broken = true;
  const { clock, world, wanted, driver } = setUp((key) => key === 'a' && broken);
  wanted.set('a', '1').set('b', '1');
  driver.touch(['a', 'b']);
  await driver.settled();
  expect([...world]).toEqual([['b', '1']]);
  clock.advance(100);
  await driver.settled();
  broken = false;
  clock.advance(199);
  await driver.settled();
  expect(world.has('a')).toBe(false);
  wanted.set('a', '2');
  clock.advance(1);
  await driver.settled();
  expect(world.get('a')).toBe('2');
});

test('what is no longer wanted is deleted, and pruning takes the rest', async () => {
  const { world, wanted, driver } = setUp(() => false);
  world.set('left', '0');
  wanted.set('a', '1').set('b', '1');
  driver.prune(new Set(['a', 'b']));
  driver.touch(['a', 'b']);
  await driver.settled();
  expect([...world.keys()]).toEqual(['a', 'b']);
  wanted.delete('a');
  driver.touch(['a']);
  await driver.settled();
  expect([...world.keys()]).toEqual(['b']);
});
