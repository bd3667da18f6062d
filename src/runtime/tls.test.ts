import 'reflect-metadata';
import { createPrivateKey } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  ChannelCredentials,
  Client,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  status,
} from '@grpc/grpc-js';
import {
  PemConverter,
  SubjectAlternativeNameExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type IssueOptions, issue, type KeyPair, makeCa } from './certificates.ts';
import { type Clock, ManualClock } from './clock.ts';
import { messageOf } from './errors.ts';
import type { ExpectedPeer } from './identity.ts';
import { peerError } from './peer-error.ts';
import { DialCredentials, identifyCall, serverCredentials } from './tls.ts';
import { requireOwnIdentity, type TlsFiles } from './tls-files.ts';

const hour = 3_600_000;
let ca: KeyPair;
let otherCa: KeyPair;
let otherSet: KeyPair;
let dir: string;
let closers: (() => void)[] = [];

beforeAll(async () => {
  ca = await makeCa({ set: 'demo', now: Date.now() });
  otherCa = await makeCa({ set: 'demo', now: Date.now() });
  otherSet = await makeCa({ set: 'prod', now: Date.now() });
});
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'causeway-tls-'));
});
afterEach(() => {
  for (const close of closers) close();
  closers = [];
  rmSync(dir, { recursive: true });
});

/** `trust`: the CA whose peers the holder accepts; its own signer by default. */
async function files(name: string, identity: Partial<IssueOptions>, trust?: string): Promise<TlsFiles> {
  const made = await issue({
    set: 'demo',
    cluster: 'hub',
    role: 'relay',
    labels: {},
    namespaces: [],
    region: '',
    network: '',
    ca,
    now: Date.now(),
    ttl: hour,
    ...identity,
  });
  const paths = {
    cert: join(dir, `${name}.crt`),
    key: join(dir, `${name}.key`),
    ca: join(dir, `${name}.ca`),
  };
  writeFileSync(paths.cert, made.certificate);
  writeFileSync(paths.key, made.key);
  writeFileSync(paths.ca, trust ?? (identity.ca ?? ca).certificate);
  return paths;
}

const path = '/test.Test/WhoAmI';
const bytes = (b: Buffer): Buffer => b;

const plainServer = (tls: TlsFiles): ServerCredentials =>
  ServerCredentials.createSsl(
    readFileSync(tls.ca),
    [{ cert_chain: readFileSync(tls.cert), private_key: readFileSync(tls.key) }],
    true,
  );
const plainClient = (tls: TlsFiles): ChannelCredentials =>
  ChannelCredentials.createSsl(readFileSync(tls.ca), readFileSync(tls.key), readFileSync(tls.cert), {
    checkServerIdentity: () => undefined,
  });

async function serve(
  tls: TlsFiles,
  expectClient: ExpectedPeer,
  clock?: Clock,
  credentials?: ServerCredentials,
): Promise<number> {
  const server = new Server();
  const definition = {
    path,
    requestStream: false,
    responseStream: false,
    requestSerialize: bytes,
    requestDeserialize: bytes,
    responseSerialize: bytes,
    responseDeserialize: bytes,
  } as const;
  server.addService(
    { whoAmI: definition },
    {
      whoAmI: (call: ServerUnaryCall<Buffer, Buffer>, done: (e: object | null, r?: Buffer) => void) => {
        try {
          done(null, Buffer.from(JSON.stringify(identifyCall(call, expectClient))));
        } catch (error) {
          done({ code: status.UNAUTHENTICATED, details: `E_PEER_IDENTITY: ${messageOf(error)}` });
        }
      },
    },
  );
  closers.push(() => server.forceShutdown());
  return new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', credentials ?? serverCredentials(tls, clock), (error, port) =>
      error ? reject(error) : resolve(port),
    );
  });
}

/** The identity that the server saw, or the error. */
async function call(
  port: number,
  tls: TlsFiles,
  expectServer: ExpectedPeer,
  credentials: ChannelCredentials = new DialCredentials(tls, expectServer).connection(`127.0.0.1:${port}`),
): Promise<unknown> {
  const client = new Client(`127.0.0.1:${port}`, credentials);
  closers.push(() => client.close());
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(path, bytes, bytes, Buffer.alloc(0), (error, answer) => {
      if (error) reject(peerError('relay', error.details));
      else resolve(JSON.parse(String(answer)));
    });
  });
}

const relay: ExpectedPeer = { roles: ['relay'] };
const controllers: ExpectedPeer = { set: 'demo', roles: ['controller'] };
const west = { cluster: 'west', role: 'controller' } as const;

test('both ends see who the other is', async () => {
  const port = await serve(await files('hub', {}), controllers);
  const bound = { labels: { env: 'prod' }, namespaces: ['shop', 'team-*'], region: 'us', network: 'n1' };
  const seen = await call(port, await files('west', { ...west, ...bound }), { ...relay, cluster: 'hub' });
  expect(seen).toEqual({ set: 'demo', ...west, ...bound });
});

test('a server that is not the expected peer is refused by the one that dials', async () => {
  const client = await files('west', west);
  const cases: [string, Partial<IssueOptions>, ExpectedPeer, string][] = [
    [
      'role',
      { role: 'controller' },
      relay,
      'expected a peer with role relay, found spiffe://demo/cluster/hub/controller',
    ],
    [
      'cluster',
      {},
      { ...relay, cluster: 'eu' },
      'expected a peer of cluster eu, found spiffe://demo/cluster/hub/relay',
    ],
    ['expired', { now: Date.now() - 2 * hour }, relay, 'expired'],
    ['other-ca', { ca: otherCa }, relay, 'certificate'],
  ];
  for (const [name, identity, expected, message] of cases) {
    const port = await serve(await files(name, identity, ca.certificate), controllers);
    await expect(call(port, client, expected), name).rejects.toMatchObject({
      code: 'E_PEER_IDENTITY',
      message: expect.stringContaining(message),
    });
  }
});

