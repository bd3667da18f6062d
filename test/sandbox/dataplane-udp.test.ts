import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Load, startLoad } from '../../src/cli/playground/load-process.ts';
import type { Namespace } from '../../src/cli/playground/namespace.ts';
import type { Tally } from '../../src/cli/playground/tally.ts';
import type { Endpoint, Ir } from '../../src/model/ir.ts';
import { UdpReconciler } from '../../src/outputs/conntrack/reconciler.ts';
import { type ConntrackTool, conntrackTool } from '../../src/outputs/conntrack/tool.ts';
import type { NftOutput } from '../../src/outputs/nft/apply.ts';
import { backend, endpoint, frontend, ir, node, to, udp } from '../../src/outputs/nft/sample-ir.ts';
import { udpChanges } from '../../src/outputs/nft/udp-changes.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { silentLog } from '../../src/runtime/log.ts';
import { Metrics } from '../../src/runtime/metrics.ts';
import { NodeNet } from './node-net.ts';

const vip = { v4: '10.96.0.10', v6: 'fd00:96:1::10' };
const store = 'composite/shop/store/udp-53';
const slow = { timeout: 60_000, interval: 50 };

let net: NodeNet;
let output: NftOutput;
let reconciler: UdpReconciler;
/** Fails this many times. */
let failures = 0;
let calls = 0;

beforeAll(async () => {
  net = await NodeNet.create('dataplane-udp');
});
afterAll(() => net.close());
beforeEach(async () => {
  await net.reset();
  const real = conntrackTool({ command: [...net.onNode, 'conntrack'] });
  const tool: ConntrackTool = {
    ...real,
    list: async (...args) => {
      calls += 1;
      if (failures-- > 0) throw new Error('conntrack is not there');
      await real.list(...args);
    },
  };
  failures = 0;
  const common = { clock: systemClock, log: silentLog, metrics: new Metrics() };
  reconciler = new UdpReconciler({ ...common, tool, random: Math.random });
  output = net.output({ onCommit: (changes) => reconciler.reconcile(udpChanges(changes)) });
  return async () => {
    reconciler.close();
    await output.close();
  };
});

function state(...pods: number[]): Ir {
  const endpoints = pods.map((p): Endpoint => endpoint([net.pod(p).address.v4, net.pod(p).address.v6], 5353));
  return ir({
    frontends: [frontend('gateway/shop/store', [vip.v4, vip.v6], [udp(53, [to(store)])])],
    backends: [backend(store, endpoints)],
    nodes: [node('e1', [net.node.podCidrs.v4, net.node.podCidrs.v6])],
  });
}

/** A client that sends from one socket all the time, so that its entry never times out. */
class BusyClient {
  readonly #load: Load;
  /** Who answered, in each interval. */
  readonly #intervals: (readonly string[])[] = [];

  constructor(from: Namespace, host: string, port = 53) {
    const how = { protocol: 'UDP', oneSocket: true, concurrency: 1, rate: 50, timeoutMs: 300 } as const;
    this.#load = startLoad(from, { host, port, everyMs: 100, ...how }, (delta: Tally) =>
      this.#intervals.push(Object.keys(delta.result.answers)),
    );
  }

  /** Resolves once these and no others answered in three intervals on end that began after this call. */
  async isAnsweredBy(...pods: readonly string[]): Promise<void> {
    const start = this.#intervals.length + 1;
    const latest = (): readonly string[] | undefined => {
      const three = this.#intervals.slice(start).slice(-3);
      return three.length < 3 ? undefined : [...new Set(three.flat())].sort();
    };
    await expect.poll(latest, slow).toEqual(pods);
  }

  stop(): Promise<unknown> {
    return this.#load.stop();
  }
}

test.each(['v4', 'v6'] as const)(
  'dataplane 17 a busy client moves to a live endpoint (%s)',
  async (family) => {
    await output.update(state(0));
    const client = new BusyClient(net.remote.host, vip[family]);
    await client.isAnsweredBy('east/p0');
    await output.update(state(1));
    await client.isAnsweredBy('east/p1');
    await output.update(state());
    await client.isAnsweredBy();
    await output.update(state(2));
    await client.isAnsweredBy('east/p2');
    await client.stop();
  },
);

test('dataplane 17 a client that began before the VIP existed recovers', async () => {
  // Some table of ours is there: without one the node tracks nothing.
  await output.update(ir({}));
  const client = new BusyClient(net.network.client, vip.v4);
  const entries = () => net.sh(`conntrack -L -p udp --orig-dst ${vip.v4} 2>/dev/null | wc -l`);
  await expect.poll(entries, slow).toBe('1\n');
  await output.update(state(0));
  await client.isAnsweredBy('east/p0');
  await client.stop();
});

test('dataplane 17 entries of other destinations are not deleted, even of the same client', async () => {
  await output.update(state(0));
  const direct = new BusyClient(net.remote.host, net.pod(0).address.v4, 5353);
  const through = new BusyClient(net.remote.host, vip.v4);
  const id = () =>
    net.sh(`conntrack -L -p udp -o id --orig-dst ${net.pod(0).address.v4} 2>/dev/null | grep -o 'id=[0-9]*'`);
  await expect.poll(id, slow).toMatch(/^id=\d+\n$/);
  const before = await id();
  await output.update(state(1));
  await through.isAnsweredBy('east/p1');
  expect(await id()).toBe(before);
  await Promise.all([direct.stop(), through.stop()]);
});

test('dataplane 17 a failure of conntrack is repeated until it works', async () => {
  await output.update(state(0));
  const client = new BusyClient(net.remote.host, vip.v4);
  await client.isAnsweredBy('east/p0');
  failures = 3;
  calls = 0;
  await output.update(state(1));
  await client.isAnsweredBy('east/p1');
  expect(calls).toBeGreaterThan(3);
  await client.stop();
});
