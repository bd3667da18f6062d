import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { loadTls } from '../runtime/tls-files.ts';
import { createProgram } from './program.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'causeway-cli-'));
  vi.spyOn(process.stdout, 'write').mockReturnValue(true);
});
afterEach(() => {
  vi.restoreAllMocks();
  process.exitCode = 0;
  rmSync(dir, { recursive: true });
});

test('relay init and relay certificate take their own flags, not those of the role', async () => {
  const run = (...argv: string[]) => createProgram().parseAsync(argv, { from: 'user' });
  const state = join(dir, 'ca');
  const out = join(dir, 'west');
  await run('relay', 'init', '--set', 'demo', '--state', state);
  const west = ['--cluster', 'west', '--role', 'controller', '--label', 'env=prod', '--label', 'tier=a'];
  await run('relay', 'certificate', '--state', state, ...west, '--namespaces', 'shop,team-*', '--out', out);
  const files = { cert: join(out, 'tls.crt'), key: join(out, 'tls.key'), ca: join(out, 'ca.crt') };
  expect(loadTls(files).identity).toEqual({
    set: 'demo',
    cluster: 'west',
    role: 'controller',
    labels: { env: 'prod', tier: 'a' },
    namespaces: ['shop', 'team-*'],
    region: '',
    network: '',
  });
});
