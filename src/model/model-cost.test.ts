import { expect, test } from 'vitest';
import { project } from '../api/kinds.ts';
import { Model } from './model.ts';
import { defaultModelConfig } from './model-config.ts';
import { readInputs } from './read-inputs.ts';

const pod = (name: string, app: string, ready = true) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'shop', labels: { app, tier: 'web' } },
  spec: {},
  status: {
    phase: 'Running',
    podIPs: [{ ip: `10.1.${name.length}.${name.charCodeAt(name.length - 1)}` }],
    conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
  },
});

function documents(count: number): unknown[] {
  const all: unknown[] = [
    {
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'GatewayClass',
      metadata: { name: 'c' },
      spec: { controllerName: defaultModelConfig.controllerName },
    },
  ];
  for (let i = 0; i < count; i++) {
    const metadata = { name: `s${i}`, namespace: 'shop' };
    const kind = 'XEndpointSelector';
    const group = 'gateway.networking.x-k8s.io';
    all.push(
      {
        apiVersion: 'gateway.networking.k8s.io/v1',
        kind: 'Gateway',
        metadata,
        spec: { gatewayClassName: 'c', listeners: [{ name: 'http', port: 80, protocol: 'TCP' }] },
      },
      {
        apiVersion: 'gateway.networking.k8s.io/v1',
        kind: 'TCPRoute',
        metadata,
        spec: {
          parentRefs: [{ name: `s${i}` }],
          rules: [{ backendRefs: [{ group, kind, name: `s${i}`, port: 80 }] }],
        },
      },
      {
        apiVersion: `${group}/v1alpha1`,
        kind,
        metadata,
        spec: { selector: { matchLabels: { tier: 'web', app: `s${i}` } } },
      },
      { kind: 'Claim', address: `10.96.1.${i}`, gateway: { ...metadata, uid: '' }, state: 'bound' },
      pod(`p${i}`, `s${i}`),
    );
  }
  return all;
}

/** Which units a change runs, and how often. */
function runsOf(model: Model, changed: unknown): Record<string, number> {
  const before = new Map(model.runs);
  const projection = project(changed);
  if ('errors' in projection) throw new Error(JSON.stringify(projection.errors));
  model.update([projection], 1);
  return Object.fromEntries(
    [...model.runs].flatMap(([unit, runs]) => {
      const more = runs - (before.get(unit) ?? 0);
      return more > 0 ? [[unit, more]] : [];
    }),
  );
}

test('a change runs only the units that read what changed, however many others there are', () => {
  const model = new Model(defaultModelConfig);
  const { changes, errors } = readInputs(documents(50));
  expect(errors).toEqual([]);
  model.update(changes, 0);
  expect(model.compiled.backends.size).toBe(50);

  expect(runsOf(model, pod('p7', 's7', false))).toEqual({ selectedPods: 1, backend: 1, selectsAnything: 1 });
  // Of the two only one changes from some pods to none.
  expect(runsOf(model, pod('p7', 's8'))).toEqual({
    selectedPods: 2,
    backend: 2,
    selectsAnything: 2,
    selectorStatus: 1,
  });
  expect(runsOf(model, pod('new', 'nobody'))).toEqual({});

  const irrelevant = pod('p7', 's8');
  const annotated = {
    ...irrelevant,
    metadata: { ...irrelevant.metadata, annotations: { 'causeway.dev/x': '1' } },
  };
  expect(runsOf(model, annotated)).toEqual({});

  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' } };
  expect(runsOf(model, node)).toEqual({ nodeFacts: 1 });
});
