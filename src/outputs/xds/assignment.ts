import type { Backend, Endpoint, Group, NodeFacts } from '../../model/ir.ts';
import {
  healthStatus,
  type LbEndpointMessage,
  type LocalityEndpointsMessage,
} from '../../wire/proto/messages.ts';
import { codec } from '../../wire/proto/registry.ts';
import { toMetadata } from '../../wire/proto/typed-config.ts';

/** Name of the assignment that tells agents of their cluster's nodes. */
export const nodesName = 'nodes';

const needsSnat = toMetadata({ snat: true });

/**
 * The endpoints of a back end, one locality per cluster and zone (`sub_zone` is the cluster). A group without
 * endpoints is left out, and the priorities of the others are made contiguous. Weights that are 1 and the health of
 * a healthy endpoint are the defaults of the protocol and left out; a locality without a weight takes nothing.
 */
export function renderAssignment(backend: Pick<Backend, 'key' | 'groups'>): Buffer {
  const groups = backend.groups.filter((group) => group.endpoints.length > 0);
  const priorities = [...new Set(groups.map((group) => group.priority))].sort((a, b) => a - b);
  return codec('envoy.config.endpoint.v3.ClusterLoadAssignment').encode({
    cluster_name: backend.key,
    endpoints: groups.map((group) => locality(group, priorities.indexOf(group.priority))),
  });
}

function locality(group: Group, priority: number): LocalityEndpointsMessage {
  return {
    locality: { region: group.region, zone: group.zone, sub_zone: group.cluster },
    lb_endpoints: group.endpoints.map(lbEndpoint),
    ...(group.weight > 0 ? { load_balancing_weight: { value: group.weight } } : {}),
    ...(priority > 0 ? { priority } : {}),
    ...(group.network === '' ? {} : { metadata: toMetadata({ network: group.network }) }),
  };
}

function lbEndpoint(endpoint: Endpoint): LbEndpointMessage {
  const [first, ...others] = endpoint.addresses.map((address) => ({
    socket_address: { address, port_value: endpoint.port },
  }));
  return {
    endpoint: {
      address: first ?? null,
      ...(others.length > 0 ? { additional_addresses: others.map((address) => ({ address })) } : {}),
    },
    ...(endpoint.health === 'Draining' ? { health_status: healthStatus.draining } : {}),
    ...(endpoint.snat ? { metadata: needsSnat } : {}),
    ...(endpoint.weight === 1 ? {} : { load_balancing_weight: { value: endpoint.weight } }),
  };
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
      lb_endpoints: (zones.get(zone) ?? []).map(({ name, podCIDRs }) => ({
        endpoint: { hostname: name },
        metadata: toMetadata({ name, podCIDRs }),
      })),
    })),
  });
}
