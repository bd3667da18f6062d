import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { familyOf } from '../wire/address.ts';
import type { Compiled, Touched } from './compiled.ts';
import type { Change } from './inputs.ts';
import { Model } from './model.ts';
import { defaultModelConfig, type ModelConfig } from './model-config.ts';
import { readInputs } from './read-inputs.ts';

/** A small world in which everything refers to everything: few names, so that references often resolve. */
const namespace = fc.constantFrom('a', 'a', 'a', 'b');
const name = fc.constantFrom('x', 'x', 'x', 'y', 'y', 'dotted.name');
const label = fc.constantFrom('x', 'y');
const port = fc.constantFrom(80, 80, 8080);
const appProtocol = fc.constantFrom(undefined, 'http', 'grpc');
const cluster = fc.constantFrom('west', 'north');
const protocol = fc.constantFrom('TCP', 'TCP', 'UDP');
const address = fc.constantFrom('10.1.0.1', '10.1.0.2', '10.2.0.1', 'fd00::1', '127.0.0.1', '10.96.0.9');
const labels = fc.record(
  { app: fc.constantFrom('x', 'y'), tier: fc.constantFrom('1', '2') },
  { requiredKeys: [] },
);
const created = fc.constantFrom('', '2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z');
const named = (names: fc.Arbitrary<string>) =>
  fc.record({ name: names, namespace, labels, creationTimestamp: created, generation: fc.nat(3) });
const metadata = named(name);
const selector = fc.oneof(
  labels.map((matchLabels) => ({ matchLabels })),
  fc.record({
    matchExpressions: fc.array(
      fc.oneof(
        fc.record({
          key: fc.constant('app'),
          operator: fc.constantFrom('In', 'NotIn'),
          values: fc.constant(['x']),
        }),
        fc.record({ key: fc.constant('tier'), operator: fc.constantFrom('Exists', 'DoesNotExist') }),
      ),
      { minLength: 1, maxLength: 2 },
    ),
  }),
);

const api = (
  apiVersion: string,
  kind: string,
  meta: fc.Arbitrary<unknown>,
  fields: Record<string, fc.Arbitrary<unknown>>,
) => fc.record({ apiVersion: fc.constant(apiVersion), kind: fc.constant(kind), metadata: meta, ...fields });

const gateways = 'gateway.networking.k8s.io/v1';
const experimental = 'gateway.networking.x-k8s.io/v1alpha1';

const backendRef = fc.oneof(
  fc.record({
    group: fc.constantFrom('gateway.networking.x-k8s.io', 'causeway.dev', ''),
    kind: fc.constantFrom('XEndpointSelector', 'CompositeBackend', 'Service', 'Secret'),
    name,
    namespace,
    port,
    weight: fc.nat(3),
  }),
  fc.record({ group: fc.constant('gateway.networking.x-k8s.io'), kind: fc.constant('XBackend'), name }),
  fc.record({ group: fc.constant('causeway.dev'), kind: fc.constant('CompositeBackend'), name, port }),
);

const route = (kind: string) =>
  api(gateways, kind, metadata, {
    spec: fc.record({
      parentRefs: fc.uniqueArray(
        fc.oneof(
          fc.record({ name, namespace }),
          fc.record({ name, kind: fc.constant('Service'), group: fc.constant('') }),
        ),
        { maxLength: 2, selector: (ref) => JSON.stringify(ref) },
      ),
      rules: fc.tuple(fc.record({ backendRefs: fc.array(backendRef, { minLength: 1, maxLength: 3 }) })),
    }),
  });

const clusters = fc.oneof(
  fc.constant({}),
  fc.record({ names: fc.uniqueArray(cluster, { maxLength: 2 }) }),
  fc.record({ matchLabels: fc.constantFrom({ env: 'prod' }, { region: 'eu' }) }),
);

const otherSide = fc.record({ clusters, namespace, name }, { requiredKeys: ['clusters'] });

