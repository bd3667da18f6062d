import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const tracked = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((f) => /\.(ts|tsx|mjs)$/.test(f) && existsSync(join(root, f)));

test('no source file is over 500 lines', () => {
  const long = tracked.filter((f) => readFileSync(join(root, f), 'utf8').split('\n').length > 500);
  expect(long).toEqual([]);
});

test('files are named after the one concept they hold', () => {
  const vague = /^(utils?|helpers?|common|misc|types|shared|index)\.(ts|mjs)$/;
  expect(tracked.filter((f) => vague.test(basename(f)))).toEqual([]);
  expect(tracked.filter((f) => !/^[a-z0-9.-]+$/.test(basename(f)))).toEqual([]);
});
