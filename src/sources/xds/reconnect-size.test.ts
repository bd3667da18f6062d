import { ChannelCredentials } from '@grpc/grpc-js';
import { afterEach, expect, test } from 'vitest';
import { serveOnLoopback } from '../../outputs/xds/loopback-bed.ts';
import { ResourceLog } from '../../outputs/xds/resource-log.ts';
import { systemClock } from '../../runtime/clock.ts';
import { silentLog } from '../../runtime/log.ts';
import { Metrics } from '../../runtime/metrics.ts';
import { typeUrls } from '../../wire/proto/type-urls.ts';
import { AdsClient } from './ads-client.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const count = 60_000;
const names = Array.from(
  { length: count },
  (_, i) =>
    `xdstp://production/envoy.config.cluster.v3.Cluster/v1/team-${i % 100}/service-${i}/tcp-8080/cluster-7`,
);

function logOf(names: readonly string[]): ResourceLog {
  const log = new ResourceLog();
  for (const name of names) log.set(typeUrls.cluster, { name, body: Buffer.from(name) });
  log.open();
  return log;
}

test('a client that holds 60,000 names comes back with them, and is told what has gone and nothing that it has', async () => {
  const log = logOf(names);
  const metrics = new Metrics();
  const first = await serveOnLoopback({ role: 'agent', log, metrics });
  closers.push(() => first.close());
  const held = new Set<string>();
  let told = 0;
  const client = new AdsClient(
    {
      addresses: [`127.0.0.1:${first.port}`],
      credentials: ChannelCredentials.createInsecure(),
      clock: systemClock,
      random: Math.random,
      log: silentLog,
      node: () => new Uint8Array(),
      apply: ({ upserts, removals }) => {
        for (const { name } of upserts) held.add(name);
        for (const name of removals) held.delete(name);
        told += upserts.length;
        return [];
      },
    },
    (stream) => stream.subscribe(typeUrls.cluster, ['*']),
  );
  closers.push(() => client.close());
  await expect.poll(() => held.size, { timeout: 60_000 }).toBe(count);
  await first.close();
  await expect.poll(() => client.connected, { timeout: 60_000 }).toBe(false);

  const second = await serveOnLoopback({
    role: 'agent',
    log: logOf(names.slice(1)),
    metrics,
    port: first.port,
  });
  closers.push(() => second.close());
  await expect.poll(() => held.size, { timeout: 60_000 }).toBe(count - 1);
  expect(held.has(names[0] as string)).toBe(false);
  expect(told).toBe(count);
}, 120_000);
