import { clusterOf, selectsCluster } from '../cluster-selection.ts';
import type { Contribution, RemoteEndpoint } from '../inputs.ts';
import { networkOf } from '../network.ts';
import { usableAddresses } from '../pod-facts.ts';
import type { Reader, Unit } from '../reader.ts';
import { contributionKeyOf } from '../relay/names.ts';
import type { CompositeFacts } from './composite-facts.ts';
import type { Share } from './distribution.ts';
import { byAddress, distinctEndpoints } from './local-endpoints.ts';
import { ownContribution } from './own-contribution.ts';
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

/** What a cluster's composite contributes is imported. Undefined: nothing is known of the cluster. */
export function isAdmitted(
  reader: Reader,
  facts: CompositeFacts,
  { cluster, from }: Pick<Contribution, 'cluster' | 'from'>,
): boolean | undefined {
  const origin = reader.get('Origin', cluster);
  return (
    origin &&
    facts.importFrom.some(
      ({ clusters, composite }) => composite === from && selectsCluster(clusters, clusterOf(origin)),
    )
  );
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
    .some((c) => c.cluster !== reader.config.cluster && isAdmitted(reader, facts, c) !== false);
}

/**
 * What admitted clusters contribute to a port and can be used, by cluster. Those that expired are there only where
 * nobody else has an endpoint.
 */
export function remoteShares(reader: Reader, facts: CompositeFacts, portKey: string): readonly Share[] {
  const { lasting, expired } = sharesOf(reader, facts, portKey);
  const shares = isLastResort(reader, portKey, lasting) ? [...lasting, ...expired] : lasting;
  return [...Map.groupBy(shares, ({ cluster }) => cluster).values()].flatMap(together);
}

/** The only endpoints of this port are those of clusters that expired. */
export function lastsOnExpired(reader: Reader, facts: CompositeFacts, portKey: string): boolean {
  return isLastResort(reader, portKey, sharesOf(reader, facts, portKey).lasting);
}

const isLastResort = (reader: Reader, portKey: string, lasting: readonly Share[]): boolean =>
  reader.unit(ownContribution, portKey).endpoints.length === 0 &&
  lasting.every(({ endpoints }) => endpoints.length === 0);

function sharesOf(reader: Reader, facts: CompositeFacts, portKey: string) {
  const lasting: Share[] = [];
  const expired: Share[] = [];
  for (const contribution of reader.list('Contribution', 'port', portKey)) {
    const { cluster, selected } = contribution;
    const origin = reader.get('Origin', cluster);
    if (!origin || cluster === reader.config.cluster || !isAdmitted(reader, facts, contribution)) continue;
    if (!isReachable(reader, cluster)) continue;
    const endpoints = reader.unit(livingEndpoints, contributionKeyOf(contribution));
    const shares = standingOf(reader, facts, cluster) === 'Expired' ? expired : lasting;
    shares.push({ ...clusterOf(origin), own: false, selected, endpoints });
  }
  return { lasting, expired };
}

/** Several composites of one cluster, each endpoint once. */
function together(shares: readonly Share[]): readonly Share[] {
  const [first, ...others] = shares;
  if (!first || others.length === 0) return shares;
  const endpoints = distinctEndpoints(shares.flatMap((share) => share.endpoints).sort(byAddress));
  const selected = shares.reduce((sum, share) => sum + share.selected, 0);
  return [{ ...first, selected, endpoints }];
}

/** How probes name an endpoint. */
export const placeOf = ({ addresses, port }: Pick<RemoteEndpoint, 'addresses' | 'port'>): string =>
  `${addresses[0]} ${port}`;

/** What of a contribution can be used and does not fail its probes, by its key. */
export const livingEndpoints: Unit<readonly RemoteEndpoint[]> = {
  name: 'livingEndpoints',
  compute: (reader, key) => {
    const endpoints = reader.unit(usableEndpoints, key);
    const failing = new Set(reader.get('Probe', key)?.failing);
    return failing.size === 0 ? endpoints : endpoints.filter((endpoint) => !failing.has(placeOf(endpoint)));
  },
};

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
