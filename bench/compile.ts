import { project } from '../src/api/kinds.ts';
import type { Change } from '../src/model/inputs.ts';
import { Model } from '../src/model/model.ts';
import { defaultModelConfig } from '../src/model/model-config.ts';
import { type Bench, runAlone } from './bench.ts';
import type { Figure, Results } from './figure.ts';
import { once, percentile, spreadOf } from './spread.ts';

const figures: readonly Figure[] = [
  {
    name: 'compile-full',
    what: 'compile 10,000 front ends × 10 endpoints, processor time',
    unit: 's',
    target: { atMost: 2 },
  },
  {
    name: 'compile-change',
    what: "one pod's change among them, processor time, p50",
    unit: 'ms',
    target: { atMost: 2 },
  },
  {
    name: 'compile-change-p99',
    what: "one pod's change among them, processor time, p99",
    unit: 'ms',
    target: { none: 'the target is for the median' },
  },
  {
    name: 'compile-full-composite',
    what: 'compile 10,000 front ends × 10 through composites, processor time',
    unit: 's',
    target: { atMost: 2 },
  },
  {
    name: 'compile-change-composite',
    what: "one pod's change among those through composites, processor time, p50",
    unit: 'ms',
    target: { atMost: 2 },
  },
  {
    name: 'compile-memory',
    what: 'heap of the model of 10,000 front ends × 10 through composites',
    unit: 'MiB',
    target: { none: 'none in the design' },
  },
];

const group = 'gateway.networking.x-k8s.io';

function change(object: unknown): Change {
  const projection = project(object);
  if ('errors' in projection) throw new Error(JSON.stringify(projection.errors));
  return projection;
}

const pod = (i: number, j: number, ready: boolean): Change =>
  change({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `s${i}-${j}`,
      namespace: 'shop',
      labels: { app: `s${i}`, 'pod-template-hash': `${i}x${j}` },
    },
    spec: { nodeName: `n${(i + j) % 20}` },
    status: {
      phase: 'Running',
      podIPs: [{ ip: `10.${i >> 8}.${i & 255}.${j + 1}` }],
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
    },
  });

function frontEnd(i: number, composite: boolean): Change[] {
  const metadata = { name: `s${i}`, namespace: 'shop', generation: 1 };
  const backendRef = composite
    ? { group: 'causeway.dev', kind: 'CompositeBackend', name: `s${i}`, port: 80 }
    : { group, kind: 'XEndpointSelector', name: `s${i}`, port: 8080 };
  const gateway = {
    spec: { gatewayClassName: 'c', listeners: [{ name: 'http', port: 80, protocol: 'TCP' }] },
  };
  const route = { spec: { parentRefs: [{ name: `s${i}` }], rules: [{ backendRefs: [backendRef] }] } };
  const selector = { spec: { selector: { matchLabels: { app: `s${i}` } } } };
  const merged = {
    spec: {
      ports: [{ port: 80, targetPort: 8080 }],
      backends: [{ group, kind: 'XEndpointSelector', name: `s${i}` }],
    },
  };
  const claim = {
    address: `10.96.${i >> 8}.${i & 255}`,
    gateway: { ...metadata, uid: '' },
    state: 'bound',
  } as const;
  return [
    change({ apiVersion: 'gateway.networking.k8s.io/v1', kind: 'Gateway', metadata, ...gateway }),
    change({ apiVersion: 'gateway.networking.k8s.io/v1', kind: 'TCPRoute', metadata, ...route }),
    change({ apiVersion: `${group}/v1alpha1`, kind: 'XEndpointSelector', metadata, ...selector }),
    ...(composite
      ? [change({ apiVersion: 'causeway.dev/v1alpha1', kind: 'CompositeBackend', metadata, ...merged })]
      : []),
    { kind: 'Claim', key: claim.address, value: claim },
    ...Array.from({ length: 10 }, (_, j) => pod(i, j, true)),
  ];
}

/** Milliseconds of processor time. */
function cpu(run: () => void): number {
  const start = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

interface Compiled {
  readonly fullMs: number;
  readonly changesMs: readonly number[];
  readonly heapMiB: number;
}

/** Through composites, as names of several clusters are, or to selectors directly. */
function measure(count: number, changes: number, composite: boolean): Compiled {
  const records = [
    change({
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'GatewayClass',
      metadata: { name: 'c' },
      spec: { controllerName: defaultModelConfig.controllerName },
    }),
    ...Array.from({ length: 20 }, (_, i) =>
      change({ apiVersion: 'v1', kind: 'Node', metadata: { name: `n${i}` } }),
    ),
    ...Array.from({ length: count }, (_, i) => frontEnd(i, composite)).flat(),
  ];
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  const model = new Model(defaultModelConfig);
  const fullMs = cpu(() => model.update(records, 1));
  globalThis.gc?.();
  const heapMiB = (process.memoryUsage().heapUsed - before) / 2 ** 20;
  const changesMs = Array.from({ length: changes }, (_, k) => {
    const one = pod((k * 7919) % count, 3, k % 2 === 1);
    return cpu(() => model.update([one], 2 + k));
  });
  return { fullMs, changesMs, heapMiB };
}

export const compile: Bench = {
  name: 'compile',
  figures,
  run: async ({ quick, say }): Promise<Results> => {
    const [count, changes] = quick ? [500, 50] : [10_000, 1000];
    say(`${count} front ends × 10 to selectors`);
    const direct = measure(count, changes, false);
    say(`${count} front ends × 10 through composites`);
    const merged = measure(count, changes, true);
    return {
      'compile-full': { ours: once(direct.fullMs / 1000) },
      'compile-change': { ours: spreadOf(direct.changesMs) },
      'compile-change-p99': { ours: once(percentile(direct.changesMs, 0.99)) },
      'compile-full-composite': { ours: once(merged.fullMs / 1000) },
      'compile-change-composite': { ours: spreadOf(merged.changesMs) },
      'compile-memory': { ours: once(merged.heapMiB) },
    };
  },
};

if (import.meta.main) await runAlone(compile);
