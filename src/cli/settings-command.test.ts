import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createProgram } from './program.ts';
import type { Setting, Settings } from './setting.ts';
import { isCidr, isDnsLabel, isSeconds, isZone } from './setting-checks.ts';
import { settingsCommand } from './settings-command.ts';
import * as tables from './settings-table.ts';

const settings: readonly Setting[] = [
  { name: 'cluster', value: 'id', help: 'the cluster', check: isDnsLabel, required: true },
  { name: 'zone', value: 'domain', help: 'the zone', check: isZone, default: 'gw.cluster.local' },
  { name: 'service-cidr', value: 'cidr', help: 'ranges', check: isCidr, list: true },
  { name: 'interval', value: 'seconds', help: 'how often', check: isSeconds, default: '30' },
];
const other: readonly Setting[] = [{ name: 'other', value: 'id', help: 'another', check: isDnsLabel }];

async function parse(...argv: string[]): Promise<Settings> {
  let got: Settings | undefined;
  const command = settingsCommand({
    name: 'role',
    description: 'a role',
    settings,
    alsoInFile: other,
    run: async (s) => {
      got = s;
    },
  });
  await command.exitOverride().parseAsync(argv, { from: 'user' });
  return got as Settings;
}

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'causeway-settings-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
  for (const name of Object.keys(process.env))
    if (/^CAUSEWAY_(?!TEST|CORE)/.test(name)) delete process.env[name];
});

function config(text: string): string {
  const file = join(folder, 'config.yaml');
  writeFileSync(file, text);
  return file;
}

test('a flag wins over the environment, that over the config file, that over the default', async () => {
  const file = config('cluster: 1e3\nzone: file.example\nother: x\nservice-cidr: [10.0.0.0/24]\n');
  const fromFile = await parse('--config', file);
  expect(fromFile.text('cluster')).toBe('1e3');
  expect(fromFile.text('zone')).toBe('file.example');
  expect(fromFile.list('service-cidr')).toEqual(['10.0.0.0/24']);
  process.env.CAUSEWAY_CLUSTER = 'from-env';
  process.env.CAUSEWAY_SERVICE_CIDR = '10.1.0.0/24, fd00::/112';
  const fromEnv = await parse('--config', file);
  expect(fromEnv.text('cluster')).toBe('from-env');
  expect(fromEnv.list('service-cidr')).toEqual(['10.1.0.0/24', 'fd00::/112']);
  const ranges = ['--service-cidr', '10.2.0.0/24', '--service-cidr', '10.3.0.0/24'];
  const fromFlag = await parse('--config', file, '--cluster', 'from-flag', ...ranges);
  expect(fromFlag.text('cluster')).toBe('from-flag');
  expect(fromFlag.list('service-cidr')).toEqual(['10.2.0.0/24', '10.3.0.0/24']);
  delete process.env.CAUSEWAY_SERVICE_CIDR;
  const fromNowhere = await parse('--cluster', 'x');
  expect(fromNowhere.text('zone')).toBe('gw.cluster.local');
  expect(fromNowhere.list('service-cidr')).toEqual([]);
});

test('an empty variable or key counts as not given', async () => {
  process.env.CAUSEWAY_ZONE = '';
  const given = await parse('--cluster', 'x', '--config', config('zone:\nservice-cidr: []\ninterval: 0.5\n'));
  expect(given.text('zone')).toBe('gw.cluster.local');
  expect(given.list('service-cidr')).toEqual([]);
  expect(given.milliseconds('interval')).toBe(500);
});

test('what is missing, unknown or of another shape is told with what was expected', async () => {
  await expect(parse()).rejects.toThrow('--cluster (or CAUSEWAY_CLUSTER) is missing: the cluster');
  const wrong: [text: string, message: string][] = [
    [
      'clutser: x\n',
      'config.yaml: unknown setting "clutser"; there are cluster, zone, service-cidr, interval',
    ],
    ['- a\n', 'expected a mapping'],
    ['cluster: [a]\n', 'config.yaml, cluster: expected one value, found a list'],
    ['service-cidr: {a: b}\n', 'service-cidr: expected one value or a list of values, found a mapping'],
    ['service-cidr: [[a]]\n', 'service-cidr: expected one value or a list of values, found a list'],
    ['a: &a b\nc: *a\n', '--config'],
  ];
  for (const [text, message] of wrong) {
    await expect(parse('--config', config(text))).rejects.toMatchObject({
      code: 'E_USAGE',
      message: expect.stringContaining(message),
    });
  }
  await expect(parse('--config', '/nowhere.yaml')).rejects.toThrow('/nowhere.yaml');
});

