import { X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadTls } from '../runtime/tls-files.ts';
import { commandFolder } from './command-folder-bed.ts';
import { type RelayCertificateOptions, runRelayCertificate } from './relay-certificate.ts';
import { runRelayInit } from './relay-init.ts';

const bed = commandFolder();

const west = (): RelayCertificateOptions => ({
  state: join(bed.dir, 'ca'),
  cluster: 'west',
  role: 'agent',
  node: 'w1',
  labels: { env: 'prod' },
  namespaces: ['shop', 'team-*'],
  region: 'us',
  network: 'n1',
  ttl: 3_600_000,
  dns: [],
  ips: ['127.0.0.1'],
  out: join(bed.dir, 'west'),
});

test('a CA and a member certificate are made; keys are private and never printed', async () => {
  await runRelayInit({ set: 'demo', state: join(bed.dir, 'ca') });
  await runRelayCertificate(west());
  const files = {
    cert: join(bed.dir, 'west/tls.crt'),
    key: join(bed.dir, 'west/tls.key'),
    ca: join(bed.dir, 'west/ca.crt'),
  };
  expect(loadTls(files).identity).toEqual({
    set: 'demo',
    cluster: 'west',
    role: 'agent',
    node: 'w1',
    labels: { env: 'prod' },
    namespaces: ['shop', 'team-*'],
    region: 'us',
    network: 'n1',
  });
  const { serialNumber } = new X509Certificate(readFileSync(files.cert));
  expect(bed.printed).toContain(`serial ${serialNumber.toLowerCase()}\n`);
  for (const key of [files.key, join(bed.dir, 'ca/ca.key')]) {
    expect(statSync(key).mode & 0o777).toBe(0o600);
    expect(bed.printed).not.toContain(readFileSync(key, 'utf8').split('\n')[1]);
  }
});

test('a second init keeps the CA; of another set it is refused', async () => {
  const state = join(bed.dir, 'ca');
  await runRelayInit({ set: 'demo', state });
  const before = readFileSync(join(state, 'ca.key'));
  await runRelayInit({ set: 'demo', state });
  expect(readFileSync(join(state, 'ca.key')).equals(before)).toBe(true);
  await expect(runRelayInit({ set: 'prod', state })).rejects.toThrow(/holds the CA of set demo/);
});

test('what cannot be used is named', async () => {
  await expect(runRelayCertificate(west())).rejects.toMatchObject({ code: 'E_TLS_LOAD' });
  await runRelayInit({ set: 'demo', state: join(bed.dir, 'ca') });
  const wrong: [Partial<RelayCertificateOptions>, RegExp][] = [
    [
      { role: 'dns' },
      /--node: expected the name of a node for --role agent, one or none for proxy, none for others/,
    ],
    [{ namespaces: ['a*b'] }, /expected a namespace or a prefix and \*, found "a\*b"/],
    [{ cluster: 'a,b' }, /expected a DNS label as cluster, found "a,b"/],
  ];
  for (const [fields, message] of wrong) {
    await expect(runRelayCertificate({ ...west(), ...fields })).rejects.toThrow(message);
  }
});
