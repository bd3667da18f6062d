import { setTimeout as wait } from 'node:timers/promises';
import { codec } from '../src/wire/proto/registry.ts';
import { typeUrls } from '../src/wire/proto/type-urls.ts';
import { wholeOf } from '../test/sandbox/case-objects.ts';
import { type Bench, type BenchContext, runAlone } from './bench.ts';
import { Connector, nowMs } from './connector.ts';
import { DeltaWatch } from './delta-watch.ts';
import type { Figure, Measurement, Results } from './figure.ts';
import { startRelayTree } from './relay-tree.ts';
import { once, percentile, spreadOf } from './spread.ts';
import { BenchWorld, eventually } from './world.ts';

const hops = [1, 3] as const;
type Hops = (typeof hops)[number];
const over = (relays: number): string => (relays === 1 ? 'one relay' : `${relays} relays in a row`);
const farther = { none: 'the target is for one relay' } as const;

const figures: readonly Figure[] = hops.flatMap((n): Figure[] => [
  {
    name: `pushed-${n}`,
    what: `endpoint added in B → pushed to a data plane in A, over ${over(n)}, p50`,
    unit: 'ms',
    target: n === 1 ? { atMost: 10, because: 'istiod without debounce 0.7 ms' } : farther,
  },
  {
    name: `pushed-compiled-${n}`,
    what: `endpoint compiled in B → pushed to a data plane in A, over ${over(n)}, p50`,
    unit: 'ms',
    target: n === 1 ? { atMost: 10, because: 'without the 20 ms that a file must be unchanged' } : farther,
  },
  {
    name: `used-${n}`,
    what: `pod Ready in B → first connection from A reaches it, over ${over(n)}, p50`,
    unit: 'ms',
    target: n === 1 ? { atMost: 60 } : farther,
  },
  {
    name: `used-p99-${n}`,
    what: `pod Ready in B → first connection from A reaches it, over ${over(n)}, p99`,
    unit: 'ms',
    target: n === 1 ? { atMost: 300 } : farther,
  },
]);

const key = 'composite/shop/store/tcp-80';

/** Endpoints of each cluster in an assignment. */
function endpointsIn(body: Uint8Array): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { locality, lb_endpoints } of codec('envoy.config.endpoint.v3.ClusterLoadAssignment').decode(
    body,
  ).endpoints ?? []) {
    const cluster = locality?.sub_zone ?? '';
    counts[cluster] = (counts[cluster] ?? 0) + (lb_endpoints?.length ?? 0);
  }
  return counts;
}

/** When a controller said last that it compiled something, on the clock of `nowMs`; its log has whole milliseconds. */
function compiledAt(lines: readonly string[]): number {
  const line = lines.findLast((text) => text.includes('"msg":"compiled"')) ?? '{}';
  const { time = '' } = JSON.parse(line) as { time?: string };
  return Date.parse(time) - Date.now() + nowMs();
}

async function measure(relays: Hops, { quick, say }: BenchContext): Promise<Record<string, Measurement>> {
  const changes = quick ? 5 : 120;
  const world = await BenchWorld.create({ clusters: { east: ['e1'], west: ['w1'] } });
  try {
    const [east, west] = [world.cluster('east'), world.cluster('west')];
    for (const cluster of [east, west]) cluster.objects.write('store.yaml', ...wholeOf('store'));
    const pod = (name: string, node: string, ready: boolean) =>
      ({ namespace: 'shop', name, node, labels: { app: 'store' }, ready }) as const;
    const [client, changing] = await Promise.all([
      east.addPod({ namespace: 'shop', name: 'client', node: 'e1', ports: [] }),
      west.addPod(pod('store-1', 'w1', false)),
      east.addPod(pod('store-0', 'e1', true)),
    ]);
    say(`two clusters over ${over(relays)}`);
    const tree = relays === 3 ? await startRelayTree(world, ['east', 'west']) : undefined;
    const dials = (cluster: string) => (tree?.[cluster] === undefined ? {} : { relay: tree[cluster] });
    const [, provider] = await Promise.all([
      tree ? undefined : world.startRelay(),
      world.startController('west', dials('west')),
      world.startController('east', dials('east')).then(() => world.startAgent('east', 'e1')),
    ]);
    const vip = await world.address('east', 'store', true);
    let remote = -1;
    let since = 0;
    const watch = new DeltaWatch({
      address: `${east.plan.control.v4}:18000`,
      tls: await world.plane.certificate('east', 'agent', { node: 'watch' }),
      server: 'controller',
      node: 'watch',
      names: { [typeUrls.assignment]: [key] },
      onTold: ({ at, resources }) => {
        for (const { name, body } of resources) {
          if (name !== key) continue;
          remote = endpointsIn(body).west ?? 0;
          since = at;
        }
      },
    });
    const connector = new Connector(client.host);
    const isTold = (count: number) =>
      eventually(`${count} endpoints of west are told`, () => (remote === count ? true : undefined));
    await isTold(0);
    say(`${changes} changes`);
    const pushed: number[] = [];
    const compiled: number[] = [];
    const used: number[] = [];
    for (let k = 0; k < changes; k += 1) {
      const { reached } = await connector.reach({ address: vip, port: 80, prefix: changing.answer });
      changing.setReady(true);
      const acknowledged = nowMs();
      used.push((await reached).at - acknowledged);
      await isTold(1);
      pushed.push(since - acknowledged);
      compiled.push(since - compiledAt(world.supervisor.tail(provider, 20)));
      changing.setReady(false);
      await isTold(0);
      // Until it is a first change again and not a follower of this one; never at the same time of a beat.
      await wait(120 + (k % 7) * 10);
    }
    connector.close();
    watch.close();
    return {
      [`pushed-${relays}`]: { ours: spreadOf(pushed) },
      [`pushed-compiled-${relays}`]: { ours: spreadOf(compiled) },
      [`used-${relays}`]: { ours: spreadOf(used) },
      [`used-p99-${relays}`]: { ours: once(percentile(used, 0.99)) },
    };
  } finally {
    await world.close();
  }
}

export const propagation: Bench = {
  name: 'propagation',
  figures,
  sandbox: true,
  run: async (context): Promise<Results> => {
    const measured: Record<string, Measurement> = {};
    for (const n of hops) Object.assign(measured, await measure(n, context));
    return measured;
  },
};

if (import.meta.main) await runAlone(propagation);
