import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Backend, Endpoint, Frontend, Group, Ir, NodeFacts, Port } from '../../model/ir.ts';
import { servingGroups } from '../../model/serving-groups.ts';
import { render } from '../../outputs/xds/render.ts';
import { canonicalAddress } from '../../wire/address.ts';
import { codec } from '../../wire/proto/registry.ts';
import { typeUrls } from '../../wire/proto/type-urls.ts';
import { toMetadata } from '../../wire/proto/typed-config.ts';
import { decodeAssignment, decodeCluster, decodeListener, decodeNodes } from './decode.ts';
import { ResourceTables } from './resource-tables.ts';

const label = fc.stringMatching(/^[a-z]([-a-z0-9]{0,8}[a-z0-9])?$/);
const protocol = fc.constantFrom('TCP' as const, 'UDP' as const);
const portNumber = fc.integer({ min: 1, max: 65_535 });
const v4 = fc.ipV4().map((a) => canonicalAddress(a) as string);
const v6 = fc.ipV6().map((a) => canonicalAddress(a) as string);
const families = fc.oneof(
  v4.map((a) => [a]),
  v6.map((a) => [a]),
  fc.tuple(v4, v6).map((both) => [...both]),
);
const backendKey = fc
  .tuple(fc.constantFrom('composite', 'selector', 'service'), label, label, protocol, portNumber)
  .map(([kind, ns, name, proto, port]) => `${kind}/${ns}/${name}/${proto.toLowerCase()}-${port}`);
const port: fc.Arbitrary<Port> = fc.record(
  {
    protocol,
    port: portNumber,
    listeners: fc.uniqueArray(label, { minLength: 1, maxLength: 3 }),
    appProtocol: fc.constantFrom('http', 'kubernetes.io/h2c'),
    targets: fc.array(
      fc.record({ backend: fc.option(backendKey), weight: fc.integer({ min: 0, max: 1_000_000 }) }),
      { maxLength: 4 },
    ),
  },
  { requiredKeys: ['protocol', 'port', 'listeners', 'targets'] },
);
const frontend: fc.Arbitrary<Frontend> = fc.record({
  key: fc.tuple(fc.constantFrom('gateway', 'service'), label, label).map((parts) => parts.join('/')),
  generation: fc.nat(),
  names: fc.uniqueArray(
    fc.tuple(label, label).map(([a, b]) => `${a}.${b}.gw.cluster.local`),
    { maxLength: 2 },
  ),
  ttl: fc.nat(86_400),
  vips: families,
  ports: fc.uniqueArray(port, { minLength: 1, maxLength: 4, selector: (p) => `${p.protocol} ${p.port}` }),
});
const endpoint: fc.Arbitrary<Endpoint> = fc
  .record({
    addresses: families,
    port: portNumber,
    health: fc.constantFrom('Healthy' as const, 'Draining' as const),
    weight: fc.integer({ min: 1, max: 1000 }),
    snat: fc.boolean(),
  })
  .map(({ snat, ...rest }) => (snat ? { ...rest, snat } : rest));
const groups: fc.Arbitrary<Group[]> = fc
  .uniqueArray(
    fc.record({
      cluster: label,
      network: fc.constantFrom('', 'n1'),
      region: label,
      zone: fc.oneof(label, fc.constant('')),
      priority: fc.nat(3),
      weight: fc.oneof(fc.nat(1000), fc.constant(0xffff_ffff)),
      endpoints: fc.array(endpoint, { minLength: 1, maxLength: 5 }),
    }),
    { maxLength: 5, selector: (g) => `${g.cluster} ${g.zone}` },
  )
  .map((list) => {
    const used = [...new Set(list.map((g) => g.priority))].sort((a, b) => a - b);
    return list.map((g) => ({ ...g, priority: used.indexOf(g.priority) }));
  });
const backend: fc.Arbitrary<Backend> = fc
  .record({
    key: backendKey,
    policy: fc.constantFrom('Even' as const, 'PreferLocal' as const, 'Ordered' as const),
    groups,
    withheld: fc.boolean(),
  })
  .map(({ withheld, ...rest }) => (withheld ? { ...rest, groups: [], withheld } : rest));
const node: fc.Arbitrary<NodeFacts> = fc.record(
  {
    name: label,
    zone: fc.oneof(label, fc.constant('')),
    podCIDRs: fc.uniqueArray(
      v4.map((a) => `${a}/24`),
      { maxLength: 2 },
    ),
    reserved: fc.constant(true as const),
  },
  { requiredKeys: ['name', 'zone', 'podCIDRs'] },
);
const byKey = <T>(list: readonly T[], key: (item: T) => string) =>
  new Map([...list].sort((a, b) => (key(a) < key(b) ? -1 : 1)).map((item) => [key(item), item]));
