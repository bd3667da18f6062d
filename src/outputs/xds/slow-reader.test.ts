import { ChannelCredentials, Client } from '@grpc/grpc-js';
import { afterEach, expect, test } from 'vitest';
import { Metrics } from '../../runtime/metrics.ts';
import {
  acknowledgement,
  type DeltaRequest,
  decodeDeltaResponse,
  encodeDeltaRequest,
} from '../../wire/proto/discovery.ts';
import { methods } from '../../wire/proto/methods.ts';
import { typeUrls } from '../../wire/proto/type-urls.ts';
import { serveOnLoopback } from './loopback-bed.ts';
import { contentVersion, ResourceLog } from './resource-log.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const bytes = (message: Buffer): Buffer => message;
const request: DeltaRequest = {
  typeUrl: typeUrls.cluster,
  subscribe: ['*'],
  unsubscribe: [],
  initialVersions: new Map(),
  nonce: '',
};

function read(port: number) {
  const client = new Client(`127.0.0.1:${port}`, ChannelCredentials.createInsecure(), {
    'grpc.use_local_subchannel_pool': 1,
  });
  const call = client.makeBidiStreamRequest<Buffer, Buffer>(methods.deltaAds, bytes, bytes);
  closers.push(() => {
    call.cancel();
    client.close();
  });
  let version = '';
  call.on('error', () => {});
  call.on('data', (message: Buffer) => {
    const response = decodeDeltaResponse(message);
    version = response.resources.at(-1)?.version ?? version;
    call.write(encodeDeltaRequest(acknowledgement(typeUrls.cluster, response.nonce, [])));
  });
  call.write(encodeDeltaRequest(request));
  return { call, version: () => version };
}

test('P9 a reader that stands still holds nobody up, costs little and gets the newest when it goes on', async () => {
  const log = new ResourceLog();
  const metrics = new Metrics();
  const server = await serveOnLoopback({ role: 'agent', log, metrics });
  closers.push(() => server.close());
  log.set(typeUrls.cluster, { name: 'a', body: Buffer.from('first') });
  log.open();
  const eventually = { timeout: 15_000, interval: 10 };
  const [slow, quick] = [read(server.port), read(server.port)];
  const first = contentVersion(Buffer.from('first'));
  await expect.poll(() => [slow.version(), quick.version()], eventually).toEqual([first, first]);
  slow.call.pause();

  let last = '';
  for (let i = 0; i < 100; i += 1) {
    const body = Buffer.alloc(512 * 1024, i);
    last = contentVersion(body);
    log.set(typeUrls.cluster, { name: 'a', body });
    log.flush();
    await expect.poll(quick.version, eventually).toBe(last);
  }
  const sent = /xds_push_bytes_total\{role="agent"\} (\d+)/.exec(await metrics.registry.metrics());
  const toSlow = Number(sent?.[1]) - 50 * 1024 * 1024;
  expect(toSlow).toBeLessThan(12 * 1024 * 1024);
  expect(slow.version()).not.toBe(last);
  slow.call.resume();
  await expect.poll(slow.version, eventually).toBe(last);
});
