import { expect, test } from 'vitest';
import { silentLog } from '../../runtime/log.ts';
import type { FileProblem } from '../../sources/file/file-problem.ts';
import { FileProblems } from './file-problems.ts';

const problem = (line: number, severity: FileProblem['severity'] = 'error'): FileProblem => ({
  severity,
  file: 'store.yaml',
  line,
  column: 1,
  kind: 'Gateway',
  namespace: 'shop',
  name: 'store',
  path: 'spec',
  message: 'expected a mapping, found a list',
});

test('a problem is told when it appears and counted when it is gone, never again in between', () => {
  const said: string[] = [];
  const say = (level: string) => (fields: object, text: string) =>
    void said.push(
      `${level} ${JSON.stringify('line' in fields ? fields.line : fields)} ${text.split('\n')[0]}`,
    );
  const problems = new FileProblems('objects/', { ...silentLog, warn: say('warn'), info: say('info') });
  problems.replace([problem(3), problem(9, 'note')]);
  expect(said.splice(0)).toEqual([
    'warn 3 ✖ objects/store.yaml:3  Gateway shop/store',
    'info 9 ● objects/store.yaml:9  Gateway shop/store',
  ]);
  problems.replace([problem(3), problem(9, 'note')]);
  expect(said).toEqual([]);
  problems.replace([problem(9, 'note')]);
  expect(said).toEqual(['info {"problems":1,"left":1} problems of files are gone']);
  expect(problems.texts).toHaveLength(1);
});
