import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Backend, Endpoint, Group, Ir } from '../../model/ir.ts';
import { decodeAssignment } from '../../sources/xds/decode.ts';
import {
  healthStatus,
  type LbEndpointMessage,
  type LocalityEndpointsMessage,
} from '../../wire/proto/messages.ts';
import { codec } from '../../wire/proto/registry.ts';
import { arbitraryIr } from '../nft/arbitrary-ir.ts';
import { render as renderTable } from '../nft/render.ts';
import { backend, endpoint, frontend, ir, tcp, to } from '../nft/sample-ir.ts';
import { renderAssignment } from './assignment.ts';

const key = 'composite/shop/store/tcp-80';
const node = { node: 'e1', cluster: 'east', hostAddresses: new Set<string>() };

const localitiesOf = (groups: readonly Group[]): readonly LocalityEndpointsMessage[] =>
  codec('envoy.config.endpoint.v3.ClusterLoadAssignment').decode(renderAssignment({ key, groups }))
    .endpoints ?? [];

/** The back ends as a node reads them from assignments. */
function received(whole: Ir): Ir {
  const backends = [...whole.backends].map(([name, b]): [string, Backend] => {
    const groups = decodeAssignment(name, renderAssignment(b));
    if ('refused' in groups) throw new Error(groups.refused);
    return [name, { ...b, groups }];
  });
  return { ...whole, backends: new Map(backends) };
}

test('a node that reads an assignment does what the representation says', () => {
  fc.assert(
    fc.property(arbitraryIr, (whole) => {
      const told = renderTable(whole, node);
      const read = renderTable(received(whole), node);
      expect(read.ports).toEqual(told.ports);
    }),
    { numRuns: 500 },
  );
});

const group = fc.record({
  cluster: fc.constantFrom('east', 'west', 'north'),
  network: fc.constant('n1'),
  region: fc.constant('eu'),
  zone: fc.constantFrom('a', 'b'),
  priority: fc.nat({ max: 2 }),
  weight: fc.nat({ max: 3 }),
  endpoints: fc
    .array(fc.constantFrom('Healthy' as const, 'Draining' as const), { maxLength: 3 })
    .map((healths) => healths.map((health) => ({ health }))),
});

/** Groups whose endpoints all differ, of one family. */
const groups: fc.Arbitrary<readonly Group[]> = fc
  .uniqueArray(group, { maxLength: 4, selector: (g) => `${g.cluster} ${g.zone}` })
  .map((list) =>
    list.map((g, i) => ({
      ...g,
      endpoints: g.endpoints.map(
        ({ health }, j): Endpoint => endpoint(`10.20.${i}.${j + 1}`, 8080, { health }),
      ),
    })),
  );

/** What a proxy does that goes by weights of localities and has no panic threshold; key: `<address> . <port>`. */
function proxyShares(localities: readonly LocalityEndpointsMessage[]): ReadonlyMap<string, number> {
  const first = localities.filter(({ priority = 0 }) => priority === 0);
  const total = first.reduce((sum, l) => sum + (l.load_balancing_weight?.value ?? 0), 0);
  const shares = new Map<string, number>();
  for (const { lb_endpoints = [], load_balancing_weight: weight } of first) {
    for (const lb of lb_endpoints) shares.set(place(lb), (weight?.value ?? 0) / total / lb_endpoints.length);
  }
  return shares;
}

function place({ endpoint: host }: LbEndpointMessage): string {
  const { address, port_value } = host?.address?.socket_address ?? {};
  return `${address} . ${port_value}`;
}

test('the shares of an assignment are those of the slots on a node, and a proxy can take it', () => {
  fc.assert(
    fc.property(groups, (list) => {
      const localities = localitiesOf(list);
      const priorities = [...new Set(localities.map(({ priority = 0 }) => priority))];
      expect(priorities.sort((a, b) => a - b)).toEqual(priorities.map((_, i) => i));
      const places = localities.map((l) => [l.locality?.sub_zone, l.locality?.zone, l.priority ?? 0].join());
      expect(new Set(places).size).toBe(places.length);
      for (const { lb_endpoints = [], load_balancing_weight: weight } of localities) {
        expect(weight?.value).toBeGreaterThanOrEqual(1);
        expect(lb_endpoints.length).toBeGreaterThanOrEqual(1);
        for (const lb of lb_endpoints) expect(lb.health_status).toBe(healthStatus.unknown);
      }
      const table = renderTable(
        ir({
          frontends: [frontend('gateway/shop/store', ['10.96.0.1'], [tcp(80, [to(key)])])],
          backends: [backend(key, [], { groups: list })],
        }),
        node,
      );
      const port = table.ports.get('10.96.0.1 . tcp . 80');
      const slots = (port?.shares ?? []).map((s): [string, number] => [s.to, s.slots / (port?.slots ?? 1)]);
      const wanted = proxyShares(localities);
      expect(new Set(slots.map(([to]) => to))).toEqual(new Set(wanted.keys()));
      for (const [to, share] of slots) expect(share).toBeCloseTo(wanted.get(to) ?? 0, 9);
    }),
    { numRuns: 1000 },
  );
});

const draining = { health: 'Draining' as const };
const listed = (list: readonly Group[]) =>
  localitiesOf(list).map(
    ({ priority = 0, locality, load_balancing_weight: weight, lb_endpoints = [] }) =>
      `${priority} ${locality?.sub_zone} ${weight?.value}: ${lb_endpoints.map(place).join()}`,
  );

test('draining endpoints are listed only where no healthy one serves their family, and after all healthy ones', () => {
  const part = (cluster: string, endpoints: readonly Endpoint[], weight: number): Group =>
    ({ ...backend(key, endpoints).groups[0], cluster, weight }) as Group;
  const goes = part('east', [endpoint('10.10.1.1', 80, draining), endpoint('10.10.1.2', 80, draining)], 0);
  const stays = part('west', [endpoint('10.20.0.1', 80)], 1);
  const mixed = part('west', [endpoint('10.20.0.1', 80), endpoint('10.20.0.2', 80, draining)], 1);
  expect(listed([goes, stays])).toEqual(['0 west 1: 10.20.0.1 . 80']);
  expect(listed([goes, mixed])).toEqual(['0 west 1: 10.20.0.1 . 80']);
  expect(listed([goes])).toEqual(['0 east 2: 10.10.1.1 . 80,10.10.1.2 . 80']);
  expect(listed([part('east', [endpoint('10.10.1.1', 80)], 0), stays])).toEqual(['0 west 1: 10.20.0.1 . 80']);
  const dual = part('east', [endpoint(['10.10.1.1', 'fd00::1'], 80, draining)], 0);
  expect(listed([dual, stays])).toEqual(['0 west 1: 10.20.0.1 . 80', '1 east 1: 10.10.1.1 . 80']);
  expect(listed([])).toEqual([]);
});
