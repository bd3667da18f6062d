import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ManualClock } from './clock.ts';
import { AppError } from './errors.ts';
import { FollowedFile } from './followed-file.ts';
import { type Log, silentLog } from './log.ts';

let dir: string;
let path: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'causeway-followed-'));
  path = join(dir, 'list.yaml');
});
afterEach(() => rmSync(dir, { recursive: true }));

const follow = (clock: ManualClock, log: Log, lists: string[][], required = false) =>
  new FollowedFile({
    path,
    what: 'the list',
    parse: (value) => {
      const list = (value as { list?: unknown } | null)?.list;
      if (Array.isArray(list)) return list as string[];
      throw new AppError('E_USAGE', 'list: expected a list');
    },
    clock,
    log,
    required,
    onContent: (list) => void lists.push(list),
  });

test('the file is followed; what cannot be used keeps the last good list', () => {
  const clock = new ManualClock();
  const lists: string[][] = [];
  const warnings: string[] = [];
  const log: Log = {
    ...silentLog,
    warn: (fields) => void warnings.push((fields as { error: string }).error),
  };
  const file = follow(clock, log, lists);
  clock.advance(2_000);
  expect(lists).toEqual([]);
  expect(warnings).toHaveLength(1);

  writeFileSync(path, 'list: [east, west]');
  clock.advance(1_000);
  expect(lists).toEqual([['east', 'west']]);
  writeFileSync(path, 'list: [east, nor');
  clock.advance(2_000);
  rmSync(path);
  clock.advance(2_000);
  expect(lists).toHaveLength(1);
  expect(warnings).toHaveLength(3);
  writeFileSync(path, 'list: [east]');
  clock.advance(1_000);
  expect(lists.at(-1)).toEqual(['east']);
  file.close();
  writeFileSync(path, 'list: []');
  clock.advance(5_000);
  expect(lists).toHaveLength(2);
});

test('half a file that reads as a shorter list takes nobody away', () => {
  const clock = new ManualClock();
  const lists: string[][] = [];
  writeFileSync(path, 'list:\n- east\n- west\n');
  const file = follow(clock, silentLog, lists);
  writeFileSync(path, 'list:\n- east\n');
  clock.advance(500);
  writeFileSync(path, 'list:\n- east\n- west\n- north\n');
  clock.advance(2_000);
  expect(lists).toEqual([
    ['east', 'west'],
    ['east', 'west', 'north'],
  ]);
  file.close();
});

test('a file that is required must be usable at the start, and then keeps its last good content as well', () => {
  const clock = new ManualClock();
  const lists: string[][] = [];
  const start = () => follow(clock, silentLog, lists, true);
  expect(start).toThrow(`${path}: the list cannot be used: ENOENT`);
  writeFileSync(path, 'list: {}');
  expect(start).toThrow(`${path}: the list cannot be used: list: expected a list`);
  writeFileSync(path, 'list: [east]');
  const file = start();
  rmSync(path);
  clock.advance(2_000);
  expect(lists).toEqual([['east']]);
  file.close();
});
