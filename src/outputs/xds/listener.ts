import type { Frontend, FrontendKey, Port, Protocol, Target } from '../../model/ir.ts';
import { type ListenerMessage, socketProtocol, trafficDirection } from '../../wire/proto/messages.ts';
import { codec } from '../../wire/proto/registry.ts';
import { toAny, toMetadata } from '../../wire/proto/typed-config.ts';

/** A cluster that no server offers: what is sent there is refused by the proxy. */
const noCluster = 'causeway.dev/none';

/** `gateway/shop/store` and TCP 80 → `gateway/shop/store/tcp-80`. */
export function listenerName(key: FrontendKey, protocol: Protocol, port: number): string {
  return `${key}/${protocol.toLowerCase()}-${port}`;
}

/**
 * One port of a front end as a Listener. It binds no port: nodes translate the address, or redirect to a proxy.
 * The route is told twice, in the filter for a stock Envoy and in our metadata for nodes and DNS. The front end
 * must have an address.
 */
export function renderListener(frontend: Frontend, port: Port): Buffer {
  const name = listenerName(frontend.key, port.protocol, port.port);
  const [first, ...others] = frontend.vips.map((vip) => ({
    socket_address: {
      address: vip,
      port_value: port.port,
      ...(port.protocol === 'UDP' ? { protocol: socketProtocol.udp } : {}),
    },
  }));
  const listener: ListenerMessage = {
    name,
    address: first ?? null,
    additional_addresses: others.map((address) => ({ address })),
    ...(port.protocol === 'TCP' ? tcp(name, port.targets) : udp(name, port.targets)),
    metadata: toMetadata({
      key: frontend.key,
      generation: frontend.generation,
      names: frontend.names,
      ttl: frontend.ttl,
      vips: frontend.vips,
      protocol: port.protocol,
      port: port.port,
      listeners: port.listeners,
      appProtocol: port.appProtocol,
      targets: port.targets.map(({ backend, weight }) => ({ backend, weight })),
    }),
    bind_to_port: { value: false },
    traffic_direction: trafficDirection.outbound,
  };
  return codec('envoy.config.listener.v3.Listener').encode(listener);
}

function tcp(statPrefix: string, targets: readonly Target[]): ListenerMessage {
  const weighted = mergeTargets(targets);
  const [only] = weighted;
  const route =
    weighted.length > 1
      ? { weighted_clusters: { clusters: weighted } }
      : { cluster: only?.name ?? noCluster };
  const name = 'envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy';
  const config = codec(name).encode({ stat_prefix: statPrefix, ...route });
  return {
    filter_chains: [
      { filters: [{ name: 'envoy.filters.network.tcp_proxy', typed_config: toAny(name, config) }] },
    ],
  };
}

/** Envoy's UDP proxy takes no weights: it gets the back end with the greatest one. */
function udp(statPrefix: string, targets: readonly Target[]): ListenerMessage {
  const weighted = mergeTargets(targets);
  const first = weighted.reduce((a, b) => (b.weight > a.weight ? b : a), { name: noCluster, weight: 0 });
  const route = 'envoy.extensions.filters.udp.udp_proxy.v3.Route';
  const proxy = 'envoy.extensions.filters.udp.udp_proxy.v3.UdpProxyConfig';
  const config = codec(proxy).encode({
    stat_prefix: statPrefix,
    matcher: {
      on_no_match: {
        action: { name: 'route', typed_config: toAny(route, codec(route).encode({ cluster: first.name })) },
      },
    },
  });
  return {
    listener_filters: [{ name: 'envoy.filters.udp_listener.udp_proxy', typed_config: toAny(proxy, config) }],
    udp_listener_config: {},
  };
}

/** Shares by cluster, in the order of the route; a reference that does not resolve is `noCluster`. */
function mergeTargets(targets: readonly Target[]): { name: string; weight: number }[] {
  const weights = new Map<string, number>();
  for (const { backend, weight } of targets) {
    const name = backend ?? noCluster;
    if (weight > 0) weights.set(name, (weights.get(name) ?? 0) + weight);
  }
  return [...weights].map(([name, weight]) => ({ name, weight }));
}
