import { type Bench, type BenchContext, runAlone } from './bench.ts';
import { Connector, nowMs, startAnswering } from './connector.ts';
import type { Figure, Measurement, Results } from './figure.ts';
import { endpointRange, endpointsOf, ManyServices, nameOf, newEndpoint } from './many-services.ts';
import { cpuMs, idle, residentMiB } from './process-cost.ts';
import { once, percentile, spreadOf } from './spread.ts';
import { BenchWorld } from './world.ts';

/** kube-proxy 1.36.3, nftables mode, at its shortest period, on a machine like the one of docs/benchmarks.md. */
const kubeProxy = {
  change: { 1000: 270, 10000: 5000 },
  cpu: { 1000: 261, 10000: 5270 },
  load: { 10000: 15.8 },
  residentMiB: 586,
} as const;

const sizes = [100, 1000, 10_000] as const;
type Size = (typeof sizes)[number];
const noTarget = { none: 'none for this size' } as const;
const label = (size: Size): string => `${size.toLocaleString('en-US')} VIPs × 10`;

function figuresOf(size: Size): Figure[] {
  const change = size === 100 ? undefined : kubeProxy.change[size];
  const cpu = size === 100 ? undefined : kubeProxy.cpu[size];
  const [changeShare, cpuShare] = size === 1000 ? [0.15, 0.1] : [0.02, 0.01];
  return [
    {
      name: `nft-load-${size}`,
      what: `agent starts → first and last VIP connect, ${label(size)}`,
      unit: 's',
      target:
        size === 10_000
          ? { atMost: 0.25 * kubeProxy.load[size], because: `0.25 × kube-proxy's ${kubeProxy.load[size]} s` }
          : noTarget,
    },
    {
      name: `nft-change-${size}`,
      what: `endpoint added to the source → first connection that reaches it, p50, ${label(size)}`,
      unit: 'ms',
      target: change
        ? { atMost: changeShare * change, because: `${changeShare} × kube-proxy's ${change} ms` }
        : noTarget,
    },
    {
      name: `nft-change-p99-${size}`,
      what: `endpoint added to the source → first connection that reaches it, p99, ${label(size)}`,
      unit: 'ms',
      target: noTarget,
    },
    {
      name: `nft-change-cpu-${size}`,
      what: `processor time of that change, agent and nft, ${label(size)}`,
      unit: 'ms',
      target: cpu ? { atMost: cpuShare * cpu, because: `${cpuShare} × kube-proxy's ${cpu} ms` } : noTarget,
    },
    {
      name: `nft-change-failed-${size}`,
      what: `failed connections to the VIP from before the change to after it, ${label(size)}`,
      unit: 'failed',
      target: { atMost: 0 },
    },
  ];
}

const figures: readonly Figure[] = [
  ...sizes.flatMap(figuresOf),
  {
    name: 'nft-change-growth',
    what: 'the change with 10,000 VIPs against 100 VIPs, p50',
    unit: 'ms',
    peer: '100 VIPs',
    target: { ratioAtMost: 1.5 },
  },
  {
    name: 'agent-memory-10000',
    what: 'agent, resident, 10,000 VIPs × 10, after 30 changes',
    unit: 'MiB',
    target: {
      atMost: 0.5 * kubeProxy.residentMiB,
      because: `0.5 × kube-proxy's ${kubeProxy.residentMiB} MiB`,
    },
  },
  {
    name: 'connect-first-vip',
    what: 'connect through the first of 10,000 VIPs, p50',
    unit: 'µs',
    peer: "the endpoint's address",
    target: { overPeerAtMost: 4 },
  },
  {
    name: 'connect-last-vip',
    what: 'connect through the last of 10,000 VIPs, p50',
    unit: 'µs',
    peer: "the endpoint's address",
    target: { overPeerAtMost: 4 },
  },
  {
    name: 'connect-last-first',
    what: 'connect through the last of 10,000 VIPs against the first, p50',
    unit: 'µs',
    peer: 'the first VIP',
    target: { ratioAtMost: 1.1 },
  },
  {
    name: 'connect-last-vip-p99',
    what: 'connect through the last of 10,000 VIPs, p99',
    unit: 'µs',
    peer: "the endpoint's address",
    target: { none: 'the tail is the machine’s' },
  },
];

/** Which front ends change, one after the other. */
const changing = (size: number, changes: number): number[] =>
  Array.from({ length: changes }, (_, k) => (k * 37) % size);

