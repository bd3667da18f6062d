import { setTimeout as wait } from 'node:timers/promises';
import { podObject } from '../src/cli/playground/pod-objects.ts';
import { wholeOf } from '../test/sandbox/case-objects.ts';
import { type Bench, type BenchContext, runAlone } from './bench.ts';
import type { Figure, Measurement, Results } from './figure.ts';
import { idle, residentMiB } from './process-cost.ts';
import { once } from './spread.ts';
import { BenchWorld, eventually } from './world.ts';

const none = { none: 'none in the design' } as const;
const istiod = 180;
/** 90 MB. */
const agentIdleMiB = 85.8;

const figures: readonly Figure[] = [
  {
    name: 'memory-idle-agent',
    what: 'agent, resident, nothing to do',
    unit: 'MiB',
    target: { atMost: agentIdleMiB, because: '90 MB' },
  },
  { name: 'memory-idle-controller', what: 'controller, resident, nothing to do', unit: 'MiB', target: none },
  { name: 'memory-idle-dns', what: 'dns, resident, nothing to do', unit: 'MiB', target: none },
  { name: 'memory-idle-relay', what: 'relay, resident, nothing to do', unit: 'MiB', target: none },
  {
    name: 'memory-controller-2000',
    what: 'controller, resident, 1,000 services × 10 endpoints in each of two clusters',
    unit: 'MiB',
    target: { atMost: 1.2 * istiod, because: `1.2 × istiod's ${istiod} MiB` },
  },
  {
    name: 'memory-relay-2000',
    what: 'relay, resident, between two clusters with 1,000 services × 10 each',
    unit: 'MiB',
    target: none,
  },
];

/** A process that has nothing to do keeps what its start needed until the collector runs. */
async function settled(world: BenchWorld, name: string): Promise<Measurement> {
  const pid = world.supervisor.pid(name);
  await idle(pid);
  return { ours: once(residentMiB(pid).now) };
}

async function idleRoles({ say }: BenchContext): Promise<Record<string, Measurement>> {
  const world = await BenchWorld.create({ clusters: { east: ['e1'] } });
  try {
    say('one cluster without objects');
    const relay = await world.startRelay();
    const controller = await world.startController('east');
    const [dns, agent] = [await world.startDns('east'), await world.startAgent('east', 'e1')];
    await wait(5_000);
    return {
      'memory-idle-agent': await settled(world, agent),
      'memory-idle-controller': await settled(world, controller),
      'memory-idle-dns': await settled(world, dns),
      'memory-idle-relay': await settled(world, relay),
    };
  } finally {
    await world.close();
  }
}

async function twoClusters({ quick, say }: BenchContext): Promise<Record<string, Measurement>> {
  const [services, pods] = [quick ? 50 : 1000, 10];
  const world = await BenchWorld.create({ clusters: { east: ['e1'], west: ['w1'] } });
  try {
    say(`two clusters with ${services} services × ${pods} each`);
    for (const [c, name] of ['east', 'west'].entries()) {
      const { objects } = world.cluster(name);
      for (let i = 0; i < services; i += 1) {
        const service = `s${i}`;
        const own = Array.from({ length: pods }, (_, e) =>
          podObject({
            namespace: 'shop',
            name: `${service}-${e}`,
            uid: `${name}-${i}-${e}`,
            node: c === 0 ? 'e1' : 'w1',
            labels: { app: service },
            ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
            ips: [`10.${128 + 16 * c + e}.${i >> 8}.${i & 255}`],
            hostIp: '172.18.1.1',
            ready: true,
            created: '2026-01-01T00:00:00Z',
          }),
        );
        const text = [...wholeOf(service), ...own].map((object) => `${JSON.stringify(object)}\n`);
        objects.writeText(`services/${service}.yaml`, text.join('---\n'));
      }
    }
    const relay = await world.startRelay();
    const started = await Promise.all(
      ['east', 'west'].map((name) => world.startController(name, { timeoutMs: 180_000 })),
    );
    const controller = started[0] as string;
    await eventually('every endpoint of west is in east', async () => {
      const text = await world.metrics(controller);
      const line = /^causeway_endpoints\{cluster="west",state="healthy"\} (\d+)$/m.exec(text);
      return Number(line?.[1]) >= services * pods ? true : undefined;
    });
    return {
      'memory-controller-2000': await settled(world, controller),
      'memory-relay-2000': await settled(world, relay),
    };
  } finally {
    await world.close();
  }
}

export const memory: Bench = {
  name: 'memory',
  figures,
  sandbox: true,
  run: async (context): Promise<Results> => ({
    ...(await idleRoles(context)),
    ...(await twoClusters(context)),
  }),
};

if (import.meta.main) await runAlone(memory);
