import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Server, type ServerUnaryCall, status } from '@grpc/grpc-js';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type IssueOptions, issue, type KeyPair, makeCa } from './certificates.ts';
import { type Clock, ManualClock } from './clock.ts';
import { messageOf } from './errors.ts';
import type { ExpectedPeer } from './identity.ts';
import {
  channelCredentials,
  identifyCall,
  peerError,
  requireOwnIdentity,
  serverCredentials,
  type TlsFiles,
} from './tls.ts';

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

async function serve(tls: TlsFiles, expectClient: ExpectedPeer, clock?: Clock): Promise<number> {
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
    server.bindAsync('127.0.0.1:0', serverCredentials(tls, clock), (error, port) =>
      error ? reject(error) : resolve(port),
    );
  });
}

/** The identity that the server saw, or the error. */
async function call(port: number, tls: TlsFiles, expectServer: ExpectedPeer): Promise<unknown> {
  const client = new Client(`127.0.0.1:${port}`, channelCredentials(tls, expectServer));
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
