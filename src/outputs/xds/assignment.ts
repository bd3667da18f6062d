import type { Backend, Endpoint, Group, NodeFacts } from '../../model/ir.ts';
import { servingGroups } from '../../model/serving-groups.ts';
import type { LbEndpointMessage, LocalityEndpointsMessage } from '../../wire/proto/messages.ts';
import { codec } from '../../wire/proto/registry.ts';
import { toMetadata } from '../../wire/proto/typed-config.ts';

/** Name of the assignment that tells agents of their cluster's nodes. */
export const nodesName = 'nodes';

/**
 * The endpoints of a back end that may take traffic, one locality per cluster, zone and priority (`sub_zone` is the
 * cluster). None has a health: a proxy would never use what is DRAINING. That it drains is in our metadata, and its
 * priority says when it is used. Endpoints' weights that are 1 are the default of the protocol and left out.
 */
export function renderAssignment(backend: Pick<Backend, 'key' | 'groups'>): Buffer {
  return codec('envoy.config.endpoint.v3.ClusterLoadAssignment').encode({
    cluster_name: backend.key,
    endpoints: servingGroups(backend.groups).map(locality),
  });
}

function locality(group: Group): LocalityEndpointsMessage {
  return {
    locality: { region: group.region, zone: group.zone, sub_zone: group.cluster },
    lb_endpoints: group.endpoints.map(lbEndpoint),
    load_balancing_weight: { value: group.weight },
    ...(group.priority > 0 ? { priority: group.priority } : {}),
    ...(group.network === '' ? {} : { metadata: toMetadata({ network: group.network }) }),
  };
}

function lbEndpoint(endpoint: Endpoint): LbEndpointMessage {
  const metadata = metadataOf(endpoint);
  const [first, ...others] = endpoint.addresses.map((address) => ({
    socket_address: { address, port_value: endpoint.port },
  }));
  return {
    endpoint: {
      address: first ?? null,
      ...(others.length > 0 ? { additional_addresses: others.map((address) => ({ address })) } : {}),
    },
    ...(metadata ? { metadata } : {}),
    ...(endpoint.weight === 1 ? {} : { load_balancing_weight: { value: endpoint.weight } }),
  };
}

const endpointMetadata = {
  draining: toMetadata({ draining: true }),
  snat: toMetadata({ snat: true }),
  both: toMetadata({ draining: true, snat: true }),
};

function metadataOf({ health, snat }: Endpoint): LbEndpointMessage['metadata'] {
  if (health === 'Draining') return snat ? endpointMetadata.both : endpointMetadata.draining;
  return snat ? endpointMetadata.snat : undefined;
}

/** One locality per zone, one entry without an address per node. */
export function renderNodes(nodes: Iterable<NodeFacts>): Buffer {
  const zones = new Map<string, NodeFacts[]>();
  for (const node of [...nodes].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const known = zones.get(node.zone);
    if (known) known.push(node);
    else zones.set(node.zone, [node]);
  }
  return codec('envoy.config.endpoint.v3.ClusterLoadAssignment').encode({
    cluster_name: nodesName,
    endpoints: [...zones.keys()].sort().map((zone) => ({
      locality: { zone },
      lb_endpoints: (zones.get(zone) ?? []).map(({ name, podCIDRs, reserved }) => ({
        endpoint: { hostname: name },
        metadata: toMetadata({ name, podCIDRs, ...(reserved ? { reserved } : {}) }),
      })),
    })),
  });
}