async function measure(size: Size, { quick, say }: BenchContext): Promise<Record<string, Measurement>> {
  const changes = quick ? 5 : 30;
  // What is compared now and then is not part of a change.
  const flags = { agent: ['--audit-interval', '3600'], controller: ['--audit-interval', '3600'] };
  const world = await BenchWorld.create({ clusters: { east: ['e1'] }, flags });
  try {
    const east = world.cluster('east');
    const client = await east.addPod({ namespace: 'shop', name: 'client', node: 'e1', ports: [] });
    const pods = await east.addPod({ namespace: 'shop', name: 'pods', node: 'e1', ports: [] });
    // Until the agent has programmed it a VIP leads nowhere, and nothing of a try is remembered.
    await east
      .node('e1')
      .namespace.ip([
        `route add ${endpointRange} via ${pods.ip}`,
        `route add unreachable ${east.plan.serviceCidrs.v4}`,
      ]);
    await pods.host.ip([`route add local ${endpointRange} dev lo`]);
    await startAnswering(pods.host, 8080);
    const numbers = changing(size, changes);
    say(`${label(size)}: the controller reads its folder`);
    const services = new ManyServices(east.objects, { count: size, changing: numbers });
    const controller = await world.startController('east', { timeoutMs: 180_000 });
    const [first, last] = [
      await world.address('east', nameOf(0)),
      await world.address('east', nameOf(size - 1)),
    ];

    const control = world.supervisor.pid(controller);
    await idle(control);
    say('the agent starts');
    const [toFirst, toLast] = [new Connector(client.host), new Connector(client.host)];
    const reaching = await Promise.all([
      toFirst.reach({ address: first, port: 80, prefix: '10.' }),
      toLast.reach({ address: last, port: 80, prefix: '10.' }),
    ]);
    const started = nowMs();
    const agent = await world.startAgent('east', 'e1', 180_000);
    const loaded = await Promise.all(reaching.map((r) => r.reached));
    const load = Math.max(...loaded.map((r) => r.at)) - started;
    toFirst.close();

    say(`${changes} changes`);
    const vips = await Promise.all(numbers.map((i) => world.address('east', nameOf(i), true)));
    const pid = world.supervisor.pid(agent);
    // Statuses of the load are still being written.
    const [cpuBefore = 0] = await idle(pid, control);
    const taken: number[] = [];
    let failures = 0;
    for (const [k, i] of numbers.entries()) {
      const address = newEndpoint(k);
      const { reached } = await toLast.reach({ address: vips[k] as string, port: 80, prefix: address });
      services.setEndpoints(i, [...endpointsOf(i), address]);
      const acknowledged = nowMs();
      const { at, failed } = await reached;
      taken.push(at - acknowledged);
      failures += failed;
      // Each change by itself: what the one before has caused is over.
      await idle(pid, control);
    }
    const cpu = (cpuMs(pid) - cpuBefore) / changes;
    const memory = residentMiB(pid).now;
    const measured = {
      [`nft-load-${size}`]: { ours: once(load / 1000) },
      [`nft-change-${size}`]: { ours: spreadOf(taken) },
      [`nft-change-p99-${size}`]: { ours: once(percentile(taken, 0.99)) },
      [`nft-change-cpu-${size}`]: { ours: once(cpu) },
      [`nft-change-failed-${size}`]: { ours: once(failures) },
    };
    if (size !== 10_000) return measured;
    say('latency of connect');
    const direct = `${endpointsOf(0)[0]}:8080`;
    const targets = [`${first}:80`, `${last}:80`, direct];
    const [viaFirst = [], viaLast = [], straight = []] = await toLast.latency(quick ? 500 : 10_000, targets);
    const at = (values: readonly number[], q = 0.5) => once(percentile(values, q));
    return {
      ...measured,
      'agent-memory-10000': { ours: once(memory) },
      'connect-first-vip': { ours: at(viaFirst), peer: at(straight) },
      'connect-last-vip': { ours: at(viaLast), peer: at(straight) },
      'connect-last-first': { ours: at(viaLast), peer: at(viaFirst) },
      'connect-last-vip-p99': { ours: at(viaLast, 0.99), peer: at(straight, 0.99) },
    };
  } finally {
    await world.close();
  }
}

export const programming: Bench = {
  name: 'programming',
  figures,
  sandbox: true,
  run: async (context): Promise<Results> => {
    const measured: Record<string, Measurement> = {};
    for (const size of sizes) Object.assign(measured, await measure(size, context));
    const [small, large] = [measured['nft-change-100'], measured['nft-change-10000']];
    if (small && large) measured['nft-change-growth'] = { ours: large.ours, peer: small.ours };
    return measured;
  },
};

if (import.meta.main) await runAlone(programming);
