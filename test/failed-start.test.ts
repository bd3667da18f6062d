import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CaFolder } from '../src/runtime/ca-folder.ts';
import type { PeerRole } from '../src/runtime/identity.ts';

const program = join(import.meta.dirname, '..', 'bin', 'causeway.mjs');
const taken = createServer();
let port: number;
let dir: string;
let ca: CaFolder;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'causeway-start-'));
  mkdirSync(join(dir, 'objects'));
  writeFileSync(join(dir, 'members.yaml'), 'members: []');
  ({ ca } = await CaFolder.init(join(dir, 'ca'), 'demo', Date.now()));
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  const address = taken.address();
  port = typeof address === 'object' ? (address?.port ?? 0) : 0;
});
afterEach(async () => {
  await new Promise((resolve) => taken.close(resolve));
  rmSync(dir, { recursive: true });
});

async function tls(cluster: string, role: PeerRole): Promise<string[]> {
  const identity = { cluster, role, labels: {}, namespaces: ['*'], region: '', network: '' };
  const {
    cert,
    key,
    ca: file,
  } = await ca.issueInto(join(dir, role), {
    ...identity,
    now: Date.now(),
    ttl: 3_600_000,
  });
  return ['--tls-cert', cert, '--tls-key', key, '--tls-ca', file];
}

/** Its exit code and what it said; ends with the test when it hangs. */
function run(
  argv: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<{ code: number | null; said: string }> {
  const child = spawn(process.execPath, [program, ...argv], {
    cwd: dir,
    env,
    timeout: 20_000,
    killSignal: 'SIGKILL',
  });
  let said = '';
  child.stderr.on('data', (chunk) => (said += chunk));
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, said })));
}

const roles: Record<string, () => Promise<string[]>> = {
  controller: async () => [
    ...['controller', '--cluster', 'east', '--set', 'demo', '--dir', 'objects', '--state', 'state'],
    ...['--service-cidr', '10.96.0.0/16', '--listen', `127.0.0.1:${port}`, '--relay', '127.0.0.1:1'],
    ...(await tls('east', 'controller')),
  ],
  relay: async () => [
    ...['relay', '--name', 'hub', '--set', 'demo', '--members', 'members.yaml'],
    ...['--listen', `127.0.0.1:${port}`, ...(await tls('hub', 'relay'))],
  ],
  dns: async () => [
    ...['dns', '--cluster', 'east', '--set', 'demo', '--controller', '127.0.0.1:1'],
    ...['--listen', `127.0.0.1:${port}`, ...(await tls('east', 'dns'))],
  ],
};

test.each(Object.keys(roles))(
  'a %s that cannot listen says so and ends',
  { timeout: 60_000 },
  async (role) => {
    const { code, said } = await run((await roles[role]?.()) ?? []);
    expect(said).toContain('E_LISTEN');
    expect(code).toBe(1);
  },
);

test('what a variable or a file gives is named by it when it cannot be used', {
  timeout: 60_000,
}, async () => {
  const argv = (await roles.relay?.()) ?? [];
  const at = `127.0.0.1:${port}`;
  const env = { ...process.env, CAUSEWAY_ADMIN: at };
  const byVariable = await run(argv, env);
  expect(byVariable.said).toMatch(/E_LISTEN .*\(--admin\).*; --admin is given by CAUSEWAY_ADMIN$/m);
  writeFileSync(join(dir, 'hub.yaml'), `admin: ${at}\n`);
  const byFile = await run([...argv, '--config', 'hub.yaml']);
  expect(byFile.said).toMatch(/E_LISTEN .*\(--admin\).*; --admin is given by hub\.yaml, admin$/m);
  const byFlag = await run([...argv, '--admin', at], env);
  expect(byFlag.said).toContain('(--admin)');
  expect(byFlag.said).not.toContain('given by');
});
