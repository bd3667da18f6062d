import { project } from '../src/api/kinds.ts';
import type { Change } from '../src/model/inputs.ts';
import { Model } from '../src/model/model.ts';
import { defaultModelConfig } from '../src/model/model-config.ts';

/**
 * Processor time of compiling front ends with ten endpoints each, and of one pod's change among them.
 * `node --expose-gc bench/compile.ts [front ends] [selector|composite]`.
 */
const count = Number(process.argv[2] ?? 10_000);
const composite = process.argv[3] === 'composite';
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

function frontEnd(i: number): Change[] {
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

const changes = [
  change({
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'GatewayClass',
    metadata: { name: 'c' },
    spec: { controllerName: defaultModelConfig.controllerName },
  }),
  ...Array.from({ length: 20 }, (_, i) =>
    change({ apiVersion: 'v1', kind: 'Node', metadata: { name: `n${i}` } }),
  ),
  ...Array.from({ length: count }, (_, i) => frontEnd(i)).flat(),
];
globalThis.gc?.();
const before = process.memoryUsage().heapUsed;
const model = new Model(defaultModelConfig);
const all = cpu(() => model.update(changes, 1));
globalThis.gc?.();
const bytes = process.memoryUsage().heapUsed - before;

const samples = Array.from({ length: 1000 }, (_, k) => {
  const one = pod((k * 7919) % count, 3, k % 2 === 1);
  return cpu(() => model.update([one], 2 + k));
}).sort((a, b) => a - b);

console.log(
  JSON.stringify({
    frontends: model.compiled.frontends.size,
    backends: model.compiled.backends.size,
    records: changes.length,
    compileMs: Math.round(all),
    heapMB: Math.round(bytes / 1e6),
    podChangeMs: { p50: samples[500], p99: samples[990] },
  }),
);
