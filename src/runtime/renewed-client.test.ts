import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Metadata, Server } from '@grpc/grpc-js';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Admission } from './admission.ts';
import { type BytesCall, bytesMethod, serveBytesCall } from './bytes-call.ts';
import { CaFolder } from './ca-folder.ts';
import { CertificateWatch } from './certificate-watch.ts';
import { ManualClock, systemClock } from './clock.ts';
import { DuplexLoop } from './duplex-loop.ts';
import type { PeerRole } from './identity.ts';
import { silentLog } from './log.ts';
import { Metrics } from './metrics.ts';
import { readPeerCertificate } from './peer-certificate.ts';
import { RenewedClient } from './renewed-client.ts';
import { certificateOfCall, DialCredentials, serverCredentials } from './tls.ts';
import type { TlsFiles } from './tls-files.ts';

const path = '/test.Test/Say';
const soon = { timeout: 15_000, interval: 10 };
let dir: string;
let ca: CaFolder;
let closers: (() => void)[] = [];

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'causeway-renewed-'));
  ({ ca } = await CaFolder.init(join(dir, 'ca'), 'demo', Date.now()));
});
afterEach(() => {
  for (const close of closers.reverse()) close();
  closers = [];
  rmSync(dir, { recursive: true });
});

/** Replaces what is there under this name. */
const issue = (cluster: string, role: PeerRole, ttl = 3_600_000): Promise<TlsFiles> =>
  ca.issueInto(join(dir, cluster), {
    cluster,
    role,
    labels: {},
    namespaces: ['*'],
    region: '',
    network: '',
    now: Date.now(),
    ttl,
  });
const serialOf = (files: TlsFiles): string =>
  readPeerCertificate(new X509Certificate(readFileSync(files.cert)).raw).serial;

/** A server that counts who calls; each call gets one message. */
async function serve(files: TlsFiles, own = new ManualClock(Date.now())) {
  const clock = new ManualClock(Date.now());
  const options = { clock, log: silentLog, metrics: new Metrics() };
  const certificates = new CertificateWatch({ ...options, own: files.cert });
  const admission = new Admission({ ...options, certificates });
  const server = new Server();
  const serials: string[] = [];
  const open = new Set<string>();
  server.addService(
    { Say: bytesMethod(path) },
    {
      Say: (call: BytesCall) =>
        serveBytesCall(call, {
          admission,
          open: () => {
            const serial = readPeerCertificate(certificateOfCall(call) as Uint8Array).serial;
            serials.push(serial);
            open.add(serial);
            call.sendMetadata(new Metadata());
            call.write(Buffer.from('hello'));
            return { receive: () => {}, closed: () => void open.delete(serial) };
          },
          failed: () => {},
        }),
    },
  );
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', serverCredentials(files, own), (error, at) =>
      error ? reject(error) : resolve(at),
    ),
  );
  closers.push(
    () => server.forceShutdown(),
    () => admission.close(),
  );
  return { target: `127.0.0.1:${port}`, serials, open, admission, clock, own };
}

/** Keeps a call open, and tells what became of it. */
function dial(target: string, files: TlsFiles, admission?: Admission) {
  const clock = new ManualClock(Date.now());
  const said: string[] = [];
  const dialer = new RenewedClient({
    target,
    credentials: new DialCredentials(
      files,
      { set: 'demo', roles: ['relay'] },
      { clock, dialled: (raw, at) => admission?.dialled(raw, at) },
    ),
    ...(admission ? { admission } : {}),
    options: { 'grpc.use_local_subchannel_pool': 1, 'grpc.initial_reconnect_backoff_ms': 100 },
    clock,
    random: () => 0,
  });
  const loop = new DuplexLoop({
    dialer,
    target,
    path,
    clock: systemClock,
    random: () => 0,
    open: () => ({
      receive: (message) => void said.push(message.toString()),
      drained: () => {},
      replaced: () => void said.push('replaced'),
      closed: (error) => void said.push(error.message),
    }),
  });
  closers.push(
    () => dialer.close(),
    () => loop.close(),
  );
  return { said, clock };
}

test('X5 our certificate is replaced: the call moves to a connection with the new one, five times', async () => {
  const server = await serve(await issue('hub', 'relay'));
  const files = await issue('west', 'controller');
  const { said, clock } = dial(server.target, files);
  const serials = [serialOf(files)];
  await expect.poll(() => server.serials, soon).toEqual(serials);
  for (let i = 0; i < 5; i++) {
    await issue('west', 'controller');
    serials.push(serialOf(files));
    clock.advance(2_000);
    await expect.poll(() => server.serials, soon).toEqual(serials);
    await expect.poll(() => [...server.open], soon).toEqual(serials.slice(-1));
  }
  await expect
    .poll(() => said, soon)
    .toEqual(['hello', ...Array.from({ length: 5 }, () => ['replaced', 'hello']).flat()]);
  writeFileSync(files.cert, 'half a fi');
  clock.advance(4_000);
  expect(said).toHaveLength(11);
});

