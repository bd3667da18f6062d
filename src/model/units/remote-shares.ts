import { clusterOf, selectsCluster } from '../cluster-selection.ts';
import type { RemoteEndpoint } from '../inputs.ts';
import { networkOf } from '../network.ts';
import { usableAddresses } from '../pod-facts.ts';
import type { Reader, Unit } from '../reader.ts';
import type { CompositeFacts } from './composite-facts.ts';
import type { Share } from './distribution.ts';
import { byAddress, distinctEndpoints } from './local-endpoints.ts';
import { isServiceAddress } from './service-ranges.ts';

/** How much is known of another cluster, for one composite. */
export type Standing = 'Synced' | 'Syncing' | 'Stale' | 'Expired';

export function standingOf(reader: Reader, facts: CompositeFacts, cluster: string): Standing {
  const origin = reader.get('Origin', cluster);
  // Nothing that a cluster says counts before we know who it is.
  if (!origin) return 'Syncing';
  if (origin.state !== 'Stale' || facts.expireAfter === Number.POSITIVE_INFINITY) return origin.state;
  return reader.reached(origin.staleSince + facts.expireAfter) ? 'Expired' : 'Stale';
}

/** Undefined: nothing is known of the cluster. */
export function isAdmitted(reader: Reader, facts: CompositeFacts, cluster: string): boolean | undefined {
  const origin = reader.get('Origin', cluster);
  return origin && facts.importFrom.some((selector) => selectsCluster(selector, clusterOf(origin)));
}

/** Its endpoints can be reached: without a gateway only those of our own network. */
export function isReachable(reader: Reader, cluster: string): boolean {
  const origin = reader.get('Origin', cluster);
  return origin !== undefined && networkOf(origin.network) === networkOf(reader.config.network);
}

/** A cluster that is admitted, or not known yet, contributes to a port: with endpoints or without. */
export function isOfferedByOthers(reader: Reader, facts: CompositeFacts, portKey: string): boolean {
  return reader
    .list('Contribution', 'port', portKey)
    .some(({ cluster }) => cluster !== reader.config.cluster && isAdmitted(reader, facts, cluster) !== false);
}

/** What admitted clusters contribute to a port and can be used, by cluster. */
export function remoteShares(reader: Reader, facts: CompositeFacts, portKey: string): readonly Share[] {
  return reader.list('Contribution', 'port', portKey).flatMap(({ cluster, selected }) => {
    const origin = reader.get('Origin', cluster);
    if (!origin || cluster === reader.config.cluster || !isAdmitted(reader, facts, cluster)) return [];
    if (!isReachable(reader, cluster) || standingOf(reader, facts, cluster) === 'Expired') return [];
    const endpoints = reader.unit(usableEndpoints, `${portKey}/${cluster}`);
    return [{ ...clusterOf(origin), own: false, selected, endpoints }];
  });
}

/**
 * What of a contribution can be used, by its key; each endpoint once, sorted. A peer can be wrong or hostile: what
 * is no address that another host can have is left out, and so are our own virtual addresses, behind which a peer
 * could hide any Service of this cluster.
 */
export const usableEndpoints: Unit<readonly RemoteEndpoint[]> = {
  name: 'usableEndpoints',
  compute: (reader, key) => {
    const endpoints = (reader.get('Contribution', key)?.endpoints ?? []).flatMap((endpoint) => {
      const { port } = endpoint;
      if (!Number.isInteger(port) || port < 1 || port > 65535) return [];
      const addresses = usableAddresses(endpoint.addresses).filter(
        (address) => !isServiceAddress(reader.config, address),
      );
      return addresses.length === 0 ? [] : [{ ...endpoint, addresses }];
    });
    return distinctEndpoints(endpoints.sort(byAddress));
  },
};
