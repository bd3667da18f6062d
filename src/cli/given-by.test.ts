import { afterEach, expect, test } from 'vitest';
import { AppError } from '../runtime/errors.ts';
import { sayingWhatGave } from './given-by.ts';
import { createProgram } from './program.ts';

afterEach(() => {
  delete process.env.CAUSEWAY_ADMIN;
  delete process.env.CAUSEWAY_CONTROLLER_ADMIN;
});

const run = (line: string): Promise<unknown> => createProgram().parseAsync(line.split(' '), { from: 'user' });

const asking = ['get frontends', 'explain store.shop', 'verify store.shop', 'bugreport --out /nowhere/x'];

test.each(asking)('%s: the variable of a role’s own pages is not whom to ask', async (line) => {
  process.env.CAUSEWAY_ADMIN = '127.0.0.1:1';
  await expect(run(line)).rejects.toMatchObject({
    code: 'E_USAGE',
    message: expect.stringContaining('--admin (or CAUSEWAY_CONTROLLER_ADMIN) is missing'),
  });
});

test.each(asking.slice(0, 3))('%s: whom to ask is a variable, and what it breaks names it', async (line) => {
  process.env.CAUSEWAY_CONTROLLER_ADMIN = 'nonsense';
  await expect(run(line)).rejects.toMatchObject({
    code: 'E_USAGE',
    message: '--admin: expected host:port, found "nonsense"; --admin is given by CAUSEWAY_CONTROLLER_ADMIN',
  });
  process.env.CAUSEWAY_CONTROLLER_ADMIN = '127.0.0.1:1';
  await expect(run(line)).rejects.toMatchObject({
    code: 'E_UNREACHABLE',
    message: expect.stringMatching(/^no answer from 127\.0\.0\.1:1: .*; --admin is given by CAUSEWAY_CON/),
  });
  await expect(run(`${line} --admin 127.0.0.1:2`)).rejects.toThrow(/^((?!given by).)*$/);
});

test('only what an error is about is named', async () => {
  const given = [
    { flag: '--admin', where: 'CAUSEWAY_ADMIN' },
    { flag: '--listen', where: 'hub.yaml, listen' },
  ];
  const failing = (text: string) =>
    sayingWhatGave(given, () => Promise.reject(new AppError('E_LISTEN', text)));
  await expect(failing('cannot listen on :1 (--listen): taken')).rejects.toThrow(
    'cannot listen on :1 (--listen): taken; --listen is given by hub.yaml, listen',
  );
  await expect(failing('--admin-port is 1')).rejects.toThrow(/^--admin-port is 1$/);
});
