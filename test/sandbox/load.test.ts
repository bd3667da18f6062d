import { afterAll, beforeAll, expect, test } from 'vitest';
import { startLoad } from '../../src/cli/playground/load-process.ts';
import { Network } from '../../src/cli/playground/network.ts';
import type { Pod } from '../../src/cli/playground/pod.ts';
import type { Tally } from '../../src/cli/playground/tally.ts';

let network: Network;
let pod: Pod;

beforeAll(async () => {
  network = await Network.create({ root: '/run/causeway/load-test' });
  const east = await network.addCluster('east');
  await east.addNode('e1');
  pod = await east.addPod({
    namespace: 'shop',
    name: 'store-0',
    node: 'e1',
    ports: [
      { port: 8080, protocol: 'TCP' },
      { port: 5353, protocol: 'UDP' },
    ],
  });
});

afterAll(() => network.close());

test.each([
  { protocol: 'TCP', port: 8080 },
  { protocol: 'UDP', port: 5353 },
  { protocol: 'UDP', port: 5353, oneSocket: true, concurrency: 1 },
] as const)('$protocol: every request is answered, counted and timed', async (plan) => {
  for (const host of [pod.address.v4, pod.address.v6]) {
    const result = await startLoad(network.client, { ...plan, host, requests: 200 }).done;
    expect(result).toMatchObject({ requests: 200, failed: 0, answers: { 'east/store-0': 200 }, errors: {} });
    expect(result.p50).toBeGreaterThan(0);
    expect(result.p99).toBeGreaterThanOrEqual(result.p50 as number);
  }
});

test('a port where nobody listens is counted as refused, in both protocols', async () => {
  // Few: the kernel answers a burst of 6 datagrams with "port unreachable" and then one per second.
  for (const protocol of ['TCP', 'UDP'] as const) {
    const plan = { host: pod.ip, port: 9999, protocol, requests: 4 } as const;
    const result = await startLoad(network.client, plan).done;
    expect(result).toMatchObject({ requests: 4, failed: 4, answers: {}, errors: { ECONNREFUSED: 4 } });
  }
});

test('a name that nobody resolves is a failure of each request', async () => {
  const plan = { host: 'store.example', port: 80, protocol: 'TCP', requests: 3 } as const;
  const result = await startLoad(network.client, plan).done;
  expect(result).toMatchObject({ requests: 3, failed: 3 });
  expect(Object.keys(result.errors).join()).toMatch(/^dns /);
});

test('it runs on until it is stopped, and what it said between adds up to the total', async () => {
  const deltas: Tally[] = [];
  let enough = (): void => {};
  const three = new Promise<void>((resolve) => {
    enough = resolve;
  });
  const plan = { host: pod.ip, port: 8080, protocol: 'TCP', rate: 200, everyMs: 50 } as const;
  const load = startLoad(network.client, plan, (delta) => {
    deltas.push(delta);
    if (deltas.length === 3) enough();
  });
  await three;
  const total = await load.stop();
  expect(total.failed).toBe(0);
  expect(deltas.reduce((n, d) => n + d.result.requests, 0)).toBe(total.requests);
});