const composite = api('causeway.dev/v1alpha1', 'CompositeBackend', metadata, {
  spec: fc.record(
    {
      ports: fc.uniqueArray(
        fc.record(
          { port, protocol, targetPort: fc.constantFrom(8080, 'web') },
          { requiredKeys: ['port', 'protocol'] },
        ),
        { maxLength: 2, selector: (p) => `${p.port}${p.protocol}` },
      ),
      backends: fc.array(
        fc.oneof(
          fc.record({ name }),
          fc.record({
            group: fc.constant('gateway.networking.x-k8s.io'),
            kind: fc.constantFrom('XEndpointSelector', 'XBackend'),
            name,
          }),
          fc.record({ group: fc.constant('causeway.dev'), kind: fc.constant('CompositeBackend'), name }),
        ),
        { maxLength: 3 },
      ),
      import: fc.record({ from: fc.array(otherSide, { maxLength: 2 }) }),
      export: fc.record({ to: fc.array(otherSide, { maxLength: 2 }) }),
      distribution: fc.oneof(
        fc.record({ policy: fc.constantFrom('Even', 'PreferLocal', 'CapacityAware') }),
        fc.record({
          policy: fc.constant('Ordered'),
          order: fc.array(clusters, { minLength: 1, maxLength: 2 }),
        }),
      ),
      disconnect: fc.record({ expireAfter: fc.constantFrom('Never', '10s', '1m') }),
    },
    { requiredKeys: [] },
  ),
});

const pod = api(
  'v1',
  'Pod',
  fc.record({
    name: fc.constantFrom('p1', 'p2', 'p3'),
    namespace,
    labels,
    deletionTimestamp: fc.constantFrom(undefined, '2026-01-01T00:00:00Z'),
  }),
  {
    spec: fc.record({
      nodeName: fc.constantFrom('n1', 'n2'),
      containers: fc.tuple(
        fc.record({
          ports: fc.array(fc.record({ name: fc.constant('web'), containerPort: port }), { maxLength: 1 }),
        }),
      ),
    }),
    status: fc.record({
      phase: fc.constantFrom('Running', 'Failed'),
      podIPs: fc.uniqueArray(
        address.map((ip) => ({ ip })),
        { maxLength: 2, selector: ({ ip }) => ip },
      ),
      conditions: fc.tuple(
        fc.record({ type: fc.constant('Ready'), status: fc.constantFrom('True', 'False') }),
      ),
    }),
  },
);

