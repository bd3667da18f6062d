import fc from 'fast-check';
import { ir, node } from './sample-ir.ts';

/** Small worlds in which everything collides: for property tests. */

const addresses = ['10.10.1.2', '10.10.1.3', '10.10.2.4', '10.20.0.5', 'fd00:10::1', 'fd00:10::2'];
const backendKeys = ['composite/shop/a/tcp-80', 'composite/shop/b/tcp-80', 'composite/shop/c/tcp-80'];
const arbitraryEndpoint = fc.record({
  addresses: fc.uniqueArray(fc.constantFrom(...addresses), { minLength: 1, maxLength: 2 }),
  port: fc.constantFrom(8080, 9090),
  health: fc.constantFrom('Healthy' as const, 'Healthy' as const, 'Draining' as const),
  weight: fc.integer({ min: 1, max: 3 }),
  snat: fc.boolean(),
});
const arbitraryGroup = fc.record({
  cluster: fc.constantFrom('east', 'west'),
  network: fc.constant('n1'),
  region: fc.constant('eu'),
  zone: fc.constantFrom('a', 'b'),
  priority: fc.nat({ max: 1 }),
  weight: fc.nat({ max: 4 }),
  endpoints: fc.array(arbitraryEndpoint, { maxLength: 4 }),
});
const arbitraryBackend = (key: string) =>
  fc.record({
    key: fc.constant(key),
    policy: fc.constantFrom('Even' as const, 'PreferLocal' as const),
    groups: fc.uniqueArray(arbitraryGroup, { maxLength: 3, selector: (g) => `${g.cluster} ${g.zone}` }),
  });
const arbitraryPort = fc.record({
  protocol: fc.constantFrom('TCP' as const, 'UDP' as const),
  port: fc.constantFrom(80, 81, 443),
  listeners: fc.constant([]),
  targets: fc.array(
    fc.record({ backend: fc.constantFrom(null, ...backendKeys), weight: fc.constantFrom(0, 1, 10, 90) }),
    { maxLength: 3 },
  ),
});
const arbitraryFrontend = (key: string) =>
  fc.record({
    key: fc.constant(key),
    generation: fc.constant(1),
    names: fc.constant([]),
    ttl: fc.constant(5),
    vips: fc.uniqueArray(fc.constantFrom('10.96.0.1', '10.96.0.2', 'fd00:96::1', 'fd00:96::2'), {
      maxLength: 2,
    }),
    ports: fc.uniqueArray(arbitraryPort, { selector: (p) => `${p.protocol} ${p.port}`, maxLength: 3 }),
  });
export const arbitraryIr = fc
  .record({
    frontends: fc.tuple(...['gateway/a/x', 'gateway/b/y', 'service/a/z'].map(arbitraryFrontend)),
    present: fc.subarray([0, 1, 2]),
    backends: fc.tuple(...backendKeys.map(arbitraryBackend)),
    known: fc.subarray([0, 1, 2]),
    nodes: fc.subarray([node('e1', ['10.10.1.0/24', 'fd00:10::/64']), node('e2', ['10.10.0.0/16'], 'b')]),
  })
  .map((r) =>
    ir({
      frontends: r.present.map((i) => r.frontends[i] as (typeof r.frontends)[0]),
      backends: r.known.map((i) => r.backends[i] as (typeof r.backends)[0]),
      nodes: r.nodes,
    }),
  );
