import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { RemoteEndpoint } from '../../model/inputs.ts';
import type { Backend, Group, Ir, Target } from '../../model/ir.ts';
import { type Distribution, distribute, type Share } from '../../model/units/distribution.ts';
import { ResourceTables } from '../../sources/xds/resource-tables.ts';
import type { LocalityEndpointsMessage } from '../../wire/proto/messages.ts';
import { codec } from '../../wire/proto/registry.ts';
import { typeUrls } from '../../wire/proto/type-urls.ts';
import { fromMetadata } from '../../wire/proto/typed-config.ts';
import { render as renderTable } from '../nft/render.ts';
import { endpoint, frontend, ir, node, tcp, to, udp } from '../nft/sample-ir.ts';
import { type Rendered, render } from './render.ts';

/**
 * The same numbers in what proxies read and in what nodes program: random routes to back ends of several clusters are
 * rendered as xDS; a proxy's shares are computed from the bytes by Envoy's rules, a node's from its slots.
 */

const nowhere = 'nowhere';

/** Shares by `<address> . <port>`, and of what leads nowhere. */
type Shares = ReadonlyMap<string, number>;

/** Envoy: a weighted cluster; the lowest priority that has an endpoint; weights of localities, then of endpoints. */
function proxyShares(resources: readonly Rendered[], listener: string): Shares {
  const shares = new Map<string, number>();
  const add = (key: string, share: number) => shares.set(key, (shares.get(key) ?? 0) + share);
  const targets = targetsOf(resources, listener);
  const all = targets.reduce((sum, { weight }) => sum + weight, 0);
  for (const { backend, weight } of targets) {
    const localities = backend === null ? [] : localitiesOf(resources, backend);
    const serving = localities.filter(({ lb_endpoints = [] }) => lb_endpoints.length > 0);
    const lowest = Math.min(...serving.map(({ priority = 0 }) => priority));
    const taking = serving.filter(({ priority = 0 }) => priority === lowest);
    const total = taking.reduce((sum, l) => sum + (l.load_balancing_weight?.value ?? 0), 0);
    if (taking.length === 0) add(nowhere, weight / all);
    for (const { lb_endpoints = [], load_balancing_weight } of taking) {
      const part = ((weight / all) * (load_balancing_weight?.value ?? 0)) / total;
      const weights = lb_endpoints.map((lb) => lb.load_balancing_weight?.value ?? 1);
      const inside = weights.reduce((a, b) => a + b, 0);
      for (const [i, { endpoint: host }] of lb_endpoints.entries()) {
        const { address, port_value } = host?.address?.socket_address ?? {};
        add(`${address} . ${port_value}`, (part * (weights[i] ?? 0)) / inside);
      }
    }
  }
  return shares;
}

const bodyOf = (resources: readonly Rendered[], typeUrl: string, name: string): Buffer => {
  const body = resources.find((r) => r.typeUrl === typeUrl && r.name === name)?.body;
  if (!body) throw new Error(`nothing is rendered for ${name}`);
  return body;
};

const localitiesOf = (resources: readonly Rendered[], name: string): readonly LocalityEndpointsMessage[] =>
  codec('envoy.config.endpoint.v3.ClusterLoadAssignment').decode(bodyOf(resources, typeUrls.assignment, name))
    .endpoints ?? [];

/** Of TCP as the proxy's filter has them; it has none of UDP, so as our metadata has them. */
function targetsOf(resources: readonly Rendered[], name: string): readonly Target[] {
  const message = codec('envoy.config.listener.v3.Listener').decode(
    bodyOf(resources, typeUrls.listener, name),
  );
  const filter = message.filter_chains?.[0]?.filters?.[0]?.typed_config;
  if (!filter)
    return (fromMetadata(message.metadata).targets as unknown as Target[]).filter((t) => t.weight > 0);
  const proxy = codec('envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy').decode(
    filter.value ?? Buffer.alloc(0),
  );
  const clusters = proxy.weighted_clusters?.clusters ?? [{ name: proxy.cluster ?? '', weight: 1 }];
  const known = ({ name: cluster = '' }) =>
    resources.some((r) => r.typeUrl === typeUrls.cluster && r.name === cluster);
  return clusters.map((c) => ({ backend: known(c) ? (c.name ?? '') : null, weight: c.weight ?? 0 }));
}

/** What an agent makes of the same bytes. */
function read(resources: readonly Rendered[]): Ir {
  const tables = new ResourceTables();
  for (const { typeUrl, name, body } of resources) {
    if (!body) continue;
    const upserts = [{ name, version: '', body }];
    expect(tables.apply({ typeUrl, upserts, removals: [], complete: false })).toEqual([]);
  }
  return tables.take().ir;
}

interface NodeShares {
  readonly shares: Shares;
  readonly slots: number;
}

function nodeShares(state: Ir, name: string, port: string): NodeShares {
  const wanted = renderTable(state, { node: name, cluster: 'east' }).ports.get(port);
  const slots = wanted?.slots ?? 0;
  if (!wanted || slots === 0) return { shares: new Map([[nowhere, 1]]), slots: 1 };
  const key = (destination: string) => (destination.startsWith('192.0.0.8 ') ? nowhere : destination);
  return { shares: new Map(wanted.shares.map((s) => [key(s.to), s.slots / slots])), slots };
}

const clusters = ['east', 'near', 'far', 'farther'] as const;
const regions = { east: 'eu', near: 'eu', far: 'us', farther: 'asia' };