const host = 'host:port or [IPv6]:port';
const listen = 'host:port, :port or [IPv6]:port';
const path = 'a path';
const seconds = 'a number of seconds above 0 and at most 2000000';
const label = 'a DNS label (at most 63 lower-case letters, digits and -)';
const name = 'a DNS name in lower case';
const topology = 'at most 63 letters, digits and ._-';

/** Setting → what is expected of it; values that it refuses, values that it takes. */
const values: Readonly<Record<string, { is: string; not: readonly string[]; but: readonly string[] }>> = {
  cluster: {
    is: label,
    not: ['East', 'a.b', '-a', 'a'.repeat(64), 'a,b'],
    but: ['e', '1e3', 'a'.repeat(63)],
  },
  set: { is: name, not: ['A', 'a..b', 'a/b'], but: ['default', 'a.example'] },
  region: { is: topology, not: ['a b', 'é', 'a'.repeat(64)], but: ['eu-1', 'EU_1.a'] },
  network: { is: topology, not: ['a b', 'a/b'], but: ['n1'] },
  dir: { is: path, not: ['a\0b'], but: ['.'] },
  state: { is: path, not: ['a\0b'], but: ['.'] },
  'service-cidr': {
    is: 'an address and a prefix length, such as 10.96.0.0/16 or fd00:96::/112',
    not: ['10.96.0.0/99', '10.96.0.0', '10.96.0/16', 'fd00::/129', 'x/8', '10.0.0.0/-1'],
    but: ['10.96.0.0/16', 'fd00:96::/112'],
  },
  zone: {
    is: 'a domain name in lower case, at most 200 characters, such as gw.cluster.local',
    not: [
      'bad..zone',
      '.',
      'GW.local',
      'gw.local.',
      `${'a'.repeat(64)}.local`,
      `${'a.'.repeat(100)}a`,
      'a b',
    ],
    but: ['gw.cluster.local', 'x'],
  },
  'controller-name': {
    is: 'a domain and a path, such as example.com/controller',
    not: ['controller', 'a..b/c', 'Example.com/c', 'a/'],
    but: ['causeway.dev/gateway-controller', 'a/b/c'],
  },
  'controller/listen': {
    is: listen,
    not: ['nonsense', '18000', 'a b:80', '127.0.0.1', '127.0.0.1:99999', '300.1.1.1:80', '::1:80', '[x]:80'],
    but: [':0', '127.0.0.1:18000', 'localhost:18000', '[::1]:18000'],
  },
  listen: { is: listen, not: ['nonsense', 'x:y'], but: [':18100'] },
  'dns/listen': {
    is: 'IPv4:port, [IPv6]:port or :port',
    not: ['nonsense', 'localhost:53', '53', '[1.2.3.4]:53'],
    but: [':53', '10.0.0.1:53', '[fd00::1]:53'],
  },
  relay: {
    is: host,
    not: ['nonsense', ':18100', 'hub:0', 'a b:1', 'dns:///hub'],
    but: ['hub.example:18100'],
  },
  controller: {
    is: host,
    not: ['nonsense', ':18000', '10.0.0.1'],
    but: ['10.0.0.1:18000', '[fd00::1]:18000'],
  },
  'audit-interval': { is: seconds, not: ['x', '0', '-1', 'Infinity', '1e3', '2000001'], but: ['0.5', '30'] },
  'tls-cert': { is: path, not: ['a\0b'], but: ['tls.crt'] },
  'tls-key': { is: path, not: ['a\0b'], but: ['tls.key'] },
  'tls-ca': { is: path, not: ['a\0b'], but: ['ca.crt'] },
  admin: { is: listen, not: ['nonsense', '127.0.0.1:x', '1:2:3'], but: [':9000', '127.0.0.1:0'] },
  'log-level': {
    is: 'debug, info, warn, error or silent',
    not: ['loud', 'INFO', 'trace'],
    but: ['debug', 'silent'],
  },
  node: { is: name, not: ['Node', 'a_b', 'a..b'], but: ['e1', 'e1.example'] },
  name: { is: label, not: ['Hub', 'a.b'], but: ['hub'] },
  members: { is: path, not: ['a\0b'], but: ['members.yaml'] },
  serial: { is: 'up to 40 hexadecimal digits', not: ['xyz', '0x'], but: ['5F:03', '0x5f03'] },
  certificate: { is: path, not: ['a\0b'], but: ['tls.crt'] },
  reason: { is: 'at most 200 characters in one line', not: ['a\nb', 'x'.repeat(201)], but: ['lost'] },
  revoked: { is: path, not: ['a\0b'], but: ['members.yaml'] },
  output: { is: 'table, json or yaml', not: ['xml', 'JSON'], but: ['json'] },
  out: { is: path, not: ['a\0b'], but: ['x'] },
  role: { is: 'controller, relay, agent, dns, proxy or admin', not: ['root'], but: ['dns'] },
  label: {
    is: 'key=value as labels of Kubernetes are',
    not: ['prod', '=a', 'a b=c', 'a=b c'],
    but: ['env=prod', 'a='],
  },
  namespaces: {
    is: 'namespaces, or prefixes and *, comma-separated',
    not: ['a*b', 'Shop', 'shop,*x'],
    but: ['*', 'shop, team-*'],
  },
  ttl: { is: 'a time as 90d, 12h, 30m or 60s', not: ['3 years', '90', '0d'], but: ['90d', '12h'] },
  dns: {
    is: 'a DNS name in lower case, perhaps with *. before it',
    not: ['a b', 'A'],
    but: ['*.hub', 'hub'],
  },
  ip: { is: 'an IP address', not: ['hub', '1.2.3'], but: ['10.0.0.1', 'fd00::1'] },
};

