import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { kinds, type Objects, type Projection, project } from './kinds.ts';

const load = (yaml: string) => project(parse(yaml));

function good<K extends keyof Objects>(kind: K, yaml: string): Objects[K] {
  const result = load(yaml);
  if ('errors' in result) throw new Error(JSON.stringify(result.errors));
  expect(result.kind).toBe(kind);
  return result.value as Objects[K];
}

function errors(yaml: string): string[] {
  const result = load(yaml);
  return 'errors' in result
    ? result.errors.map((e) => `${e.path}: ${e.message}${e.hint ? ` (${e.hint})` : ''}`)
    : [];
}

const route = (spec: string) => `
apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {name: store, namespace: shop}
spec: ${spec}`;

describe('defaults are those of the API server', () => {
  test('of a Gateway', () => {
    const gateway = good(
      'Gateway',
      `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: store}
spec:
  gatewayClassName: cluster-ip
  listeners: [{name: http, port: 80, protocol: TCP, allowedRoutes: {kinds: [{kind: TCPRoute}]}}]
  addresses: [{value: 10.0.0.1}]`,
    );
    expect(gateway).toEqual({
      metadata: {
        name: 'store',
        namespace: 'default',
        uid: '',
        generation: 0,
        creationTimestamp: '',
        labels: {},
        annotations: {},
      },
      spec: {
        gatewayClassName: 'cluster-ip',
        listeners: [
          {
            name: 'http',
            port: 80,
            protocol: 'TCP',
            allowedRoutes: {
              namespaces: { from: 'Same' },
              kinds: [{ group: 'gateway.networking.k8s.io', kind: 'TCPRoute' }],
            },
          },
        ],
        addresses: [{ type: 'IPAddress', value: '10.0.0.1' }],
      },
    });
  });

  test('of a route; null counts as absent', () => {
    const { spec } = good(
      'TCPRoute',
      route('{parentRefs: [{name: g, port: null}], rules: [{backendRefs: [{name: s, port: 1}]}]}'),
    );
    expect(spec.parentRefs).toEqual([{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'g' }]);
    expect(spec.rules).toEqual([
      { backendRefs: [{ group: '', kind: 'Service', name: 's', port: 1, weight: 1 }] },
    ]);
  });

  test('of a composite', () => {
    const composite = good(
      'CompositeBackend',
      'apiVersion: causeway.dev/v1alpha1\nkind: CompositeBackend\nmetadata: {name: store, namespace: shop}',
    );
    expect(composite.spec).toEqual({
      ports: [],
      backends: [],
      import: { from: [{}] },
      export: { to: [{}] },
      distribution: { policy: 'Even', localThresholdPercent: 50 },
      disconnect: { expireAfter: '15m' },
    });
  });

  test('an empty list replaces a default list', () => {
    const composite = good(
      'CompositeBackend',
      'apiVersion: causeway.dev/v1alpha1\nkind: CompositeBackend\nmetadata: {name: a}\nspec: {import: {from: []}, export: {to: []}}',
    );
    expect(composite.spec.import.from).toEqual([]);
    expect(composite.spec.export.to).toEqual([]);
  });

  test('singular fields of old writers become lists', () => {
    const pod = good(
      'Pod',
      'apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {}\nstatus: {podIP: 10.0.0.1, phase: Running}',
    );
    expect(pod.status).toEqual({ podIPs: [{ ip: '10.0.0.1' }], phase: 'Running', conditions: [] });
    const node = good(
      'Node',
      'apiVersion: v1\nkind: Node\nmetadata: {name: a}\nspec: {podCIDR: 10.0.0.0/24}',
    );
    expect(node.spec).toEqual({ podCIDRs: ['10.0.0.0/24'], taints: [] });
    const service = good(
      'Service',
      'apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {clusterIP: None}',
    );
    expect(service.spec.clusterIPs).toEqual(['None']);
  });
});

describe('errors say what was expected, what was found, and where', () => {
  test.each([
    [
      route('{rules: [{backendRefs: [{name: s, port: http}]}]}'),
      'spec.rules[0].backendRefs[0].port: expected an integer from 1 to 65535, found "http"',
    ],
    [
      route('{rules: [{backendRef: [{name: s, port: 1}]}]}'),
      'spec.rules[0].backendRefs: expected a list of 1 to 16 items, found none (did you mean "backendRefs" where it says "backendRef"?)',
    ],
    [
      route('{rules: [{backendRefs: [{name: s}]}]}'),
      'spec.rules[0].backendRefs[0].port: expected a port with kind Service, found none',
    ],
    [
      route('{rules: [{backendRefs: [{name: s, port: 1, weight: -1}]}]}'),
      'spec.rules[0].backendRefs[0].weight: expected an integer from 0 to 1000000, found -1',
    ],
    [
      'apiVersion: v1\nkind: Namespace\nmetadata: {name: a, labels: {env: 1}}',
      'metadata.labels["env"]: expected a label value (letters, digits, "-", "_", "."; at most 63; quote numbers and booleans), found 1 (quote it: "1")',
    ],
    [
      'apiVersion: causeway.dev/v1alpha1\nkind: CompositeBackend\nmetadata: {name: a}\nspec: {distribution: {policy: even}}',
      'spec.distribution.policy: expected "Even" or "PreferLocal" or "Ordered" or "CapacityAware", found "even" (did you mean "Even"?)',
    ],
    [
      'apiVersion: causeway.dev/v1alpha1\nkind: XEndpointSelector\nmetadata: {name: a}\nspec: {selector: {matchLabels: {a: b}}}',
      'kind: "XEndpointSelector" in "causeway.dev/v1alpha1" is not a kind that Causeway reads (did you mean apiVersion "gateway.networking.x-k8s.io/v1alpha1", kind "XEndpointSelector"?)',
    ],
    [
      'apiVersion: gateway.networking.x-k8s.io/v1alpha1\nkind: XEndpointSelector\nmetadata: {name: a}\nspec: {selector: {}}',
      'spec.selector: expected at least one matchLabels or matchExpressions entry, found none',
    ],
    [
      'apiVersion: gateway.networking.k8s.io/v7\nkind: TCPRoute\nmetadata: {name: a}',
      'apiVersion: expected "gateway.networking.k8s.io/v1" or "gateway.networking.k8s.io/v1alpha2" for kind TCPRoute, found "gateway.networking.k8s.io/v7"',
    ],
    [
      'apiVersion: v1\nkind: Pod\nmetadata: {}\nspec: {}',
      'metadata.name: expected a DNS name (a-z, 0-9, "-" and ".", at most 253), found none',
    ],
    ['[1]', ': expected an object, found a list of 1'],
  ])('%#', (yaml, expected) => {
    expect(errors(yaml)).toContain(expected);
  });

  test('every error of an object is told, up to a bound', () => {
    const many = Array.from({ length: 16 }, () => '{name: 1, port: x, weight: y}').join(', ');
    expect(errors(route(`{rules: [{backendRefs: [${many}]}]}`))).toHaveLength(20);
  });
});

