import { relayAddress, set } from '../src/cli/playground/control-plane.ts';
import type { Export } from '../src/model/compiled.ts';
import type { RemoteEndpoint } from '../src/model/inputs.ts';
import { PublishLink } from '../src/outputs/relay/publish-link.ts';
import { PublishedState } from '../src/outputs/relay/published-state.ts';
import { systemClock } from '../src/runtime/clock.ts';
import { RenewedClient } from '../src/runtime/renewed-client.ts';
import { DialCredentials } from '../src/runtime/tls.ts';
import { consumerOf } from '../test/sandbox/case-objects.ts';
import { type Bench, type BenchContext, runAlone } from './bench.ts';
import type { Figure, Results } from './figure.ts';
import { idle, residentMiB } from './process-cost.ts';
import { once } from './spread.ts';
import { BenchWorld, eventually } from './world.ts';

const of = 'of 200 clusters × 15,000 endpoints, with 50 back ends × 20 in use';
/** 300 MB and 150 MB. */
const [controllerMiB, agentMiB] = [286, 143];

const figures: readonly Figure[] = [
  {
    name: 'many-clusters-controller',
    what: `controller, resident, ${of}`,
    unit: 'MiB',
    target: { atMost: controllerMiB, because: '300 MB; Cilium CFP-39876: 15 GiB an agent' },
  },
  {
    name: 'many-clusters-agent',
    what: `agent, resident, ${of}`,
    unit: 'MiB',
    target: { atMost: agentMiB, because: '150 MB' },
  },
  {
    name: 'many-clusters-relay',
    what: 'relay, resident, that holds all of it',
    unit: 'MiB',
    target: { none: 'none in the design' },
  },
  {
    name: 'many-clusters-sync',
    what: 'controller starts → all 1,000 endpoints of 50 clusters are compiled',
    unit: 's',
    target: { none: 'none in the design' },
  },
];

const [exportsEach, endpointsEach, used] = [750, 20, 50];

/** The same in all clusters: what is told of them is encoded for each. */
const endpoints: readonly (readonly RemoteEndpoint[])[] = Array.from({ length: exportsEach }, (_, i) =>
  Array.from({ length: endpointsEach }, (_, e) => ({
    addresses: [`10.${128 + (i >> 8)}.${i & 255}.${e + 1}`],
    port: 8080,
    zone: 'a',
    health: 'Healthy' as const,
  })),
);

const exported = (cluster: string, i: number): Export => ({
  namespace: 'shop',
  composite: `${cluster}-s${i}`,
  protocol: 'TCP',
  port: 80,
  kinds: ['XEndpointSelector'],
  ready: endpointsEach,
  selected: endpointsEach,
  endpoints: endpoints[i] as readonly RemoteEndpoint[],
  to: [{}],
});

/** A cluster that only tells: its controller's publishing end, in this process. */
async function publish(world: BenchWorld, cluster: string): Promise<void> {
  const network = 'n1';
  const state = new PublishedState({ set, cluster, network, clock: systemClock, epoch: Date.now() });
  const keyed = Array.from({ length: exportsEach }, (_, i) => exported(cluster, i)).map(
    (e) => [`${e.namespace}/${e.composite}/tcp-80`, e] as const,
  );
  state.update(new Map(keyed));
  const tls = await world.plane.certificate(cluster, 'controller', { network });
  const common = { target: relayAddress, clock: systemClock, random: Math.random };
  const credentials = new DialCredentials(tls, { set, roles: ['relay'] });
  new PublishLink({ ...common, state, dialer: new RenewedClient({ ...common, credentials, options: {} }) });
}

async function run({ quick, say }: BenchContext): Promise<Results> {
  const clusters = Array.from({ length: quick ? 50 : 200 }, (_, i) => `c${i}`);
  const world = await BenchWorld.create({ clusters: { east: ['e1'] } });
  try {
    const relay = await world.startRelay();
    world.plane.setMembers(['east', ...clusters]);
    for (const [done, cluster] of clusters.entries()) {
      await publish(world, cluster);
      if (done % 50 === 49) say(`${done + 1} of ${clusters.length} clusters tell what they have`);
    }
    await eventually(
      'the relay holds all',
      async () => {
        const text = await world.metrics(relay);
        const links = /^causeway_relay_links (\d+)$/m.exec(text);
        return Number(links?.[1]) >= clusters.length ? true : undefined;
      },
      300_000,
    );
    await idle(world.supervisor.pid(relay));

    say(`a consumer of ${used} of ${clusters.length * exportsEach} back ends`);
    const east = world.cluster('east');
    for (let i = 0; i < used; i += 1) east.objects.write(`${i}.yaml`, ...consumerOf(`c${i}-s${i}`));
    const started = performance.now();
    const controller = await world.startController('east', { timeoutMs: 120_000 });
    await eventually('every endpoint that is used is compiled', async () => {
      const text = await world.metrics(controller);
      const lines = text.matchAll(/^causeway_endpoints\{cluster="c\d+",state="healthy"\} (\d+)$/gm);
      const found = [...lines].reduce((sum, [, n]) => sum + Number(n), 0);
      return found >= used * endpointsEach ? true : undefined;
    });
    const sync = performance.now() - started;
    const agent = await world.startAgent('east', 'e1');
    const [c, a, r] = [controller, agent, relay].map((name) => world.supervisor.pid(name)) as [
      number,
      number,
      number,
    ];
    await idle(c, a);
    return {
      'many-clusters-controller': { ours: once(residentMiB(c).now) },
      'many-clusters-agent': { ours: once(residentMiB(a).now) },
      'many-clusters-relay': { ours: once(residentMiB(r).now) },
      'many-clusters-sync': { ours: once(sync / 1000) },
    };
  } finally {
    await world.close();
  }
}

export const manyClusters: Bench = { name: 'many-clusters', figures, sandbox: true, run };

if (import.meta.main) {
  await runAlone(manyClusters);
  // Links of the clusters that only tell are still open.
  process.exit();
}