const document = fc.oneof(
  api(gateways, 'GatewayClass', fc.record({ name }), {
    spec: fc.record({
      controllerName: fc.constantFrom(
        'causeway.dev/gateway-controller',
        'causeway.dev/gateway-controller',
        'other.example/controller',
      ),
    }),
  }),
  api(gateways, 'Gateway', metadata, {
    spec: fc.record({
      gatewayClassName: fc.constantFrom('x', 'x', 'x', 'y'),
      listeners: fc
        .uniqueArray(
          fc.record({
            port,
            protocol: fc.constantFrom('TCP', 'TCP', 'UDP', 'HTTP'),
            allowedRoutes: fc.record({
              namespaces: fc.record({ from: fc.constantFrom('All', 'Same', 'Selector'), selector }),
            }),
          }),
          { minLength: 1, maxLength: 3, selector: (l) => `${l.port}${l.protocol}` },
        )
        .map((listeners) => listeners.map((l, i) => ({ ...l, name: `l${i}` }))),
      addresses: fc.uniqueArray(
        fc.record({ value: fc.constantFrom('10.96.0.5', '10.96.0.6', '::', '9.9.9.9') }),
        { maxLength: 2, selector: ({ value }) => value },
      ),
    }),
  }),
  route('TCPRoute'),
  route('UDPRoute'),
  composite,
  api(experimental, 'XEndpointSelector', metadata, {
    spec: fc.record({
      selector,
      ports: fc.constantFrom([], [{ name: 'web', targetPort: 8080, appProtocol: 'http' }]),
    }),
  }),
  api(experimental, 'XBackend', metadata, {
    spec: fc.record({
      type: fc.constant('EndpointSelector'),
      port: fc.record({ number: port }),
      endpointSelector: fc.record({ matchLabels: fc.constantFrom({ app: 'x' }, { tier: '1' }) }),
    }),
  }),
  api('v1', 'Service', named(label), {
    spec: fc.record({
      ports: fc.tuple(fc.record({ name: fc.constant('web'), port, protocol, appProtocol })),
    }),
  }),
  api(
    'discovery.k8s.io/v1',
    'EndpointSlice',
    fc.record({ name: label, namespace, labels: fc.record({ 'kubernetes.io/service-name': label }) }),
    {
      addressType: fc.constantFrom('IPv4', 'IPv6'),
      ports: fc.tuple(fc.record({ name: fc.constant('web'), port, protocol })),
      endpoints: fc.array(
        fc.record({
          addresses: fc.tuple(address),
          conditions: fc.record({ ready: fc.boolean(), serving: fc.boolean(), terminating: fc.boolean() }),
          nodeName: fc.constantFrom('n1', 'n2'),
          targetRef: fc.record({ kind: fc.constant('Pod'), name: fc.constantFrom('p1', 'p2') }),
        }),
        { maxLength: 3 },
      ),
    },
  ),
  pod,
  pod,
  pod,
  api(
    'v1',
    'Node',
    fc.record({
      name: fc.constantFrom('n1', 'n2'),
      labels: fc.record({ 'topology.kubernetes.io/zone': fc.constantFrom('z1', 'z2') }),
    }),
    {},
  ),
  api('v1', 'Namespace', fc.record({ name: namespace, labels }), {}),
  api(gateways, 'ReferenceGrant', metadata, {
    spec: fc.record({
      from: fc.tuple(
        fc.record({
          group: fc.constant('gateway.networking.k8s.io'),
          kind: fc.constant('TCPRoute'),
          namespace,
        }),
      ),
      to: fc.tuple(fc.record({ group: fc.constant('causeway.dev'), kind: fc.constant('CompositeBackend') })),
    }),
  }),
  fc.record({
    kind: fc.constant('Claim'),
    address: fc.constantFrom('10.96.0.5', '10.96.0.6', 'fd00:96::5'),
    key: fc.constantFrom('one', 'two', 'three'),
    gateway: fc.record({ namespace, name, uid: fc.constant('') }),
    state: fc.constantFrom('bound', 'bound', 'releasing'),
  }),
  fc.record({
    kind: fc.constant('Contribution'),
    cluster: fc.constantFrom('west', 'north', 'east'),
    namespace,
    composite: name,
    from: fc.constantFrom(undefined, undefined, 'a/x', 'a/y', 'b/x'),
    protocol,
    port,
    ready: fc.nat(3),
    selected: fc.nat(3),
    endpoints: fc.array(
      fc.record({
        addresses: fc.tuple(address),
        port,
        zone: fc.constantFrom('', 'z'),
        health: fc.constantFrom('Healthy', 'Draining'),
      }),
      { maxLength: 3 },
    ),
  }),
  fc.record({
    kind: fc.constant('Origin'),
    cluster,
    region: fc.constantFrom('eu', 'us'),
    network: fc.constantFrom('default', 'default', 'n2'),
    labels: fc.constantFrom({}, { env: 'prod' }),
    state: fc.constantFrom('Synced', 'Syncing', 'Stale'),
    staleSince: fc.nat(100_000),
  }),
  fc.record({ namespace, name, protocol, port, complete: fc.boolean() }).map(({ complete, ...at }) => ({
    kind: 'Import',
    key: `${at.namespace}/${at.name}/${at.protocol.toLowerCase()}-${at.port}`,
    complete,
  })),
  fc
    .record({ namespace, name, port, cluster, failing: fc.array(fc.tuple(address, port)) })
    .map(({ failing, ...at }) => ({
      kind: 'Probe',
      key: `${at.namespace}/${at.name}/tcp-${at.port}/${at.cluster}`,
      failing: failing.map((place) => place.join(' ')).sort(),
    })),
  fc
    .record({ namespace, name, generation: fc.nat(3), programmed: fc.boolean() })
    .map(({ namespace: ns, name: gateway, ...rest }) => ({
      kind: 'Programming',
      key: `${ns}/${gateway}`,
      message: '',
      ...rest,
    })),
);

