import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
/** Where a machine has its own programs, and perhaps an older Node. */
const system = '/usr/bin:/bin';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'causeway-command-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

const shell = (script: string, path: string) =>
  spawnSync('sh', ['-c', script], { cwd: folder, env: { PATH: path, HOME: folder }, encoding: 'utf8' });

test('the command of a clone is there in every folder, by its path, by PATH and by a link', () => {
  symlinkSync(join(root, 'bin', 'causeway'), join(folder, 'linked'));
  for (const script of [`${root}/bin/causeway --version`, 'causeway --version', './linked --version']) {
    const { status, stdout, stderr } = shell(script, `${root}/bin:${system}`);
    expect({ script, status, stdout, stderr }).toEqual({
      script,
      status: 0,
      stdout: `${version}\n`,
      stderr: '',
    });
  }
});

test('its words and its exit code pass through', () => {
  const { status, stderr } = shell("causeway compile --dir 'a  b'", `${root}/bin:${system}`);
  expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining('a  b') });
});

test('where nothing is installed it says what to run', () => {
  cpSync(join(root, 'bin'), join(folder, 'bin'), { recursive: true });
  const { status, stderr } = shell('bin/causeway get frontends', system);
  expect({ status, stderr }).toEqual({
    status: 2,
    stderr: expect.stringMatching(/cd \S+ && npm run setup\n$/),
  });
});

test('nobody is sent to a package of npm that has our name', () => {
  const files = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' }).split('\0');
  const own = files.filter((file) => /\.(md|mjs|ts|json)$/.test(file) && file !== 'test/command.test.ts');
  const sent = own.filter((file) => /\bnpx (-\S+ )*causeway\b/.test(readFileSync(join(root, file), 'utf8')));
  expect(sent).toEqual([]);
});