const commands: readonly { command: string; table: readonly Setting[]; flagsOnly?: true }[] = [
  { command: 'controller', table: tables.controllerSettings },
  { command: 'agent', table: tables.agentSettings },
  { command: 'dns', table: tables.dnsSettings },
  { command: 'relay', table: tables.relaySettings },
  { command: 'compile', table: tables.compileSettings },
  { command: 'relay init', table: tables.relayInitSettings, flagsOnly: true },
  { command: 'relay certificate', table: tables.relayCertificateSettings, flagsOnly: true },
  { command: 'relay revoke', table: tables.relayRevokeSettings, flagsOnly: true },
];

const goodValue = (command: string, { name: setting }: Setting): string =>
  (values[`${command}/${setting}`] ?? values[setting])?.but[0] ?? '';

test.each(commands)(
  '$command: each setting refuses what it cannot use, and says where it was given',
  async ({ command, table, flagsOnly }) => {
    const run = (...argv: string[]): Promise<Command> =>
      createProgram().parseAsync([...command.split(' '), ...argv], { from: 'user' });
    for (const setting of table) {
      const row = values[`${command}/${setting.name}`] ?? values[setting.name];
      if (!row) throw new Error(`--${setting.name} is not in the table of values`);
      for (const good of [...row.but, ...(setting.default ? [setting.default] : [])]) {
        expect(setting.check(good), `--${setting.name} ${good}`).toBeUndefined();
      }
      const before = table.slice(0, table.indexOf(setting));
      const needed = before.flatMap((s) => (s.required ? [`--${s.name}`, goodValue(command, s)] : []));
      for (const bad of row.not) {
        const refusal = (where: string) => ({
          code: 'E_USAGE',
          message: `${where}: expected ${row.is}, found ${JSON.stringify(bad)}`,
        });
        const flag = run(...needed, `--${setting.name}=${bad}`);
        await expect(flag).rejects.toMatchObject(refusal(`--${setting.name}`));
        if (flagsOnly) continue;
        const file = config(`${setting.name}: ${JSON.stringify(bad)}\n`);
        const fromFile = run(...needed, '--config', file);
        await expect(fromFile).rejects.toMatchObject(refusal(`${file}, ${setting.name}`));
        // A variable holds no NUL.
        if (bad.includes('\0')) continue;
        const variable = `CAUSEWAY_${setting.name.toUpperCase().replaceAll('-', '_')}`;
        process.env[variable] = bad;
        await expect(run(...needed)).rejects.toMatchObject(refusal(variable));
        delete process.env[variable];
      }
    }
  },
);