test('a server of another set is refused even where its CA is trusted', async () => {
  const both = ca.certificate + otherSet.certificate;
  const port = await serve(await files('hub', { set: 'prod', ca: otherSet }, both), controllers);
  await expect(call(port, await files('west', west, both), relay)).rejects.toMatchObject({
    code: 'E_PEER_IDENTITY',
    message: expect.stringContaining('expected a peer of set demo, found spiffe://prod/cluster/hub/relay'),
  });
});

test('a client that is not the expected peer is refused by the server', async () => {
  const both = ca.certificate + otherSet.certificate;
  const port = await serve(await files('hub', {}, both), controllers);
  const cases: [string, Partial<IssueOptions>, string][] = [
    ['agent', { ...west, role: 'agent', node: 'w1' }, 'expected a peer with role controller'],
    ['set', { ...west, set: 'prod', ca: otherSet }, 'expected a peer of set demo'],
    ['expired', { ...west, now: Date.now() - 2 * hour }, 'expected a client certificate of our CA'],
    ['other-ca', { ...west, ca: otherCa }, 'expected a client certificate of our CA'],
  ];
  for (const [name, identity, message] of cases) {
    const refused = call(port, await files(name, identity, both), { ...relay, set: 'demo' });
    await expect(refused, name).rejects.toMatchObject({
      code: 'E_PEER_IDENTITY',
      message: expect.stringContaining(message),
    });
  }
});

test('a comma in a certificate’s name poses as nobody, on either end', async () => {
  const signer = new X509Certificate(ca.certificate);
  const keyDer = createPrivateKey(ca.key).export({ type: 'pkcs8', format: 'der' });
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const signingKey = await crypto.subtle.importKey('pkcs8', new Uint8Array(keyDer), algorithm, false, [
    'sign',
  ]);
  const odd = async (name: string, uri: string): Promise<TlsFiles> => {
    const paths = await files(name, {});
    const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
    const made = await X509CertificateGenerator.create({
      issuer: signer.subject,
      publicKey: keys.publicKey,
      signingKey,
      signingAlgorithm: algorithm,
      extensions: [new SubjectAlternativeNameExtension([{ type: 'url', value: uri }])],
    });
    writeFileSync(paths.cert, `${made.toString('pem')}\n`);
    const key = await crypto.subtle.exportKey('pkcs8', keys.privateKey);
    writeFileSync(paths.key, `${PemConverter.encode(key, 'PRIVATE KEY')}\n`);
    return paths;
  };
  const refused = { code: 'E_PEER_IDENTITY', message: expect.stringContaining('expected') };
  const uris = [
    'spiffe://demo/cluster/x,URI:spiffe://demo/cluster/hub/relay',
    'spiffe://demo/cluster/hub,x/relay',
    'spiffe://demo/cluster/x", URI:"spiffe://demo/cluster/hub/relay',
  ];
  for (const [i, uri] of uris.entries()) {
    const strange = await odd(`odd${i}`, uri);
    const trusted = await files('west', west);
    // Our own side would not start with such a file: serve and dial with the bare library.
    const port = await serve(strange, controllers, undefined, plainServer(strange));
    await expect(call(port, trusted, relay), uri).rejects.toMatchObject(refused);
    const hub = await serve(await files('hub', {}), { set: 'demo', roles: ['relay', 'controller'] });
    await expect(call(hub, strange, relay, plainClient(strange)), uri).rejects.toMatchObject(refused);
  }
});

test('replaced files are used for new connections, half replaced ones are not', async () => {
  const clock = new ManualClock();
  const hub = await files('hub', {});
  const port = await serve(hub, controllers, clock);
  const client = await files('west', west);
  await call(port, client, { ...relay, cluster: 'hub' });

  const next = await files('next', { cluster: 'hub2' });
  writeFileSync(hub.cert, readFileSync(next.cert));
  clock.advance(10_000);
  await call(port, client, { ...relay, cluster: 'hub' });
  writeFileSync(hub.key, readFileSync(next.key));
  clock.advance(10_000);
  await call(port, client, { ...relay, cluster: 'hub2' });
});

test('wrong files are named and their content is not shown', async () => {
  const hub = await files('hub', {});
  const west1 = await files('west', west);
  expect(() => serverCredentials({ ...hub, cert: join(dir, 'none.crt') })).toThrow(
    /none\.crt \(--tls-cert\)/,
  );
  expect(() => serverCredentials({ ...hub, key: west1.key })).toThrow(/is not the key of/);
  writeFileSync(hub.key, 'SECRET');
  expect(() => serverCredentials(hub)).toThrow(/^(?!.*SECRET).*cannot use/);
  expect(() => requireOwnIdentity(west1, { role: 'controller', cluster: 'east' })).toThrow(
    /expected cluster east in .*west\.crt, found spiffe:\/\/demo\/cluster\/west\/controller/,
  );
  expect(requireOwnIdentity(west1, { role: 'controller', cluster: 'west', set: 'demo' }).cluster).toBe(
    'west',
  );
});
