import { setTimeout as wait } from 'node:timers/promises';
import { startLoad } from '../src/cli/playground/load-process.ts';
import { wholeOf } from '../test/sandbox/case-objects.ts';
import { type Bench, type BenchContext, runAlone } from './bench.ts';
import type { Figure, Results } from './figure.ts';
import { once } from './spread.ts';
import { BenchWorld } from './world.ts';

const figures: readonly Figure[] = [
  {
    name: 'failed-restarts',
    what: 'failed connections while agents, controllers and the relay are killed and started',
    unit: 'failed',
    target: { atMost: 0 },
  },
  {
    name: 'failed-churn',
    what: 'failed connections while pods of both clusters come and go',
    unit: 'failed',
    target: { atMost: 0 },
  },
];

/** How long a pod that goes still serves. */
const graceMs = 2_000;

async function run({ quick, say }: BenchContext): Promise<Results> {
  const rounds = quick ? 1 : 6;
  const world = await BenchWorld.create({ clusters: { east: ['e1'], west: ['w1'] } });
  try {
    const [east, west] = [world.cluster('east'), world.cluster('west')];
    for (const cluster of [east, west]) cluster.objects.write('store.yaml', ...wholeOf('store'));
    const add = (cluster: typeof east, node: string, name: string) =>
      cluster.addPod({ namespace: 'shop', name, node, labels: { app: 'store' } });
    const [client] = await Promise.all([
      east.addPod({ namespace: 'shop', name: 'client', node: 'e1', ports: [] }),
      add(east, 'e1', 'store-0'),
      add(east, 'e1', 'store-1'),
      add(west, 'w1', 'store-0'),
    ]);
    const [relay, ...rest] = await Promise.all([
      world.startRelay(),
      world.startController('east'),
      world.startController('west'),
    ]);
    const agent = await world.startAgent('east', 'e1');
    const host = await world.address('east', 'store', true);

    /** Connects all the time while `disturb` runs; resolves with how many connections were made and failed. */
    const during = async (what: string, disturb: (round: number) => Promise<void>): Promise<number> => {
      const load = startLoad(client.host, { host, port: 80, protocol: 'TCP', rate: 400, timeoutMs: 10_000 });
      await wait(1_000);
      for (let round = 0; round < rounds; round += 1) await disturb(round);
      await wait(1_000);
      const { requests, failed, errors } = await load.stop();
      say(`${what}: ${failed} of ${requests} failed ${failed > 0 ? JSON.stringify(errors) : ''}`);
      return failed;
    };
    const restarts = await during('restarts', async (round) => {
      const signal = round % 2 === 0 ? 'SIGKILL' : 'SIGTERM';
      for (const name of [agent, ...rest, relay]) {
        await world.supervisor.restart(name, signal);
        await wait(500);
      }
    });
    const churn = await during('churn', async (round) => {
      const pods = await Promise.all([add(east, 'e1', `more-${round}`), add(west, 'w1', `more-${round}`)]);
      await wait(1_000);
      await Promise.all(pods.map((pod) => pod.cluster.removePod(pod, graceMs)));
    });
    return { 'failed-restarts': { ours: once(restarts) }, 'failed-churn': { ours: once(churn) } };
  } finally {
    await world.close();
  }
}

export const churn: Bench = { name: 'churn', figures, sandbox: true, run };

if (import.meta.main) await runAlone(churn);
