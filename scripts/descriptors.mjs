// Writes src/wire/proto/descriptors.json: the protobuf messages that travel on our streams, as protobufjs JSON.
// The sources are the .proto files that @grpc/grpc-js-xds carries and our own. Messages are reduced to the fields
// named in `kept` where one is named (decoding skips the others), and to what is reachable from `roots`.
// Plain JavaScript: scripts/setup.mjs runs it with the Node that is there.

import { existsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import protobuf from 'protobufjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const xds = join(root, 'node_modules', '@grpc', 'grpc-js-xds', 'deps');
const include = [
  join(root, 'src', 'wire', 'proto'),
  ...['envoy-api', 'xds', 'googleapis', 'protoc-gen-validate'].map((dir) => join(xds, dir)),
  join(root, 'node_modules', 'protobufjs'),
];

const files = [
  'causeway.proto',
  'envoy/service/discovery/v3/discovery.proto',
  'envoy/config/listener/v3/listener.proto',
  'envoy/config/cluster/v3/cluster.proto',
  'envoy/config/endpoint/v3/endpoint.proto',
  'envoy/extensions/filters/network/tcp_proxy/v3/tcp_proxy.proto',
  'envoy/extensions/filters/udp/udp_proxy/v3/udp_proxy.proto',
  'envoy/extensions/filters/udp/udp_proxy/v3/route.proto',
  'google/rpc/status.proto',
  'google/rpc/error_details.proto',
];

const roots = [
  'causeway.v1.OriginStatus',
  'envoy.service.discovery.v3.DeltaDiscoveryRequest',
  'envoy.service.discovery.v3.DeltaDiscoveryResponse',
  'envoy.config.core.v3.Node',
  'envoy.config.core.v3.Metadata',
  'envoy.config.listener.v3.Listener',
  'envoy.config.cluster.v3.Cluster',
  'envoy.config.endpoint.v3.ClusterLoadAssignment',
  'envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy',
  'envoy.extensions.filters.udp.udp_proxy.v3.UdpProxyConfig',
  'envoy.extensions.filters.udp.udp_proxy.v3.Route',
  'google.rpc.Status',
  'google.rpc.ResourceInfo',
  'google.protobuf.Struct',
  'google.protobuf.Any',
];

const kept = {
  'envoy.config.core.v3.Node':
    'id cluster metadata locality user_agent_name user_agent_version client_features',
  'envoy.config.core.v3.Address': 'socket_address',
  'envoy.config.core.v3.SocketAddress': 'protocol address port_value',
  'envoy.config.core.v3.ConfigSource': 'ads self resource_api_version initial_fetch_timeout',
  'envoy.config.listener.v3.Listener':
    'name address additional_addresses stat_prefix filter_chains metadata listener_filters udp_listener_config bind_to_port traffic_direction',
  'envoy.config.listener.v3.AdditionalAddress': 'address',
  'envoy.config.listener.v3.FilterChain': 'filters name',
  'envoy.config.listener.v3.Filter': 'name typed_config',
  'envoy.config.listener.v3.ListenerFilter': 'name typed_config',
  'envoy.config.listener.v3.UdpListenerConfig': 'downstream_socket_config',
  'envoy.config.cluster.v3.Cluster':
    'name type eds_cluster_config connect_timeout lb_policy common_lb_config metadata alt_stat_name',
  'envoy.config.cluster.v3.Cluster.CommonLbConfig': 'healthy_panic_threshold locality_weighted_lb_config',
  'envoy.config.endpoint.v3.ClusterLoadAssignment': 'cluster_name endpoints policy',
  'envoy.config.endpoint.v3.ClusterLoadAssignment.Policy': 'overprovisioning_factor',
  'envoy.config.endpoint.v3.Endpoint': 'address hostname additional_addresses',
  'envoy.config.endpoint.v3.LocalityLbEndpoints':
    'locality metadata lb_endpoints load_balancing_weight priority',
  'envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy': 'stat_prefix cluster weighted_clusters',
  'envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy.WeightedCluster.ClusterWeight': 'name weight',
  'envoy.extensions.filters.udp.udp_proxy.v3.UdpProxyConfig': 'stat_prefix cluster matcher',
  'envoy.service.discovery.v3.DeltaDiscoveryRequest':
    'node type_url resource_names_subscribe resource_names_unsubscribe initial_resource_versions response_nonce error_detail',
  'envoy.service.discovery.v3.DeltaDiscoveryResponse':
    'system_version_info resources type_url removed_resources nonce removed_resource_names',
  'envoy.service.discovery.v3.Resource': 'name version resource metadata resource_name',
  'xds.type.matcher.v3.Matcher': 'on_no_match',
  'xds.type.matcher.v3.Matcher.OnMatch': 'action',
};

function load() {
  const loaded = new protobuf.Root();
  loaded.resolvePath = (_origin, target) => {
    const dir = include.find((folder) => existsSync(join(folder, target)));
    return dir ? join(dir, target) : target;
  };
  loaded.loadSync(files, { keepCase: true });
  loaded.resolveAll();
  return loaded;
}

const nameOf = (type) => type.fullName.slice(1);

function fieldsOf(type) {
  const names = kept[nameOf(type)]?.split(' ');
  for (const name of names ?? []) {
    if (!type.fields[name]) throw new Error(`${nameOf(type)} has no field ${name}`);
  }
  return type.fieldsArray.filter((field) => !names || names.includes(field.name));
}

/** Full names of all messages and enums that the roots lead to. */
function reachable(loaded) {
  const seen = new Map();
  const queue = roots.map((name) => loaded.lookupTypeOrEnum(name));
  while (queue.length > 0) {
    const type = queue.pop();
    if (seen.has(nameOf(type))) continue;
    seen.set(nameOf(type), type);
    if (type instanceof protobuf.Enum) continue;
    for (const field of fieldsOf(type)) if (field.resolvedType) queue.push(field.resolvedType);
  }
  return seen;
}

/** Only what the wire format needs: annotations for validation and documentation go. */
function plainOptions(options) {
  const left = Object.entries(options ?? {}).filter(([key]) => key === 'packed' || key === 'proto3_optional');
  return left.length > 0 ? { options: Object.fromEntries(left) } : {};
}

function describe(type) {
  if (type instanceof protobuf.Enum) return { edition: 'proto3', values: type.values };
  const kept = fieldsOf(type);
  const fields = {};
  for (const field of kept) {
    fields[field.name] = {
      ...(field.map ? { keyType: field.keyType } : field.repeated ? { rule: 'repeated' } : {}),
      type: field.resolvedType ? nameOf(field.resolvedType) : field.type,
      id: field.id,
      ...plainOptions(field.options),
    };
  }
  const oneofs = {};
  for (const oneof of type.oneofsArray) {
    const names = oneof.fieldsArray.filter((field) => kept.includes(field)).map((field) => field.name);
    if (names.length > 0) oneofs[oneof.name] = { oneof: names };
  }
  return { edition: 'proto3', ...(Object.keys(oneofs).length > 0 ? { oneofs } : {}), fields };
}

const types = reachable(load());
const json = { nested: {} };
for (const name of [...types.keys()].sort()) {
  let at = json;
  for (const part of name.split('.')) {
    at.nested ??= {};
    at.nested[part] ??= {};
    at = at.nested[part];
  }
  Object.assign(at, describe(types.get(name)));
}

const target = join(root, 'src', 'wire', 'proto', 'descriptors.json');
const text = `${JSON.stringify(json)}\n`;
writeFileSync(target, text);
process.stderr.write(`descriptors: ${types.size} messages and enums, ${Math.round(text.length / 1024)} kB\n`);