interface RandomChange {
  readonly errors: readonly string[];
  readonly change: Change | undefined;
}

/** A document, or the removal of what it names. */
const change = fc.tuple(document as fc.Arbitrary<unknown>, fc.nat(3)).map(([value, fate]): RandomChange => {
  const { changes, errors } = readInputs([value]);
  const found = changes[0];
  return { errors, change: found && fate === 0 ? ({ ...found, value: undefined } as Change) : found };
});

const config: ModelConfig = { ...defaultModelConfig, cluster: 'east', region: 'eu', relay: true };

const rowTables = ({ frontends, backends, nodes, statuses, claims, exports, probes }: Compiled) =>
  Object.entries({ frontends, backends, nodes, statuses, claims, exports, probes });

function plain(compiled: Compiled) {
  const tables = rowTables(compiled).map(([table, rows]) => [table, [...rows]]);
  return {
    ...Object.fromEntries(tables),
    imports: [...compiled.imports],
    problems: compiled.problems,
  };
}

/** Where a random walk starts: a world in which everything resolves. */
const base = readInputs(
  parseAllDocuments(readFileSync(join(import.meta.dirname, 'model.test.yaml'), 'utf8')).map((document) =>
    document.toJS(),
  ),
).changes;

/** What is left of a list of changes, in any order. */
function lastOf(changes: readonly Change[]): Change[] {
  const last = new Map(changes.map((c) => [`${c.kind} ${c.key}`, c]));
  return [...last.values()].filter(({ value }) => value !== undefined);
}

const walk = fc.array(fc.tuple(fc.array(change, { maxLength: 12 }), fc.nat(20_000)), {
  minLength: 1,
  maxLength: 8,
});

test('incremental equals from scratch, whatever changes when', () => {
  const seen = { endpoints: 0, remote: 0, draining: 0, rejected: 0, imports: 0, exports: 0, probes: 0 };
  fc.assert(
    fc.property(walk, fc.infiniteStream(fc.nat()), (rounds, random) => {
      const model = new Model(config);
      const all: Change[] = [...base];
      let now = 0;
      model.update(base, now);
      for (const [round, passed] of rounds) {
        const changes = round.flatMap((item) => item.change ?? []);
        all.push(...changes);
        now += passed;
        const before = snapshot(model.compiled);
        const touched = model.update(changes, now);
        const scratch = new Model(config);
        scratch.update(shuffled(lastOf(all), random), now);
        expect(plain(model.compiled)).toEqual(plain(scratch.compiled));
        expect(model.nextDeadline).toBe(scratch.nextDeadline);
        expect(model.compiled.problems.filter(({ code }) => code === 'Internal')).toEqual([]);
        expectTouched(before, snapshot(model.compiled), touched);
        expectSorted(model.compiled);
        expectSound(model.compiled);
        count(model.compiled, seen);
      }
    }),
    { numRuns: 100 },
  );
  // The walks came by what matters.
  for (const [what, times] of Object.entries(seen)) expect(times, what).toBeGreaterThan(50);
});

test('what is removed leaves nothing behind', () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 40 }), (items) => {
      const model = new Model(config);
      const changes = [...base, ...items.flatMap((item) => item.change ?? [])];
      model.update(changes, 0);
      model.update(
        lastOf(changes).map((c) => ({ ...c, value: undefined }) as Change),
        1,
      );
      expect(plain(model.compiled)).toEqual(plain(new Model(config).compiled));
      expect(model.size).toEqual({ units: 0, cells: 0 });
    }),
    { numRuns: 100 },
  );
});