test.each([
  ['gateway.networking.k8s.io/v1', 'TCPRout', false],
  ['gateway.networking.x-k8s.io/v1alpha1', 'EndpointSelector', false],
  ['causeway.dev/v1alpha1', 'Anything', false],
  ['gateway.networking.k8s.io/v1', 'HTTPRoute', true],
  ['v1', 'Pods', true],
  ['example.com/v1', 'CompositeBackend', true],
])('%s %s: somebody else may mean it: %s', (apiVersion, kind, unknownKind) => {
  expect(project({ apiVersion, kind, metadata: { name: 'a' } })).toMatchObject({ unknownKind });
});

test('a kind of somebody else is no mistake', () => {
  const result = load('apiVersion: networking.istio.io/v1\nkind: Gateway\nmetadata: {name: a}');
  expect(result).toMatchObject({ unknownKind: true, kind: 'Gateway', namespace: '', name: 'a' });
});

test('keys that every object inherits are plain keys', () => {
  const labels = JSON.parse('{"constructor": "a", "toString": "b"}');
  const namespace = project({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'a', labels } });
  expect(namespace).toMatchObject({ value: { metadata: { labels: { constructor: 'a', toString: 'b' } } } });
  const value = (namespace as Projection).value;
  expect('hasOwnProperty' in value.metadata.labels).toBe(false);
  const proto = JSON.parse('{"__proto__": "x"}');
  expect(
    project({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'a', labels: proto } }),
  ).toHaveProperty('errors');
});

test('the same record comes out of a record: projecting twice changes nothing', () => {
  const composite = load(
    'apiVersion: causeway.dev/v1alpha1\nkind: CompositeBackend\nmetadata: {name: a}\nspec: {ports: [{port: 80}], backends: [{name: b}]}',
  ) as Projection;
  const again = project({
    apiVersion: 'causeway.dev/v1alpha1',
    kind: 'CompositeBackend',
    ...composite.value,
  });
  expect(again).toEqual(composite);
});

describe('any input gives a record or errors with a path and a message', () => {
  const kind = fc.constantFrom(...Object.values(kinds));
  const weird = fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withNullPrototype: true,
    withSparseArray: true,
    withTypedArray: true,
    withObjectString: true,
    maxDepth: 5,
  });

  test('of any shape', () => {
    fc.assert(fc.property(weird, (raw) => void project(raw)));
  });

  test('under a known kind', () => {
    fc.assert(
      fc.property(kind, weird, weird, weird, (definition, meta, spec, status) => {
        const apiVersion = `${definition.group}${definition.group ? '/' : ''}${definition.versions[0]}`;
        const result = project({
          apiVersion,
          kind: definition.kind,
          metadata: meta,
          spec,
          status,
          endpoints: spec,
        });
        if ('errors' in result) {
          expect(result.errors.length).toBeGreaterThan(0);
          for (const error of result.errors) expect(error.message).toMatch(/^expected /);
        }
      }),
    );
  });

  test('with values that throw when they are read', () => {
    const trap = {
      get kind(): string {
        throw new Error('no');
      },
    };
    expect(project(trap)).toMatchObject({ errors: [{ path: '' }] });
    expect(project(new Proxy({}, { ownKeys: () => [][0] as never }))).toHaveProperty('errors');
  });

  test('deep and huge', () => {
    let deep: unknown = {};
    for (let i = 0; i < 100_000; i += 1) deep = { spec: deep };
    expect(project(deep)).toHaveProperty('errors');
    expect(
      project({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, spec: deep }),
    ).not.toHaveProperty('errors');
    const rules = Array.from({ length: 1_000_000 }, () => ({}));
    const result = project({
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'TCPRoute',
      metadata: { name: 'a' },
      spec: { rules },
    });
    expect(result).toMatchObject({
      errors: [{ path: 'spec.rules', message: 'expected a list of exactly 1 item, found 1000000 items' }],
    });
  });
});