const ir: fc.Arbitrary<Ir> = fc
  .record({
    frontends: fc.uniqueArray(frontend, { maxLength: 4, selector: (f) => f.key }),
    backends: fc.uniqueArray(backend, { maxLength: 4, selector: (b) => b.key }),
    nodes: fc.uniqueArray(node, { maxLength: 4, selector: (n) => n.name }),
  })
  .map((lists) => ({
    frontends: byKey(lists.frontends, (f) => f.key),
    backends: byKey(lists.backends, (b) => b.key),
    nodes: byKey(lists.nodes, (n) => n.name),
  }));

/** As it looks from the other side: one front end per port, and of back ends what may take traffic. */
function split(whole: Ir): Ir {
  const backends = [...whole.backends.values()].map((b) => ({ ...b, groups: servingGroups(b.groups) }));
  const ports = [...whole.frontends.values()].flatMap((f) =>
    f.ports.map((p) => ({ ...f, key: `${f.key}/${p.protocol.toLowerCase()}-${p.port}`, ports: [p] })),
  );
  return { ...whole, frontends: byKey(ports, (f) => f.key), backends: byKey(backends, (b) => b.key) };
}

test('what is rendered is read back as it was', () => {
  fc.assert(
    fc.property(ir, (whole) => {
      const tables = new ResourceTables();
      for (const { typeUrl, name, body } of render(whole)) {
        if (!body) continue;
        const update = { typeUrl, upserts: [{ name, version: '', body }], removals: [], complete: false };
        expect(tables.apply(update)).toEqual([]);
      }
      const read = tables.take().ir;
      const wanted = split(whole);
      for (const table of ['frontends', 'backends', 'nodes'] as const) {
        expect(new Map<string, unknown>(read[table])).toEqual(wanted[table]);
      }
      expect(tables.hasAssignments).toBe([...whole.backends.values()].every((b) => !b.withheld));
    }),
  );
});

test('any bytes are read or refused with what was expected', () => {
  const decoders = [decodeListener, decodeCluster, decodeAssignment, decodeNodes] as const;
  const attempt = (name: string, bytes: Uint8Array): void => {
    for (const decode of decoders) {
      const result = decode(name, bytes);
      if ('refused' in result) expect(result.refused).toMatch(/./);
    }
  };
  fc.assert(fc.property(fc.string(), fc.uint8Array({ maxLength: 300 }), attempt));
  fc.assert(
    fc.property(ir, fc.nat(), fc.nat(255), (whole, at, value) => {
      for (const { name, body } of render(whole)) {
        if (!body || body.length === 0) continue;
        const changed = Uint8Array.from(body);
        changed[at % changed.length] = value;
        attempt(name, changed);
        attempt(name, changed.subarray(0, at % changed.length));
      }
    }),
  );
});

const facts = {
  key: 'gateway/shop/store',
  generation: 1,
  names: ['store.shop.gw.cluster.local'],
  ttl: 5,
  vips: ['10.96.0.1'],
  protocol: 'TCP',
  port: 80,
  listeners: ['http'],
  targets: [{ backend: 'selector/shop/a/tcp-80', weight: 1 }],
};
const name = 'gateway/shop/store/tcp-80';
const listener = (metadata: Parameters<typeof toMetadata>[0] | undefined): Buffer =>
  codec('envoy.config.listener.v3.Listener').encode({
    name,
    metadata: metadata ? toMetadata(metadata) : null,
  });

test('a Listener that says nothing usable is refused and says why', () => {
  expect(decodeListener(name, listener(facts))).not.toHaveProperty('refused');
  const cases: [Parameters<typeof toMetadata>[0] | undefined, RegExp][] = [
    [undefined, /expected filter_metadata\["causeway.dev"\], found nothing/],
    [{ ...facts, port: 81 }, /the name of its key and port/],
    [{ ...facts, port: 80.5 }, /port from 1 to 65535, found 80.5/],
    [{ ...facts, vips: ['10.96.0.256'] }, /an IP address, found "10.96.0.256"/],
    [{ ...facts, vips: ['10.96.0.1 drop'] }, /an IP address/],
    [{ ...facts, vips: 'x' }, /at most 8 vips, found "x"/],
    [{ ...facts, names: ['a b'] }, /names like/],
    [{ ...facts, names: Array.from({ length: 65 }, () => 'a') }, /at most 64 names/],
    [{ ...facts, key: 'gateway/shop/store;flush ruleset' }, /key like/],
    [{ ...facts, targets: [{ backend: 'a', weight: -1 }] }, /weight from 0 to 1000000, found -1/],
    [{ ...facts, targets: [{ weight: 1 }] }, /backend like/],
    [{ ...facts, targets: [1] }, /a target, found 1/],
    [{ ...facts, ttl: Number.POSITIVE_INFINITY }, /ttl from 0/],
  ];
  for (const [metadata, message] of cases) {
    expect(decodeListener(name, listener(metadata)), String(message)).toHaveProperty(
      'refused',
      expect.stringMatching(message),
    );
  }
  expect(decodeListener('gateway/shop/store/tcp-81', listener(facts))).toHaveProperty('refused');
});