/** How many ready and draining endpoints each cluster has in each of its zones. */
const counts = fc.record({
  cluster: fc.constantFrom(...clusters),
  ready: fc.array(fc.nat({ max: 4 }), { minLength: 1, maxLength: 3 }),
  draining: fc.nat({ max: 1 }),
  unready: fc.nat({ max: 6 }),
});
const distribution: fc.Arbitrary<Distribution> = fc.record({
  policy: fc.constantFrom(
    'Even' as const,
    'PreferLocal' as const,
    'PreferLocal' as const,
    'Ordered' as const,
  ),
  order: fc.subarray([{ names: ['far'] }, { matchLabels: { region: 'eu' } }, { names: ['farther'] }]),
  localThresholdPercent: fc.constantFrom(0, 50, 100),
});
const contents = fc.record({
  distribution,
  clusters: fc.uniqueArray(counts, { minLength: 1, maxLength: 4, selector: (c) => c.cluster }),
  endpointWeights: fc.boolean(),
});

function backendOf(
  number: number,
  {
    distribution: d,
    clusters: of,
    endpointWeights,
  }: typeof contents extends fc.Arbitrary<infer T> ? T : never,
): Backend {
  const shares = of.map(({ cluster, ready, draining, unready }): Share => {
    const c = clusters.indexOf(cluster);
    const at = (zone: number, i: number, health: RemoteEndpoint['health']): RemoteEndpoint => ({
      addresses: [`10.${10 + 10 * c + number}.${zone}.${i + 1}`],
      port: 80,
      zone: 'abc'[zone] ?? '',
      health,
    });
    const endpoints = ready.flatMap((n, zone) => [
      ...Array.from({ length: n }, (_, i) => at(zone, i, 'Healthy')),
      ...Array.from({ length: draining }, (_, i) => at(zone, 100 + i, 'Draining')),
    ]);
    const selected = ready.reduce((a, b) => a + b, 0) + unready;
    return {
      cluster,
      network: 'n1',
      region: regions[cluster],
      labels: {},
      own: cluster === 'east',
      selected,
      endpoints,
    };
  });
  const groups = distribute(shares, d, 'eu').map(
    (g): Group => ({
      ...g,
      endpoints: g.endpoints.map((e, i) =>
        endpoint(e.addresses, e.port, { health: e.health, weight: endpointWeights ? 1 + (i % 3) : 1 }),
      ),
    }),
  );
  return { key: `composite/shop/b${number}/tcp-80`, policy: d.policy, groups };
}

const worlds = fc.record({
  protocol: fc.constantFrom('tcp' as const, 'udp' as const),
  backends: fc.array(contents, { minLength: 1, maxLength: 3 }),
  weights: fc.array(fc.constantFrom(0, 1, 3, 10, 90), { minLength: 4, maxLength: 4 }),
  zones: fc.array(fc.constantFrom('', 'a', 'b', 'c'), { minLength: 1, maxLength: 4 }),
});

/** The last target does not resolve. */
const routeTo = (count: number, weights: readonly number[]): readonly Target[] => [
  ...Array.from({ length: count }, (_, i) => to(`composite/shop/b${i}/tcp-80`, weights[i] ?? 0)),
  to(null, weights[3] === 90 ? 1 : 0),
];

test('each endpoint has the same share in a proxy and in the slots of every node; a zone moves it within the own cluster', () => {
  let zonesPreferred = 0;
  fc.assert(
    fc.property(worlds, ({ protocol, backends, weights, zones }) => {
      const targets = routeTo(backends.length, weights);
      const made = backends.map((contentsOf, i) => backendOf(i, contentsOf));
      const resources = render(
        ir({
          frontends: [
            frontend('gateway/shop/store', ['10.96.0.1'], [(protocol === 'tcp' ? tcp : udp)(80, targets)]),
          ],
          backends: made,
          nodes: zones.map((zone, i) => node(`n${i}`, [], zone)),
        }),
      );
      const wanted = proxyShares(resources, `gateway/shop/store/${protocol}-80`);
      const state = read(resources);
      for (const name of state.nodes.keys()) {
        const { shares, slots } = nodeShares(state, name, `10.96.0.1 . ${protocol} . 80`);
        if (targets.every(({ weight }) => weight === 0)) {
          expect(shares).toEqual(new Map([[nowhere, 1]]));
          continue;
        }
        const needing = [...wanted.values()].filter((share) => share * slots < 1).length;
        const off = slots < 1000 ? 1e-9 : (3 + needing) / slots;
        for (const { cluster, addresses } of placesOf(made)) {
          const sum = (of: Shares) => addresses.reduce((total, a) => total + (of.get(a) ?? 0), 0);
          expect(Math.abs(sum(shares) - sum(wanted)), `${name} ${cluster}`).toBeLessThanOrEqual(off);
        }
        const moved = new Set(
          placesOf(made).flatMap(({ policy, cluster, addresses }) =>
            policy === 'PreferLocal' && cluster === 'east' && state.nodes.get(name)?.zone !== ''
              ? addresses
              : [],
          ),
        );
        for (const key of new Set([...shares.keys(), ...wanted.keys()])) {
          const difference = Math.abs((shares.get(key) ?? 0) - (wanted.get(key) ?? 0));
          if (!moved.has(key)) expect(difference, `${name} ${key}`).toBeLessThanOrEqual(off);
          else if (difference > off) zonesPreferred += 1;
        }
      }
    }),
    { numRuns: 1000 },
  );
  expect(zonesPreferred).toBeGreaterThan(0);
});

/** The endpoints of each cluster in each back end. */
const placesOf = (backends: readonly Backend[]) =>
  backends.flatMap(({ policy, groups }) =>
    [...Map.groupBy(groups, ({ cluster }) => cluster)].map(([cluster, own]) => ({
      policy,
      cluster,
      addresses: own.flatMap((g) => g.endpoints.map((e) => `${e.addresses[0]} . ${e.port}`)),
    })),
  );
