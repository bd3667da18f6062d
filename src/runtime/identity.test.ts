import 'reflect-metadata';
import { X509Certificate } from 'node:crypto';
import { Extension, SubjectAlternativeNameExtension, X509CertificateGenerator } from '@peculiar/x509';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { issue, makeCa } from './certificates.ts';
import { writeDerText } from './der.ts';
import { AppError } from './errors.ts';
import { identityExtensionOid, type PeerIdentity, parseCaSet, parsePeerIdentity } from './identity.ts';

const now = Date.UTC(2030, 0, 1);
const west: PeerIdentity = {
  set: 'demo',
  cluster: 'west',
  role: 'agent',
  node: 'w1.local',
  labels: { env: 'prod', 'example.com/tier': 'gold' },
  namespaces: ['shop', 'team-*'],
  region: 'us',
  network: 'n1',
};
const der = (pem: string): Buffer => new X509Certificate(pem).raw;

async function selfSigned(urls: readonly string[], extension?: Uint8Array): Promise<Buffer> {
  const keys = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, [
    'sign',
    'verify',
  ]);
  const names = urls.map((value) => ({ type: 'url' as const, value }));
  const certificate = await X509CertificateGenerator.createSelfSigned({
    keys,
    signingAlgorithm: { name: 'ECDSA', hash: 'SHA-256' },
    extensions: [
      new SubjectAlternativeNameExtension([...names, { type: 'dns', value: 'a.example' }]),
      ...(extension ? [new Extension(identityExtensionOid, false, extension.slice().buffer)] : []),
    ],
  });
  return Buffer.from(certificate.rawData);
}

const refused = (raw: Uint8Array): AppError => {
  try {
    parsePeerIdentity(raw);
  } catch (error) {
    if (error instanceof AppError && error.code === 'E_PEER_IDENTITY') return error;
    throw error;
  }
  throw new Error('the identity was accepted');
};

test('a certificate gives back the identity it was issued for', async () => {
  const ca = await makeCa({ set: 'demo', now });
  expect(parseCaSet(der(ca.certificate))).toBe('demo');
  const made = await issue({
    ...west,
    ca,
    now,
    ttl: 3_600_000,
    dns: ['relay.example'],
    ips: ['127.0.0.1', '::1'],
  });
  expect(parsePeerIdentity(der(made.certificate))).toEqual(west);
  const certificate = new X509Certificate(made.certificate);
  expect(certificate.verify(new X509Certificate(ca.certificate).publicKey)).toBe(true);
  expect(certificate.ca).toBe(false);
  expect(Date.parse(certificate.validTo)).toBe(now + 3_600_000);
  const { node: _, ...controller } = { ...west, role: 'controller' as const };
  const plain = await issue({ ...controller, labels: {}, namespaces: [], ca, now, ttl: 1_000 });
  expect(parsePeerIdentity(der(plain.certificate))).toEqual({ ...controller, labels: {}, namespaces: [] });
});

test('an identity that cannot be is not issued', async () => {
  const ca = await makeCa({ set: 'demo', now });
  const wrong: Partial<PeerIdentity>[] = [
    { set: 'other' },
    { cluster: 'west,URI:spiffe://demo/cluster/east/controller' },
    { cluster: 'West' },
    { cluster: '' },
    { node: 'a/b' },
    { namespaces: ['a*b'] },
    { namespaces: [''] },
    { labels: { 'a b': 'c' } },
    { region: 'a\nb' },
  ];
  for (const fields of wrong) {
    await expect(issue({ ...west, ...fields, ca, now, ttl: 1 })).rejects.toMatchObject({ code: 'E_USAGE' });
  }
});

test('a comma or a second URI in the names cannot pose as another identity', async () => {
  const comma = await selfSigned(['spiffe://demo/cluster/a,URI:spiffe://demo/cluster/east/controller']);
  expect(refused(comma).message).toContain('expected spiffe://<set>/cluster/<id>/<role>[/<node>]');
  const label = await selfSigned(['spiffe://demo/cluster/a,b/controller']);
  expect(refused(label).message).toContain('expected a DNS label as cluster');
  const quoted = await selfSigned(['spiffe://demo/cluster/"a", URI:x/controller']);
  expect(refused(quoted).message).toContain('expected');
  const two = await selfSigned(['spiffe://demo/cluster/a/controller', 'spiffe://demo/cluster/b/controller']);
  expect(refused(two).message).toContain('expected one URI');
  expect(refused(await selfSigned([])).message).toContain('expected one URI');
  expect(refused(await selfSigned(['https://demo/cluster/a/controller'])).message).toContain('spiffe://');
  expect(refused(await selfSigned(['spiffe://demo/cluster/a/root'])).message).toContain('as role');
});

test('the identity extension is bounded and checked', async () => {
  const id = ['spiffe://demo/cluster/a/controller'];
  const text = (value: unknown) => selfSigned(id, writeDerText(JSON.stringify(value)));
  expect(parsePeerIdentity(await text({ namespaces: ['shop'], later: { unknown: 1 } })).namespaces).toEqual([
    'shop',
  ]);
  expect(parsePeerIdentity(await text(null)).namespaces).toEqual([]);
  const wrong: unknown[] = [
    { namespaces: 'shop' },
    { namespaces: [1] },
    { labels: { a: { b: 1 } } },
    { labels: ['x'] },
    { region: 1 },
    { namespaces: Array.from({ length: 300 }, (_, i) => `n${i}`) },
    { labels: Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`l${i}`, 'x'])) },
    { note: 'x'.repeat(9_000) },
  ];
  for (const value of wrong) refused(await text(value));
  refused(await selfSigned(id, Uint8Array.of(0x0c, 0x05, 0x7b)));
  refused(await selfSigned(id, Uint8Array.of(0x04, 0x02, 0x7b, 0x7d)));
});

test('any bytes give an identity or a refusal', async () => {
  const ca = await makeCa({ set: 'demo', now });
  const good = der((await issue({ ...west, ca, now, ttl: 1_000 })).certificate);
  const attempt = (raw: Uint8Array): void => {
    try {
      parsePeerIdentity(raw);
    } catch (error) {
      expect(error).toMatchObject({ code: 'E_PEER_IDENTITY' });
    }
  };
  fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), attempt));
  fc.assert(
    fc.property(fc.nat(good.length - 1), fc.nat(255), fc.nat(good.length), (at, byte, cut) => {
      const changed = Uint8Array.from(good);
      changed[at] = byte;
      attempt(changed);
      attempt(changed.subarray(0, cut));
    }),
  );
});
