import { serviceNameLabel } from '../api/endpoint-slice.ts';
import { canonicalAddress } from '../wire/address.ts';
import type { InputKind, Inputs } from './inputs.ts';

type Route = Inputs['TCPRoute'] | Inputs['UDPRoute'];

const gatewayGroup = 'gateway.networking.k8s.io';

const routeIndexes = {
  /** By `<namespace>/<name>` of each Gateway that the route names as a parent. */
  gateway: (route: Route) =>
    route.spec.parentRefs
      .filter((ref) => ref.group === gatewayGroup && ref.kind === 'Gateway')
      .map((ref) => `${ref.namespace ?? route.metadata.namespace}/${ref.name}`),
  /** By `<kind>/<namespace>/<name>` of each back end, whatever its group. */
  backend: (route: Route) =>
    route.spec.rules.flatMap((rule) =>
      rule.backendRefs.map((ref) => `${ref.kind}/${ref.namespace ?? route.metadata.namespace}/${ref.name}`),
    ),
};

/** Which lists units can read: kind → index → the buckets of a record. A bucket may be named twice. */
const indexes = {
  TCPRoute: routeIndexes,
  UDPRoute: routeIndexes,
  GatewayClass: {
    controller: ({ spec }: Inputs['GatewayClass']) => [spec.controllerName],
  },
  ReferenceGrant: {
    namespace: (grant: Inputs['ReferenceGrant']) => [grant.metadata.namespace],
  },
  EndpointSlice: {
    /** By `<namespace>/<name>` of the Service. */
    service: (slice: Inputs['EndpointSlice']) => {
      const name = slice.metadata.labels[serviceNameLabel];
      return name === undefined ? [] : [`${slice.metadata.namespace}/${name}`];
    },
  },
  Claim: {
    /** By `<namespace>/<name>` of the Gateway. */
    gateway: ({ gateway }: Inputs['Claim']) => [`${gateway.namespace}/${gateway.name}`],
    address: ({ address }: Inputs['Claim']) => [canonicalAddress(address) ?? address],
  },
  Contribution: {
    /** By `<namespace>/<name>` of the composite. */
    composite: ({ namespace, composite }: Inputs['Contribution']) => [`${namespace}/${composite}`],
    /** By `<namespace>/<name>/<tcp|udp>-<port>`. */
    port: ({ namespace, composite, protocol, port }: Inputs['Contribution']) => [
      `${namespace}/${composite}/${protocol.toLowerCase()}-${port}`,
    ],
  },
} as const;

type Indexes = typeof indexes;
export type IndexedKind = keyof Indexes;
export type IndexName<K extends IndexedKind> = keyof Indexes[K] & string;

type BucketsOf = (record: unknown) => readonly string[];

const byKind = new Map(
  Object.entries(indexes).map(([kind, ofKind]) => [kind, Object.entries(ofKind) as [string, BucketsOf][]]),
);

/** The indexes of a kind as (name, buckets of a record). */
export function indexesOf(kind: InputKind): readonly (readonly [name: string, bucketsOf: BucketsOf])[] {
  return byKind.get(kind) ?? [];
}
