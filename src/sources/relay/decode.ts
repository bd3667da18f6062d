import type { RemoteEndpoint } from '../../model/inputs.ts';
import { canonicalAddress, familyOf, isUsableEndpoint } from '../../wire/address.ts';
import { isAppProtocol } from '../../wire/app-protocol.ts';
import { type AddressMessage, healthStatus, type LbEndpointMessage } from '../../wire/proto/messages.ts';
import { codec } from '../../wire/proto/registry.ts';
import { fromStruct } from '../../wire/proto/struct.ts';
import { metadataKey } from '../../wire/proto/type-urls.ts';

/** What a peer's Cluster says of its contribution. */
export interface ContributionFacts {
  readonly appProtocol?: string;
  readonly ready: number;
  readonly selected: number;
  /** Into how many shards its endpoints are split. */
  readonly shards: number;
}

/** What is wrong with a resource, for the peer's NACK. */
export class BadContent {
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }
}

const maxShards = 4_096;
const maxEndpoints = 1_000_000;

export function decodeCluster(body: Uint8Array, name: string): ContributionFacts | BadContent {
  try {
    const message = codec('envoy.config.cluster.v3.Cluster').decode(body);
    if (message.name !== name)
      return new BadContent(`expected a Cluster with the resource's name, found ${shown(message.name)}`);
    const facts = fromStruct(message.metadata?.filter_metadata?.[metadataKey]);
    // Whoever does not tell what is selected has nothing else than what is ready.
    const { appProtocol, ready, selected = ready, shards } = facts;
    if (!isCount(ready, maxEndpoints) || !isCount(selected, maxEndpoints)) {
      return new BadContent(
        `expected ready and selected counts, found ${shown(ready)} and ${shown(selected)}`,
      );
    }
    if (!isCount(shards, maxShards) || shards === 0) {
      return new BadContent(`expected 1 to ${maxShards} shards, found ${shown(shards)}`);
    }
    if (appProtocol !== undefined && !isAppProtocol(appProtocol)) {
      return new BadContent(`expected an application protocol, found ${shown(appProtocol)}`);
    }
    return {
      ready,
      selected: Math.max(ready, selected),
      shards,
      ...(appProtocol === undefined ? {} : { appProtocol }),
    };
  } catch {
    return new BadContent('expected an envoy.config.cluster.v3.Cluster');
  }
}

export function decodeShard(
  body: Uint8Array,
  expected: { readonly name: string; readonly cluster: string; readonly limit: number },
): readonly RemoteEndpoint[] | BadContent {
  try {
    const message = codec('envoy.config.endpoint.v3.ClusterLoadAssignment').decode(body);
    if (message.cluster_name !== expected.name) {
      return new BadContent(
        `expected an assignment with the resource's name, found ${shown(message.cluster_name)}`,
      );
    }
    const endpoints: RemoteEndpoint[] = [];
    for (const { locality, lb_endpoints = [] } of message.endpoints ?? []) {
      if (locality?.sub_zone !== expected.cluster) {
        return new BadContent(
          `expected localities of ${expected.cluster}, found ${shown(locality?.sub_zone)}`,
        );
      }
      if (endpoints.length + lb_endpoints.length > expected.limit) {
        return new BadContent(`expected at most ${expected.limit} endpoints`);
      }
      for (const lb of lb_endpoints) {
        const endpoint = decodeEndpoint(lb, locality.zone ?? '');
        if (endpoint instanceof BadContent) return endpoint;
        if (endpoint) endpoints.push(endpoint);
      }
    }
    return endpoints;
  } catch {
    return new BadContent('expected an envoy.config.endpoint.v3.ClusterLoadAssignment');
  }
}

/** Undefined: an endpoint that takes no traffic. */
function decodeEndpoint(lb: LbEndpointMessage, zone: string): RemoteEndpoint | BadContent | undefined {
  const { unknown, healthy, draining } = healthStatus;
  const status = lb.health_status ?? unknown;
  if (status !== unknown && status !== healthy && status !== draining) return undefined;
  const addresses: string[] = [];
  let port = 0;
  const given: (AddressMessage | null | undefined)[] = [
    lb.endpoint?.address,
    ...(lb.endpoint?.additional_addresses ?? []).map((a) => a.address),
  ];
  for (const { socket_address } of given.map((a) => a ?? {})) {
    const address = canonicalAddress(socket_address?.address ?? '');
    if (address === undefined || !isUsableEndpoint(address)) {
      return new BadContent(
        `expected an address that traffic may go to, found ${shown(socket_address?.address)}`,
      );
    }
    port ||= socket_address?.port_value ?? 0;
    if (socket_address?.port_value !== port || port < 1 || port > 65_535) {
      return new BadContent(
        `expected one port for all addresses of an endpoint, found ${shown(socket_address?.port_value)}`,
      );
    }
    addresses.push(address);
  }
  if (new Set(addresses.map(familyOf)).size !== addresses.length) {
    return new BadContent('expected at most one address of each family');
  }
  return { addresses, port, zone: zone.slice(0, 253), health: status === draining ? 'Draining' : 'Healthy' };
}

const isCount = (value: unknown, max: number): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= max;
const shown = (value: unknown): string =>
  value === undefined ? 'none' : JSON.stringify(value).slice(0, 100);