test('a revoked certificate is replaced, and the call is taken again', async () => {
  const server = await serve(await issue('hub', 'relay'));
  const files = await issue('west', 'controller');
  const { said, clock } = dial(server.target, files);
  await expect.poll(() => server.open.size, soon).toBe(1);
  server.admission.setRevoked([{ serial: serialOf(files) }]);
  expect(server.open.size).toBe(0);
  const message = `${server.target}: certificate ${serialOf(files)} of west/controller is revoked`;
  await expect.poll(() => said.filter((text) => text === message).length, soon).toBeGreaterThan(1);
  await issue('west', 'controller');
  clock.advance(2_000);
  await expect.poll(() => [...server.open], soon).toEqual([serialOf(files)]);
});

test('a server whose certificate is revoked is left at once, and taken again with another', async () => {
  const hub = await issue('hub', 'relay');
  const server = await serve(hub);
  const options = { clock: new ManualClock(Date.now()), log: silentLog, metrics: new Metrics() };
  const west = await issue('west', 'controller');
  const certificates = new CertificateWatch({ ...options, own: west.cert });
  const admission = new Admission({ ...options, certificates });
  const { said } = dial(server.target, west, admission);
  await expect.poll(() => said, soon).toEqual(['hello']);
  const serial = serialOf(hub);
  admission.setRevoked([{ serial }]);
  await expect.poll(() => server.open.size, soon).toBe(0);
  await expect.poll(() => said.at(-1), soon).toContain(`certificate ${serial} of hub/relay is revoked`);
  expect(said.filter((text) => text === 'hello')).toHaveLength(1);
  await issue('hub', 'relay');
  server.own.advance(2_000);
  await expect.poll(() => said.at(-1), soon).toBe('hello');
  admission.close();
});

test('X5 a call ends with the certificate of the peer, and not before when that is replaced in time', async () => {
  const server = await serve(await issue('hub', 'relay'));
  const [west, east] = [await issue('west', 'controller'), await issue('east', 'controller')];
  const [stays, ends] = [dial(server.target, west), dial(server.target, east)];
  await expect.poll(() => server.open.size, soon).toBe(2);
  await issue('west', 'controller', 3 * 3_600_000);
  stays.clock.advance(2_000);
  await expect.poll(() => [...server.open], soon).toEqual([serialOf(east), serialOf(west)]);
  server.clock.advance(3_700_000);
  expect([...server.open]).toEqual([serialOf(west)]);
  await expect.poll(() => ends.said.at(-1), soon).toMatch(/certificate .* of east\/controller ended at/);
  expect(stays.said).toEqual(['hello', 'replaced', 'hello']);
});

test("X5 the server's certificate is about to end: calls move to a connection with its next one", async () => {
  const hub = await issue('hub', 'relay', 60_000);
  const server = await serve(hub);
  const { said, clock } = dial(server.target, await issue('west', 'controller'));
  await expect.poll(() => said, soon).toEqual(['hello']);
  // A minute and the five before it was made: the last tenth begins after 24 s.
  clock.advance(22_000);
  await issue('hub', 'relay');
  server.own.advance(2_000);
  expect(said).toEqual(['hello']);
  clock.advance(4_000);
  await expect.poll(() => said, soon).toEqual(['hello', 'replaced', 'hello']);
  clock.advance(600_000);
  expect(said).toHaveLength(3);
});

test('X5 a server whose certificate has ended is left, also when it has no other', async () => {
  const server = await serve(await issue('hub', 'relay', 60_000));
  const { said, clock } = dial(server.target, await issue('west', 'controller'));
  await expect.poll(() => said, soon).toEqual(['hello']);
  // Nobody accepts a new connection to it from here on.
  writeFileSync(
    join(dir, 'west', 'ca.crt'),
    (await CaFolder.init(join(dir, 'other'), 'demo', Date.now())).ca.certificate,
  );
  clock.advance(50_000);
  clock.advance(15_000);
  await expect.poll(() => said[1], soon).toBe('replaced');
  await expect.poll(() => said.at(-1), soon).toMatch(/unable to verify|self-signed|certificate/);
  expect(said.filter((text) => text === 'hello')).toHaveLength(1);
});
