import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PeerCertificate } from 'node:tls';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Admission } from './admission.ts';
import { CaFolder } from './ca-folder.ts';
import { CertificateWatch } from './certificate-watch.ts';
import { ManualClock } from './clock.ts';
import type { AppError } from './errors.ts';
import { silentLog } from './log.ts';
import { Metrics } from './metrics.ts';
import { readPeerCertificate } from './peer-certificate.ts';

const start = Date.parse('2026-01-01T00:00:00Z');
const hour = 3_600_000;
let dir: string;
let ca: CaFolder;
let clock: ManualClock;
let metrics: Metrics;
let admission: Admission;
let issued = 0;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'causeway-admission-'));
  ({ ca } = await CaFolder.init(join(dir, 'ca'), 'demo', start));
  clock = new ManualClock(start);
  metrics = new Metrics();
  const options = { clock, log: silentLog, metrics };
  const certificates = new CertificateWatch({ ...options, own: (await issue('hub', 24)).file });
  admission = new Admission({ ...options, certificates });
});
afterEach(() => {
  admission.close();
  rmSync(dir, { recursive: true });
});

async function issue(cluster: string, hours: number) {
  const identity = {
    cluster,
    role: 'controller',
    labels: {},
    namespaces: ['*'],
    region: '',
    network: '',
  } as const;
  const { cert } = await ca.issueInto(join(dir, `${issued++}`), {
    ...identity,
    now: clock.now(),
    ttl: hours * hour,
  });
  const { raw } = new X509Certificate(readFileSync(cert));
  return { file: cert, raw, serial: readPeerCertificate(raw).serial };
}

/** A call over a connection that proved `raw`; `ended` is why it was ended. */
function call(raw: Buffer) {
  const made: { ended?: AppError; leave: () => void } = { leave: () => {} };
  made.leave = admission.enter(
    { getAuthContext: () => ({ sslPeerCertificate: { raw } as PeerCertificate }) },
    (e) => {
      made.ended = e;
    },
  );
  return made;
}

const refused = async (reason: string): Promise<number | undefined> => {
  const metric = await metrics.registry.getSingleMetric('causeway_certificates_refused_total')?.get();
  return metric?.values.find((v) => v.labels.reason === reason)?.value;
};

test('what is revoked is ended at once, by certificate; another one of the cluster is welcome', async () => {
  const [old, next, other] = [await issue('west', 1), await issue('west', 1), await issue('north', 1)];
  const calls = [call(old.raw), call(old.raw), call(next.raw), call(other.raw)];
  admission.setRevoked([{ serial: old.serial }]);
  expect(calls.map(({ ended }) => ended?.message)).toEqual([
    `certificate ${old.serial} of west/controller is revoked`,
    `certificate ${old.serial} of west/controller is revoked`,
    undefined,
    undefined,
  ]);
  expect(() => call(old.raw)).toThrow(/is revoked/);
  call(next.raw);
  expect(await refused('revoked')).toBe(3);
  admission.setRevoked([{ cluster: 'west', issuedBefore: start }]);
  expect(calls[2]?.ended?.message).toBe(
    `certificate ${next.serial} of west/controller is revoked: it is valid from 2025-12-31T23:55:00.000Z, before 2026-01-01T00:00:00.000Z`,
  );
  expect(calls[3]?.ended).toBeUndefined();
  admission.setRevoked([]);
  call(old.raw);
});

test('a call does not outlive the certificate of its connection, and no new one is made over it', async () => {
  const [short, long] = [await issue('west', 2), await issue('west', 30 * 24)];
  const [first, second, left] = [call(short.raw), call(long.raw), call(short.raw)];
  left.leave();
  clock.advance(2 * hour - 1000);
  expect(first.ended).toBeUndefined();
  clock.advance(2000);
  expect(first.ended?.message).toMatch(/ended at 2026-01-01T02:00:00/);
  expect(left.ended).toBeUndefined();
  expect(() => call(short.raw)).toThrow(/expected a new connection with one that is in force/);
  expect(second.ended).toBeUndefined();
  clock.advance(30 * 24 * hour);
  expect(second.ended?.message).toMatch(/ended at 2026-01-31/);
  expect(await refused('ended')).toBe(3);
});

test('a server that we dial is refused when it is revoked', async () => {
  const hub = await issue('hub', 1);
  admission.dialled(hub.raw, 'hub:1');
  admission.setRevoked([{ cluster: 'hub' }]);
  expect(() => admission.dialled(hub.raw, 'hub:1')).toThrow(
    `certificate ${hub.serial} of hub/controller is revoked`,
  );
});
