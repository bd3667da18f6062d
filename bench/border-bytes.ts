import { once as event } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { relayAddress } from '../src/cli/playground/control-plane.ts';
import { podObject } from '../src/cli/playground/pod-objects.ts';
import { typeUrls } from '../src/wire/proto/type-urls.ts';
import { providerOf } from '../test/sandbox/case-objects.ts';
import { type Bench, type BenchContext, runAlone } from './bench.ts';
import { DeltaWatch } from './delta-watch.ts';
import type { Figure, Results } from './figure.ts';
import { once, spreadOf } from './spread.ts';
import { BenchWorld, eventually } from './world.ts';

const figures: readonly Figure[] = [
  {
    name: 'border-wire',
    what: 'bytes over the border for one endpoint of 1,000, both ways, TLS and acknowledgement included',
    unit: 'B',
    peer: 'the whole assignment',
    target: { atMost: 3000, because: "an EndpointSlice's event 3.5 kB" },
  },
  {
    name: 'border-message',
    what: 'the message over the border for one endpoint of 1,000',
    unit: 'B',
    target: { none: 'goal 0.3 kB' },
  },
];

const endpoints = 1000;

const pod = (i: number, ready: boolean): object =>
  podObject({
    namespace: 'shop',
    name: `store-${i}`,
    uid: `${i}`,
    node: 'w1',
    labels: { app: 'store' },
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    ips: [`10.20.${i >> 8}.${i & 255}`],
    hostIp: '172.18.2.1',
    ready,
    created: '2026-01-01T00:00:00Z',
  });

const json = (objects: readonly object[]): string => objects.map((o) => JSON.stringify(o)).join('\n---\n');

/** Passes connections on to an address, and counts what goes through. */
async function countingProxy(
  to: string,
): Promise<{ address: string; bytes: () => number; close: () => void }> {
  const [host = '', port = ''] = to.split(':');
  let bytes = 0;
  const server = createServer((near) => {
    const far = connect(Number(port), host);
    for (const [from, into] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        into.write(chunk);
      });
      from.on('error', () => {});
      from.on('close', () => into.destroy());
    }
  }).listen(0, '127.0.0.1');
  await event(server, 'listening');
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    bytes: () => bytes,
    close: () => void server.close(),
  };
}

async function run({ quick, say }: BenchContext): Promise<Results> {
  const changes = quick ? 4 : 24;
  const world = await BenchWorld.create({ clusters: { east: [], west: ['w1'] } });
  try {
    const west = world.cluster('west');
    west.objects.write('store.yaml', ...providerOf('store'));
    const all = Array.from({ length: endpoints }, (_, i) => i);
    const own = all.slice(0, changes);
    west.objects.writeText('pods.yaml', json(all.slice(changes).map((i) => pod(i, true))));
    for (const i of own) west.objects.writeText(`own/${i}.yaml`, json([pod(i, true)]));
    say(`a cluster with ${endpoints} endpoints, and a relay`);
    await Promise.all([world.startRelay(), world.startController('west')]);

    const proxy = await countingProxy(relayAddress);
    const glob = (type: string): string => `xdstp://demo/${type.split('/')[1]}/v1/shop/store/tcp-80/*`;
    const sizes = new Map<string, number>();
    let told = 0;
    let last = 0;
    const watch = new DeltaWatch({
      address: proxy.address,
      tls: await world.plane.certificate('east', 'controller', { network: 'n1' }),
      server: 'relay',
      node: 'east',
      names: {
        [typeUrls.cluster]: [glob(typeUrls.cluster)],
        [typeUrls.assignment]: [glob(typeUrls.assignment)],
      },
      onTold: ({ typeUrl, resources, size }) => {
        if (typeUrl !== typeUrls.assignment) return;
        for (const { name, body } of resources) sizes.set(name, body.length);
        told += 1;
        last = size;
      },
    });
    await eventually('the assignment has come', () => (sizes.size >= endpoints / 100 ? true : undefined));
    await wait(500);
    const whole = [...sizes.values()].reduce((a, b) => a + b, 0);
    say(`${changes} changes; ${sizes.size} parts, ${whole} bytes`);
    const wire: number[] = [];
    const messages: number[] = [];
    for (const i of own) {
      const [before, count] = [proxy.bytes(), told];
      west.objects.writeText(`own/${i}.yaml`, json([pod(i, false)]));
      await eventually('the change has come', () => (told > count ? true : undefined));
      await wait(200);
      wire.push(proxy.bytes() - before);
      messages.push(last);
    }
    watch.close();
    proxy.close();
    return {
      'border-wire': { ours: spreadOf(wire), peer: once(whole) },
      'border-message': { ours: spreadOf(messages) },
    };
  } finally {
    await world.close();
  }
}

export const borderBytes: Bench = { name: 'border-bytes', figures, sandbox: true, run };

if (import.meta.main) await runAlone(borderBytes);