test('the same records again run no unit', () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 40 }), (items) => {
      const model = new Model(config);
      const changes = [...base, ...items.flatMap((item) => item.change ?? [])];
      model.update(changes, 0);
      const runs = new Map(model.runs);
      const again = structuredClone(lastOf(changes));
      const touched = model.update(again, 0);
      expect(Object.values(touched).every((keys) => keys.size === 0)).toBe(true);
      expect(new Map(model.runs)).toEqual(runs);
    }),
    { numRuns: 100 },
  );
});

type Snapshot = Readonly<Record<string, ReadonlyMap<string, unknown>>>;

const snapshot = (compiled: Compiled): Snapshot => ({
  ...Object.fromEntries(
    rowTables(compiled).map(([table, rows]) => [table, new Map(rows as ReadonlyMap<string, unknown>)]),
  ),
  imports: new Map([...compiled.imports].map((key) => [key, true])),
});

/** Exactly the rows that differ are touched. */
function expectTouched(before: Snapshot, after: Snapshot, touched: Touched): void {
  for (const [table, keys] of Object.entries(touched)) {
    const rows = new Set([...(before[table]?.keys() ?? []), ...(after[table]?.keys() ?? [])]);
    const changed = [...rows].filter((key) => {
      return JSON.stringify(before[table]?.get(key)) !== JSON.stringify(after[table]?.get(key));
    });
    expect([...keys].sort(), table).toEqual(changed.sort());
  }
}

function expectSorted(compiled: Compiled): void {
  for (const rows of Object.values(snapshot(compiled)))
    expect([...rows.keys()]).toEqual([...rows.keys()].sort());
}

/** What outputs take for granted. */
function expectSound({ frontends, backends, statuses }: Compiled): void {
  const targets = [...frontends.values()].flatMap(({ ports }) => ports.flatMap((p) => p.targets));
  expect(new Set(targets.flatMap(({ backend }) => backend ?? []))).toEqual(new Set(backends.keys()));
  for (const { vips } of frontends.values()) expect(new Set(vips.map(familyOf)).size).toBe(vips.length);
  for (const { key, groups } of backends.values()) {
    const priorities = [...new Set(groups.map((g) => g.priority))].sort((a, b) => a - b);
    expect(priorities, key).toEqual(priorities.map((_, i) => i));
    const places = groups.map((g) => `${g.cluster} ${g.zone}`);
    expect(places, key).toEqual([...new Set(places)].sort());
    const endpoints = groups.flatMap((g) => g.endpoints);
    const addresses = endpoints.flatMap((e) => e.addresses.map((address) => `${address} ${e.port}`));
    expect(addresses.length, key).toBe(new Set(addresses).size);
    if (endpoints.length > 0) expect(groups.some((g) => g.weight > 0)).toBe(true);
  }
  for (const { generation, status } of statuses.values()) {
    const text = JSON.stringify(status);
    const observed = [...text.matchAll(/"observedGeneration":(\d+)/g)].map((m) => Number(m[1]));
    expect(observed.length).toBeGreaterThan(0);
    expect(observed.every((g) => g === generation)).toBe(true);
  }
}

function count(
  { frontends, backends, imports, exports, probes }: Compiled,
  seen: Record<string, number>,
): void {
  const add = (what: string, times: number) => {
    seen[what] = (seen[what] ?? 0) + times;
  };
  const groups = [...backends.values()].flatMap((b) => b.groups);
  const endpoints = groups.flatMap((g) => g.endpoints);
  const targets = [...frontends.values()].flatMap((f) => f.ports.flatMap((p) => p.targets));
  add('endpoints', endpoints.length);
  add('draining', endpoints.filter(({ health }) => health === 'Draining').length);
  add('remote', groups.filter((g) => g.cluster !== config.cluster).length);
  add('rejected', targets.filter((t) => t.backend === null).length);
  add('imports', imports.size);
  add('exports', exports.size);
  add('probes', probes.size);
}

function shuffled<T>(items: readonly T[], random: Iterator<number>): T[] {
  const out = [...items];
  for (let i = out.length - 1; i > 0; i--) {
    const j = (random.next().value as number) % (i + 1);
    [out[i], out[j]] = [out[j] as T, out[i] as T];
  }
  return out;
}
