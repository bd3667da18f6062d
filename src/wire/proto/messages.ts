/**
 * The protobuf messages that we read and write, reduced to the fields that we use. A field that is absent on the
 * wire is its default after decoding: '' and 0, null for messages, an empty list or map. Enums are numbers.
 */
type Maybe<T> = T | null | undefined;

export interface StructMessage {
  fields?: Record<string, ValueMessage>;
}
/** Well-known types keep camelCase names in protobufjs, whatever the naming of the others. */
export interface ValueMessage {
  nullValue?: number;
  numberValue?: number;
  stringValue?: string;
  boolValue?: boolean;
  structValue?: Maybe<StructMessage>;
  listValue?: Maybe<{ values?: ValueMessage[] }>;
}
export interface AnyMessage {
  type_url?: string;
  value?: Uint8Array;
}
export interface MetadataMessage {
  filter_metadata?: Record<string, StructMessage>;
}
export interface AddressMessage {
  socket_address?: Maybe<{ protocol?: number; address?: string; port_value?: number }>;
}
interface Additional {
  address?: Maybe<AddressMessage>;
}
interface LocalityMessage {
  region?: string;
  zone?: string;
  sub_zone?: string;
}
interface NodeMessage {
  id?: string;
  cluster?: string;
  metadata?: Maybe<StructMessage>;
  locality?: Maybe<LocalityMessage>;
  user_agent_name?: string;
  user_agent_version?: string;
  client_features?: string[];
}
interface Filter {
  name?: string;
  typed_config?: Maybe<AnyMessage>;
}
export interface ListenerMessage {
  name?: string;
  address?: Maybe<AddressMessage>;
  additional_addresses?: Additional[];
  stat_prefix?: string;
  filter_chains?: { name?: string; filters?: Filter[] }[];
  listener_filters?: Filter[];
  metadata?: Maybe<MetadataMessage>;
  udp_listener_config?: Maybe<Record<string, never>>;
  bind_to_port?: Maybe<{ value?: boolean }>;
  traffic_direction?: number;
}
interface ClusterMessage {
  name?: string;
  /** `clusterType.eds`. */
  type?: number;
  eds_cluster_config?: Maybe<{
    eds_config?: Maybe<{ ads?: Maybe<Record<string, never>>; resource_api_version?: number }>;
    service_name?: string;
  }>;
  connect_timeout?: Maybe<{ seconds?: number; nanos?: number }>;
  lb_policy?: number;
  common_lb_config?: Maybe<{
    healthy_panic_threshold?: Maybe<{ value?: number }>;
    locality_weighted_lb_config?: Maybe<Record<string, never>>;
  }>;
  metadata?: Maybe<MetadataMessage>;
}
export interface LbEndpointMessage {
  endpoint?: Maybe<{
    address?: Maybe<AddressMessage>;
    hostname?: string;
    additional_addresses?: Additional[];
  }>;
  /** `healthStatus`. */
  health_status?: number;
  metadata?: Maybe<MetadataMessage>;
  load_balancing_weight?: Maybe<{ value?: number }>;
}
export interface LocalityEndpointsMessage {
  locality?: Maybe<LocalityMessage>;
  metadata?: Maybe<MetadataMessage>;
  lb_endpoints?: LbEndpointMessage[];
  load_balancing_weight?: Maybe<{ value?: number }>;
  priority?: number;
}
export interface AssignmentMessage {
  cluster_name?: string;
  endpoints?: LocalityEndpointsMessage[];
}
interface OriginStatusMessage {
  epoch?: number;
  sequence?: number;
  synced?: boolean;
  counts?: Record<string, number>;
  sent_at?: number;
  labels?: Record<string, string>;
  region?: string;
  network?: string;
}
interface TcpProxyMessage {
  stat_prefix?: string;
  cluster?: string;
  weighted_clusters?: Maybe<{ clusters?: { name?: string; weight?: number }[] }>;
}
interface UdpProxyMessage {
  stat_prefix?: string;
  matcher?: Maybe<{ on_no_match?: Maybe<{ action?: Maybe<Filter> }> }>;
}

export interface Messages {
  'causeway.v1.OriginStatus': OriginStatusMessage;
  'envoy.config.core.v3.Metadata': MetadataMessage;
  'envoy.config.core.v3.Node': NodeMessage;
  'envoy.config.listener.v3.Listener': ListenerMessage;
  'envoy.config.cluster.v3.Cluster': ClusterMessage;
  'envoy.config.endpoint.v3.ClusterLoadAssignment': AssignmentMessage;
  'envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy': TcpProxyMessage;
  'envoy.extensions.filters.udp.udp_proxy.v3.UdpProxyConfig': UdpProxyMessage;
  'envoy.extensions.filters.udp.udp_proxy.v3.Route': { cluster?: string };
  'google.protobuf.Struct': StructMessage;
}

export const clusterType = { eds: 3 } as const;
export const apiVersion = { v3: 2 } as const;
export const socketProtocol = { tcp: 0, udp: 1 } as const;
export const trafficDirection = { outbound: 2 } as const;
/** envoy.config.core.v3.HealthStatus */
export const healthStatus = {
  unknown: 0,
  healthy: 1,
  unhealthy: 2,
  draining: 3,
  timeout: 4,
  degraded: 5,
} as const;
