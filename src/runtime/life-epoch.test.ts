import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ManualClock } from './clock.ts';
import { LifeEpoch } from './life-epoch.ts';
import { writeAtomic } from './write-atomic.ts';

let state: string;
beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'causeway-epoch-'));
});
afterEach(() => rmSync(state, { recursive: true, force: true }));

const clock = new ManualClock(1_000_000);
const begin = async (write = writeAtomic): Promise<number> => {
  const life = await LifeEpoch.begin({ state, clock, write });
  life.close();
  return life.epoch;
};

test('a life is later than the one before, also when the clock was set back between them', async () => {
  expect(await begin()).toBe(1_000_000);
  clock.setWall(-500_000);
  expect(await begin()).toBe(1_000_001);
  expect(await begin()).toBe(1_000_002);
  clock.setWall(600_000);
  expect(await begin()).toBe(1_100_000);
});

test.each(['', 'half', '-5\n', '1e300\n', '9'.repeat(400)])('a file of %j counts as none', async (text) => {
  const now = clock.wall();
  writeFileSync(join(state, 'epoch'), text);
  expect(await begin()).toBe(now);
});

test('a disk that is full stops nothing, and is tried again', async () => {
  const full = async (): Promise<void> => {
    throw new Error('full');
  };
  let write: typeof writeAtomic = full;
  const written = Promise.withResolvers<void>();
  const life = await LifeEpoch.begin({
    state,
    clock,
    write: async (...file) => {
      await write(...file);
      written.resolve();
    },
  });
  expect(life.epoch).toBe(clock.wall());
  write = writeAtomic;
  clock.advance(10_000);
  await written.promise;
  expect(readFileSync(join(state, 'epoch'), 'utf8')).toBe(`${life.epoch}\n`);
});
