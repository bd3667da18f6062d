import type { Export } from '../../model/compiled.ts';
import type { RemoteEndpoint } from '../../model/inputs.ts';
import type { ExportTarget } from '../../model/relay/export-policy.ts';
import { encodeLinkFacts } from '../../model/relay/link-metadata.ts';
import { type ContributionName, formatContributionName } from '../../model/relay/names.ts';
import {
  type AddressMessage,
  apiVersion,
  clusterType,
  healthStatus,
  type LbEndpointMessage,
  type LocalityEndpointsMessage,
  socketProtocol,
} from '../../wire/proto/messages.ts';
import { codec } from '../../wire/proto/registry.ts';
import { toStruct } from '../../wire/proto/struct.ts';
import { metadataKey, typeUrls } from '../../wire/proto/type-urls.ts';
import type { Resource } from '../xds/log-entry.ts';
import { policyVersion } from './policy-version.ts';
import { shardEndpoints } from './shards.ts';

export interface Publisher {
  readonly set: string;
  readonly cluster: string;
  readonly network: string;
}

export interface PublishedResource extends Resource {
  readonly typeUrl: string;
}

/** A name under which an export is offered, and to whom. */
interface Offer {
  readonly namespace: string;
  readonly composite: string;
  /** The export's own name, where it is another one. */
  readonly from?: string;
  readonly to: Export['to'];
}

/**
 * What one exported port is on the link, for each name of a consumer's composite that it is offered to: its Cluster
 * (there even without endpoints) and its partial assignments. `mark` is our clock. The version covers the export
 * policy as well, which rides beside: a relay that comes back must not go on with an older policy.
 */
export function renderExport(exported: Export, from: Publisher, mark: number): readonly PublishedResource[] {
  const shards = shardEndpoints(exported.endpoints);
  return offersOf(exported).flatMap((offer) => renderOffer(exported, offer, shards, from, mark));
}

function offersOf({ namespace, composite, to, as = {} }: Export): readonly Offer[] {
  const renamed = Object.entries(as).map(([other, clusters]): Offer => {
    const [otherNamespace = '', otherName = ''] = other.split('/');
    return {
      namespace: otherNamespace,
      composite: otherName,
      from: `${namespace}/${composite}`,
      to: clusters,
    };
  });
  return to.length === 0 ? renamed : [{ namespace, composite, to }, ...renamed];
}

function renderOffer(
  exported: Export,
  { to, ...named }: Offer,
  shards: ReturnType<typeof shardEndpoints>,
  from: Publisher,
  mark: number,
): readonly PublishedResource[] {
  const { protocol, port } = exported;
  const name = (type: ContributionName['type'], shard = ''): string =>
    formatContributionName({
      set: from.set,
      type,
      ...named,
      protocol,
      port,
      cluster: from.cluster,
      ...(shard === '' ? {} : { shard }),
    });
  const policy = to.map((clusters): ExportTarget => ({ clusters }));
  const metadata = encodeLinkFacts({ export: policy, path: [], mark });
  const resource = (typeUrl: string, named: string, body: Buffer): PublishedResource => ({
    typeUrl,
    name: named,
    body,
    version: policyVersion(body, policy),
    metadata,
  });

  const cluster = codec('envoy.config.cluster.v3.Cluster').encode({
    name: name('cluster'),
    type: clusterType.eds,
    eds_cluster_config: {
      eds_config: { ads: {}, resource_api_version: apiVersion.v3 },
      service_name: name('assignment'),
    },
    metadata: {
      filter_metadata: {
        [metadataKey]: toStruct({
          kinds: exported.kinds,
          protocol,
          appProtocol: exported.appProtocol,
          network: from.network,
          ready: exported.ready,
          selected: exported.selected,
          shards: shards.length,
        }),
      },
    },
  });
  return [
    resource(typeUrls.cluster, name('cluster'), cluster),
    ...shards.map(({ bits, endpoints }) => {
      const body = codec('envoy.config.endpoint.v3.ClusterLoadAssignment').encode({
        cluster_name: name('assignment', bits),
        endpoints: localities(endpoints, exported, from),
      });
      return resource(typeUrls.assignment, name('assignment', bits), body);
    }),
  ];
}

function localities(
  endpoints: readonly RemoteEndpoint[],
  { protocol }: Export,
  from: Publisher,
): LocalityEndpointsMessage[] {
  const byZone = new Map<string, LbEndpointMessage[]>();
  for (const endpoint of endpoints) {
    const list = byZone.get(endpoint.zone);
    const rendered = lbEndpoint(endpoint, protocol === 'UDP' ? socketProtocol.udp : socketProtocol.tcp);
    if (list) list.push(rendered);
    else byZone.set(endpoint.zone, [rendered]);
  }
  return [...byZone]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([zone, lb_endpoints]) => ({ locality: { zone, sub_zone: from.cluster }, lb_endpoints }));
}

function lbEndpoint({ addresses, port, health }: RemoteEndpoint, protocol: number): LbEndpointMessage {
  const [first, ...others] = addresses.map(
    (address): AddressMessage => ({ socket_address: { protocol, address, port_value: port } }),
  );
  return {
    endpoint: { address: first, additional_addresses: others.map((address) => ({ address })) },
    health_status: health === 'Draining' ? healthStatus.draining : healthStatus.healthy,
  };
}
