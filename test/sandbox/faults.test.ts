import { randomInt } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import type { Pod } from '../../src/cli/playground/pod.ts';
import { givenSeed, playedAgainBy, seededRandom } from '../../src/runtime/seeded-random.ts';
import { consumerOf, gateway, providerOf, wholeOf } from './case-objects.ts';
import { caseWorld, until } from './case-world.ts';
import { controlCuts, cut, pairCut, smallDisk, strike } from './fault-kinds.ts';
import { type Fault, planFaults } from './fault-plan.ts';
import { DnsWatch, FaultTraffic } from './fault-traffic.ts';
import { settledState } from './settled-state.ts';

const seed = givenSeed() ?? randomInt(2 ** 31);
const count = Number(process.env.CAUSEWAY_TEST_FAULTS ?? 200);
const atOnce = 6;
const pair = 'east–west';
const nodes = { east: ['e1', 'e2'], west: ['w1', 'w2'] } as const;
const disks = ['east', 'west'];
const unmount: (() => Promise<void>)[] = [];

const udp = { port: 53, protocol: 'UDP', targetPort: 8053 } as const;
const datagrams = [{ name: 'dns', port: 8053, protocol: 'UDP' }] as const;

const world = caseWorld({
  clusters: {
    east: { nodes: nodes.east, dataPlane: true },
    west: { nodes: nodes.west, dataPlane: true },
  },
  nodeFlags: ['--import', join(import.meta.dirname, 'wall-clock-steps.ts')],
  prepare: async (w) => {
    for (const name of disks) unmount.push(await smallDisk(w.cluster(name).stateDir));
    const own = { import: { from: [] }, export: { to: [] } };
    for (const name of disks) {
      const { objects } = w.cluster(name);
      objects.write('own.yaml', ...wholeOf('own', own));
      objects.write('both.yaml', ...wholeOf('both'));
      objects.write('udp.yaml', ...wholeOf('udp', {}, [udp]));
    }
    w.cluster('east').objects.write('far.yaml', ...consumerOf('far'));
    w.cluster('west').objects.write('far.yaml', ...providerOf('far'));
    await Promise.all([
      ...disks.flatMap((name) => {
        const [a, b] = nodes[name as keyof typeof nodes];
        return [
          w.addClient(name, a),
          w.addClient(name, b),
          w.addPods(name, 'own', [a, b]),
          w.addPods(name, 'both', [a, b]),
          w.addPods(name, 'udp', [b], { ports: datagrams }),
        ];
      }),
      w.addPods('west', 'far', [...nodes.west]),
    ]);
  },
});

afterAll(async () => {
  await Promise.all(unmount.map((end) => end()));
});

/** A VIP of each kind, from clients in both clusters. */
async function startTraffic(): Promise<{ traffic: FaultTraffic; dns: readonly DnsWatch[] }> {
  const w = world();
  const traffic = new FaultTraffic();
  const dns: DnsWatch[] = [];
  for (const [cluster, apps] of [
    ['east', ['own', 'far', 'both', 'udp']],
    ['west', ['own', 'both', 'udp']],
  ] as const) {
    const names = new Map<string, string>();
    for (const app of apps) {
      const vip = await w.programmed(cluster, app);
      names.set(`${app}.shop.gw.cluster.local`, vip);
      const reach = app === 'own' ? 'local' : app === 'far' ? 'remote' : 'both';
      const to =
        app === 'udp'
          ? ({ host: vip, port: udp.port, protocol: 'UDP' } as const)
          : ({ host: vip, port: 80, protocol: 'TCP' } as const);
      const clients = app === 'far' || app === 'both' ? nodes[cluster] : nodes[cluster].slice(0, 1);
      for (const node of clients) {
        traffic.add(`${app} from ${node}`, w.pod(cluster, `client-${node}`).host, reach, to);
      }
    }
    dns.push(new DnsWatch(w.dns(cluster), names));
  }
  return { traffic, dns };
}

/** Nodes of east send to west's pods again, and nothing that was found out during a cut is still under way to them. */
const restored = async (): Promise<void> => {
  const w = world();
  await until('east hears west', () => expect(w.standing('east', 'far', 'west')).toBe('Synced Synced'));
  for (const node of nodes.east) {
    await until(`${node} holds what is told`, async () => {
      expect(await w.metric('east controller', 'xds_client_lag', { node })).toBe(0);
    });
  }
  const far = [...world().cluster('west').pods.values()].filter((pod) => pod.name.startsWith('far-'));
  await world().leadsTo(
    'east',
    world().vip('east', 'far'),
    far.map((pod) => `${pod.ip}:8080`),
  );
};

/** Pods of one name come and go as a kubelet lets them, each killed once no node sends to it any more. */
async function churnPods(random: () => number, over: () => boolean): Promise<number> {
  const w = world();
  let cycles = 0;
  for (; !over(); cycles += 1) {
    const cluster = random() < 0.5 ? 'east' : 'west';
    const node = nodes[cluster][cycles % 2] as string;
    const pod = await w
      .cluster(cluster)
      .addPod({ namespace: 'shop', name: `more-${cycles}`, node, labels: { app: 'both' } });
    await everywhere(pod, true);
    await wait(200 * random());
    pod.terminate();
    await everywhere(pod, false);
    await until(`connections to ${pod.name} are over`, async () => {
      const { stdout } = await pod.run(['ss', '--no-header', '--tcp', '--numeric', 'state', 'connected']);
      expect(stdout.replaceAll(/^.*TIME-WAIT.*$/gm, '').trim()).toBe('');
    });
    await w.cluster(cluster).removePod(pod);
  }
  return cycles;
}