test('an assignment that cannot be used is refused, a server of another maker is read', () => {
  const assignment = codec('envoy.config.endpoint.v3.ClusterLoadAssignment');
  const at = (address: string, port_value: number) => ({
    endpoint: { address: { socket_address: { address, port_value } } },
  });
  const encode = (lb_endpoints: object[], more: object = {}) =>
    assignment.encode({
      cluster_name: 'b',
      endpoints: [{ lb_endpoints, load_balancing_weight: { value: 1 }, ...more }],
    });
  const foreign = encode([
    { ...at('10.0.0.1', 80), health_status: 1 },
    { ...at('10.0.0.2', 80), health_status: 2 },
    at('10.0.0.3', 80),
  ]);
  const read = decodeAssignment('b', foreign);
  expect('refused' in read ? [] : read[0]?.endpoints.map((e) => e.addresses)).toEqual([
    ['10.0.0.1'],
    ['10.0.0.3'],
  ]);
  const cases: [Buffer, RegExp][] = [
    [encode([at('store.example', 80)]), /an IP address, found "store.example"/],
    [encode([at('10.0.0.1', 0)]), /an IP address and port/],
    [encode([at('10.0.0.1', 70_000)]), /an IP address and port/],
    [encode([{}]), /an IP address and port, found nothing/],
    [
      encode([{ ...at('10.0.0.1', 80), load_balancing_weight: { value: 0 } }]),
      /a weight of at least 1|at least 1/,
    ],
    [encode([at('10.0.0.1', 80)], { priority: 129 }), /a priority of at most 128, found 129/],
    [
      assignment.encode({
        cluster_name: 'b',
        endpoints: [{ locality: { zone: 'a' } }, { locality: { zone: 'a' } }],
      }),
      /one locality per cluster, zone and priority/,
    ],
    [assignment.encode({ cluster_name: 'c' }), /the resource b, found "c"/],
    [
      assignment.encode({ cluster_name: 'b', endpoints: Array.from({ length: 5000 }, () => ({})) }),
      /at most 4096 localities, found 5000/,
    ],
  ];
  for (const [body, message] of cases) {
    expect(decodeAssignment('b', body), String(message)).toHaveProperty(
      'refused',
      expect.stringMatching(message),
    );
  }
});

test('a refused resource keeps its last value, a removed one is gone', () => {
  const tables = new ResourceTables();
  const apply = (upserts: Record<string, Buffer>, removals: string[] = []) =>
    tables.apply({
      typeUrl: typeUrls.listener,
      upserts: Object.entries(upserts).map(([n, body]) => ({ name: n, version: '', body })),
      removals,
      complete: false,
    });
  expect(apply({ [name]: listener(facts) })).toEqual([]);
  expect(apply({ [name]: listener({ ...facts, ttl: -1 }) })).toMatchObject([
    { name, message: expect.stringMatching(/ttl/) },
  ]);
  expect(tables.take().ir.frontends.get(name)?.ttl).toBe(5);
  apply({}, [name]);
  const { ir, touched } = tables.take();
  expect(ir.frontends.size).toBe(0);
  expect([...touched.frontends]).toEqual([name]);
});

test('an assignment is waited for until it comes or is removed, whatever comes first', () => {
  const tables = new ResourceTables();
  const apply = (typeUrl: string, bodies: Record<string, Buffer>, removals: string[] = []) =>
    tables.apply({
      typeUrl,
      upserts: Object.entries(bodies).map(([n, body]) => ({ name: n, version: '', body })),
      removals,
      complete: true,
    });
  const cluster = (n: string) =>
    codec('envoy.config.cluster.v3.Cluster').encode({ name: n, metadata: toMetadata({ policy: 'Even' }) });
  const empty = (n: string) =>
    codec('envoy.config.endpoint.v3.ClusterLoadAssignment').encode({ cluster_name: n });
  apply(typeUrls.assignment, { a: empty('a') });
  expect(tables.take().ir.backends.size).toBe(0);
  apply(typeUrls.cluster, { a: cluster('a'), b: cluster('b') });
  expect(tables.hasAssignments).toBe(false);
  expect(tables.take().ir.backends.get('b')).toMatchObject({ groups: [], withheld: true });
  apply(typeUrls.assignment, {}, ['b']);
  expect(tables.hasAssignments).toBe(true);
  expect(tables.take().ir.backends.get('b')).not.toHaveProperty('withheld');
  apply(typeUrls.cluster, {}, ['a', 'b']);
  expect(tables.take().ir.backends.size).toBe(0);
  expect(tables.hasAssignments).toBe(true);
});
