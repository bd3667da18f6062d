import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { AppError } from '../runtime/errors.ts';
import { createProgram } from './program.ts';
import { reportError } from './report-error.ts';

let said: string;
beforeEach(() => {
  said = '';
  const take = (text: unknown): boolean => {
    said += String(text);
    return true;
  };
  vi.spyOn(process.stderr, 'write').mockImplementation(take);
  vi.spyOn(process.stdout, 'write').mockImplementation(take);
});
afterEach(() => {
  vi.restoreAllMocks();
  delete process.env.CAUSEWAY_DEBUG;
});

const exitCode = (line: string): Promise<number> =>
  createProgram()
    .parseAsync(line.split(' ').filter(Boolean), { from: 'user' })
    .then(() => 0, reportError);

test('words that no command takes are usage, whichever command refuses them', async () => {
  const lines = [
    'frob',
    '--frob',
    'controller --frob',
    'controller --zone',
    'controller frob',
    'agent cleanup frob',
    'compile',
    'relay certificate',
    'relay init --role x',
    'playground exec',
    'dns --cluster',
  ];
  for (const line of lines) expect([line, await exitCode(line)]).toEqual([line, 2]);
  expect(said).toContain("error: unknown option '--frob'");
});

test('--help and --version are answers', async () => {
  for (const line of ['--help', '--version', 'relay certificate --help'])
    expect(await exitCode(line)).toBe(0);
});

test('other errors are told in one line with their code', () => {
  expect(reportError(new AppError('E_USAGE', 'no'))).toBe(2);
  expect(reportError(new AppError('E_LISTEN', 'taken'))).toBe(1);
  expect(reportError(new Error('oops'))).toBe(1);
  expect(reportError('odd')).toBe(1);
  expect(said).toBe('causeway: E_USAGE no\ncauseway: E_LISTEN taken\ncauseway: oops\ncauseway: odd\n');
  process.env.CAUSEWAY_DEBUG = '1';
  reportError(new Error('oops'));
  expect(said).toContain('report-error.test.ts');
});