/** The tables of all nodes lead to a pod, or none does. */
async function everywhere(pod: Pod, wanted: boolean): Promise<void> {
  const w = world();
  for (const { name, nodes: all } of w.network.clusters.values()) {
    const vip = w.vip(name, 'both');
    for (const node of all.keys()) {
      await until(`${node} ${wanted ? 'sends' : 'does not send'} to ${pod.answer}`, async () => {
        expect((await w.targets(name, node, vip)).includes(`${pod.ip}:8080`)).toBe(wanted);
      });
    }
  }
}

/** Gateways come and go: none gets an address that another has. In the end they are gone. */
async function churnGateways(random: () => number, over: () => boolean): Promise<void> {
  const w = world();
  for (let i = 0; !over(); i += 1) {
    const { objects, stateDir } = w.cluster(disks[i % 2] as string);
    const name = `g${Math.floor(random() * 6)}`;
    if (random() < 0.4) objects.remove(`${name}.yaml`);
    else objects.write(`${name}.yaml`, gateway(name, [{ port: 80 }]));
    await wait(500 * random());
    const folder = join(stateDir, 'status', 'Gateway');
    const vips = readdirSync(folder)
      .filter((name) => name.endsWith('.yaml') && !name.startsWith('.'))
      .map((name) => w.vip(stateDir.split('/').at(-2) as string, name.replace(/^shop_|\.yaml$/g, '')))
      .filter(Boolean);
    expect(new Set(vips).size, vips.join(' ')).toBe(vips.length);
  }
  for (const name of disks) for (let i = 0; i < 6; i += 1) w.cluster(name).objects.remove(`g${i}.yaml`);
}

test('design faults 200 random faults on every kind of process cut no connection, and leave what a fresh start makes', {
  timeout: 600_000,
}, async () => {
  const w = world();
  const random = seededRandom(seed).next;
  const cuts = controlCuts(w);
  const faults = planFaults(seed, count, {
    processes: w.supervisor.names,
    controlLinks: [...cuts.keys()],
    pairs: [pair],
    disks,
  });
  console.log(`faults of seed ${seed}: ${playedAgainBy(seed)} plays them again`);
  const { traffic, dns } = await startTraffic();

  const happened: string[] = [];
  const apply = async (fault: Fault): Promise<void> => {
    const { kind, number, target, holdMs } = fault;
    if (kind === 'control') {
      const heal = await cut(cuts.get(target) as Parameters<typeof cut>[0], number);
      await wait(holdMs);
      await heal();
    } else if (kind === 'data' || kind === 'all') {
      const window = traffic.cut();
      const heal = await cut(pairCut(w, target, kind === 'all'), number);
      await wait(holdMs);
      await heal();
      window.healed();
      await restored();
      window.restored();
    } else await strike(w, fault);
  };
  /** One fault at a time on the same thing. */
  const busy = new Map<string, Promise<void>>();
  const exclusive = async (fault: Fault): Promise<void> => {
    const before = busy.get(fault.target) ?? Promise.resolve();
    const mine = before.then(async () => {
      const from = new Date().toISOString();
      await apply(fault);
      happened.push(`${from} to ${new Date().toISOString()} ${fault.kind} ${fault.target}`);
    });
    busy.set(fault.target, mine);
    await mine;
  };
  const waiting = [...faults];
  const worker = async (): Promise<void> => {
    for (let fault = waiting.shift(); fault; fault = waiting.shift()) {
      await exclusive(fault);
      if (traffic.failures.length > 0) return;
    }
  };
  let over = false;
  const churn = [churnPods(seededRandom(seed + 1).next, () => over), churnGateways(random, () => over)];
  try {
    await Promise.all(Array.from({ length: atOnce }, worker));
  } finally {
    over = true;
    await Promise.allSettled(churn);
  }
  await Promise.all(churn);
  const found = await settledState(w);
  await Promise.all(dns.map((watch) => watch.stop()));
  const { requests, excused } = await traffic.stop();
  const story = [`seed ${seed}`, ...happened.sort()].join('\n');
  expect(traffic.failures, story).toEqual([]);
  expect(happened, story).toHaveLength(count);
  for (const { wrong, answered } of dns) {
    expect(wrong, story).toEqual([]);
    expect(answered).toBeGreaterThan(0);
  }
  console.log(`${requests} requests, ${excused} under way during a cut of the data path got no answer`);

  for (const name of w.supervisor.names) await w.supervisor.kill(name, 'SIGTERM');
  for (const { stateDir, nodes: all } of w.network.clusters.values()) {
    for (const entry of readdirSync(stateDir)) rmSync(join(stateDir, entry), { recursive: true });
    mkdirSync(stateDir, { recursive: true });
    for (const { namespace } of all.values()) {
      expect(await namespace.run(['nft', 'delete table inet causeway'])).toMatchObject({ code: 0 });
    }
  }
  await Promise.all(w.supervisor.names.map((name) => w.supervisor.start(w.supervisor.spec(name), 60_000)));
  expect(found, story).toEqual(await settledState(w));
});
