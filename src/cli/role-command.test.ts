import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { roleCommand, type Setting, type Settings } from './role-command.ts';

const settings: readonly Setting[] = [
  { name: 'cluster', value: 'id', help: 'the cluster', required: true },
  { name: 'zone', value: 'domain', help: 'the zone', default: 'gw.cluster.local' },
  { name: 'service-cidr', value: 'cidr', help: 'ranges', list: true },
  { name: 'insecure', help: 'no TLS' },
];

async function parse(...argv: string[]): Promise<Settings> {
  let got: Settings | undefined;
  const command = roleCommand('role', 'a role', settings, async (s) => {
    got = s;
  });
  await command.exitOverride().parseAsync(argv, { from: 'user' });
  return got as Settings;
}

function config(text: string): string {
  const file = join(mkdtempSync(join(tmpdir(), 'causeway-')), 'config.yaml');
  writeFileSync(file, text);
  return file;
}

afterEach(() => {
  delete process.env.CAUSEWAY_CLUSTER;
  delete process.env.CAUSEWAY_SERVICE_CIDR;
});

test('a flag wins over the environment, that over the config file, that over the default', async () => {
  const file = config(
    'cluster: from-file\nzone: file.example\ninsecure: true\nservice-cidr: [10.0.0.0/24]\n',
  );
  const fromFile = await parse('--config', file);
  expect(fromFile.text('cluster')).toBe('from-file');
  expect(fromFile.text('zone')).toBe('file.example');
  expect(fromFile.isSet('insecure')).toBe(true);
  expect(fromFile.list('service-cidr')).toEqual(['10.0.0.0/24']);
  process.env.CAUSEWAY_CLUSTER = 'from-env';
  process.env.CAUSEWAY_SERVICE_CIDR = '10.1.0.0/24, fd00::/112';
  const fromEnv = await parse('--config', file);
  expect(fromEnv.text('cluster')).toBe('from-env');
  expect(fromEnv.list('service-cidr')).toEqual(['10.1.0.0/24', 'fd00::/112']);
  const fromFlag = await parse(
    '--config',
    file,
    '--cluster',
    'from-flag',
    '--service-cidr',
    'a',
    '--service-cidr',
    'b',
  );
  expect(fromFlag.text('cluster')).toBe('from-flag');
  expect(fromFlag.list('service-cidr')).toEqual(['a', 'b']);
  expect((await parse('--cluster', 'x')).text('zone')).toBe('gw.cluster.local');
});

test('a missing or unknown setting says what was expected', async () => {
  await expect(parse()).rejects.toThrow('--cluster (or CAUSEWAY_CLUSTER) is missing: the cluster');
  await expect(parse('--config', config('clutser: x\n'))).rejects.toThrow(
    'unknown setting "clutser"; there are cluster, zone',
  );
  await expect(parse('--config', config('- a\n'))).rejects.toThrow('expected a mapping');
  await expect(parse('--config', '/nowhere.yaml')).rejects.toThrow('/nowhere.yaml');
});

test('seconds are positive numbers', async () => {
  const seconds = async (text: string): Promise<number> =>
    (await parse('--cluster', 'x', '--zone', text)).milliseconds('zone');
  expect(await seconds('0.5')).toBe(500);
  expect(await seconds('30')).toBe(30_000);
  for (const bad of ['0', '-1', 'soon', 'Infinity', '1e9'])
    await expect(seconds(bad)).rejects.toThrow(`--zone: expected 0 < seconds <= 2000000, found ${bad}`);
});
