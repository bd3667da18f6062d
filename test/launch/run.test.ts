import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..', '..');

function npmTest(...args: string[]): { code: number | null; last: string } {
  const done = spawnSync(process.execPath, [join(root, 'test', 'run.ts'), ...args], {
    cwd: root,
    encoding: 'utf8',
  });
  return { code: done.status, last: done.stdout.trimEnd().split('\n').at(-1) ?? '' };
}

const file = 'src/cli/playground/proportions.test.ts';

test('one test can be run by its title, and the last line counts it', () => {
  expect(npmTest(file, '-t', 'answers are summed by cluster')).toEqual({
    code: 0,
    last: '1 passed, 0 failed',
  });
});

test('a title that no test has is a failure', () => {
  expect(npmTest(file, '-t', 'no test has this title')).toEqual({ code: 1, last: '0 passed, 1 failed' });
});
