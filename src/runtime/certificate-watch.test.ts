import { X509Certificate } from 'node:crypto';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CaFolder } from './ca-folder.ts';
import { CertificateWatch } from './certificate-watch.ts';
import { ManualClock } from './clock.ts';
import type { PeerRole } from './identity.ts';
import { silentLog } from './log.ts';
import { Metrics } from './metrics.ts';

const day = 86_400_000;
const start = Date.parse('2026-01-01T00:00:00Z');

let dir: string;
let ca: CaFolder;
let clock: ManualClock;
let metrics: Metrics;
let said: string[];
let issued: number;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'causeway-watch-'));
  ({ ca } = await CaFolder.init(join(dir, 'ca'), 'demo', start));
  clock = new ManualClock(start);
  metrics = new Metrics();
  said = [];
  issued = 0;
});
afterEach(() => rmSync(dir, { recursive: true }));

async function issue(cluster: string, role: PeerRole, days: number, now = start): Promise<string> {
  const identity = { cluster, role, labels: {}, namespaces: ['*'], region: '', network: '' };
  const files = await ca.issueInto(join(dir, `${issued++}`), { ...identity, now, ttl: days * day });
  return files.cert;
}
const der = (file: string): Buffer => new X509Certificate(readFileSync(file)).raw;

function watch(own: string): CertificateWatch {
  const warn = (fields: object, text: string): void =>
    void said.push(`${'peer' in fields ? fields.peer : ''} ${text}`);
  return new CertificateWatch({ own, clock, metrics, log: { ...silentLog, warn } });
}

/** Peer → days, as the metric says it. */
async function days(): Promise<Record<string, number>> {
  const text = await metrics.registry.metrics();
  const lines = [...text.matchAll(/^causeway_cert_expiry_seconds\{peer="(.+)"\} (\S+)$/gm)];
  return Object.fromEntries(
    lines.map(([, peer, seconds]) => [peer, Math.round((Number(seconds) * 1000) / day)]),
  );
}

test('a certificate that ends soon is told once, and not any more when it is replaced', async () => {
  const own = await issue('east', 'controller', 365);
  const watching = watch(own);
  expect(await days()).toEqual({ own: 365 });
  clock.advance(334 * day);
  expect(said).toEqual([]);
  clock.advance(2 * day);
  expect(said).toEqual(['own a certificate ends soon']);
  clock.advance(20 * day);
  expect(said).toHaveLength(1);
  copyFileSync(await issue('east', 'controller', 365, clock.now()), own);
  clock.advance(10 * day);
  expect(said).toHaveLength(1);
  expect(await days()).toEqual({ own: 355 });
  writeFileSync(own, 'half a fi');
  expect(await days()).toEqual({ own: 355 });
  watching.close();
});

test('a certificate that was issued for a short time is not called old from its first day', async () => {
  const watching = watch(await issue('east', 'controller', 1));
  clock.advance(0.7 * day);
  expect(said).toEqual([]);
  clock.advance(0.2 * day);
  expect(said).toEqual(['own a certificate ends soon']);
  watching.close();
});

test('of peers those that are connected count, the certificate that ends first', async () => {
  const watching = watch(await issue('east', 'controller', 365));
  watching.dialled(der(await issue('hub', 'relay', 200)), 'hub:1');
  const [one, two] = [
    watching.connected(der(await issue('west', 'controller', 100))),
    watching.connected(der(await issue('west', 'controller', 50))),
  ];
  expect(await days()).toEqual({ own: 365, 'hub/relay': 200, 'west/controller': 50 });
  two();
  expect(await days()).toMatchObject({ 'west/controller': 100 });
  one();
  expect(await days()).toEqual({ own: 365, 'hub/relay': 200 });
  const old = der(await issue('north', 'controller', 100));
  clock.advance(99 * day);
  watching.connected(old);
  watching.connected(old);
  expect(said).toEqual(['north/controller a certificate ends soon']);
  watching.close();
});

test('a server that takes the place of another at its address is the one that counts', async () => {
  const watching = watch(await issue('east', 'controller', 365));
  watching.dialled(der(await issue('hub', 'relay', 20)), 'one:1');
  watching.dialled(der(await issue('hub', 'relay', 200)), 'two:1');
  expect(await days()).toEqual({ own: 365, 'hub/relay': 20 });
  clock.advance(18 * day);
  expect(said).toEqual(['hub/relay a certificate ends soon']);
  watching.dialled(der(await issue('root', 'relay', 300)), 'one:1');
  expect(await days()).toMatchObject({ own: 347, 'hub/relay': 182, 'root/relay': expect.any(Number) });
  watching.dialled(der(await issue('root', 'relay', 300)), 'two:1');
  expect(Object.keys(await days()).sort()).toEqual(['own', 'root/relay']);
  watching.close();
});
