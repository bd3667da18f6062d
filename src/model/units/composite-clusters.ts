import { parseCompositePortKey } from '../keys.ts';
import { networkOf } from '../network.ts';
import type { Problem } from '../problem.ts';
import type { Reader } from '../reader.ts';
import { contributionKeyOf, portKeyOf } from '../relay/names.ts';
import { byText } from '../sorted-map.ts';
import { isUnknown } from './backend.ts';
import type { CompositeFacts } from './composite-facts.ts';
import { parseKey, refOf } from './object-key.ts';
import { ownContribution } from './own-contribution.ts';
import {
  isAdmitted,
  isReachable,
  lastsOnExpired,
  livingEndpoints,
  standingOf,
  usableEndpoints,
} from './remote-shares.ts';

export interface ClusterStatus {
  readonly name: string;
  readonly state: 'Synced' | 'Syncing' | 'Stale' | 'Expired' | 'NotOffered' | 'Refused';
  readonly reason: string;
  readonly message?: string;
}

export interface CompositeClusters {
  /** Sorted by name. */
  readonly clusters: readonly ClusterStatus[];
  readonly problems: readonly Problem[];
}

/**
 * What each cluster is to a composite. `referred`: the ports that routes here ask for; `contributed`: those that
 * this cluster offers. Messages hold no counts: they change only when a state does.
 */
export function compositeClusters(
  reader: Reader,
  composite: string,
  facts: CompositeFacts,
  referred: readonly string[],
  contributed: readonly string[],
): CompositeClusters {
  const offers = offersOf(reader, composite, facts);
  const named = facts.importFrom.flatMap(({ clusters: { names = [] } }) => names);
  const asked = new Set(referred);
  const clusters: ClusterStatus[] = [];
  const problems: Problem[] = [];
  if (facts.contributes) clusters.push(ownStatus(reader, new Set([...referred, ...contributed])));
  for (const cluster of new Set([...offers.keys(), ...(asked.size > 0 ? named : [])])) {
    if (cluster === reader.config.cluster) continue;
    const offer = offers.get(cluster) ?? nothing;
    const unknown = referred.some((key) => !offer.ports.has(key) && isUnknown(reader, facts, key));
    clusters.push(remoteStatus(reader, facts, cluster, offer, unknown));
    if (offer.ports.size === 0 || unknown) continue;
    for (const key of referred.filter((k) => !offer.ports.has(k))) {
      problems.push(notOffered(composite, cluster, key));
    }
  }
  return { clusters: clusters.sort((a, b) => byText(a.name, b.name)), problems };
}

/** What a cluster offers to a composite. */
interface Offer {
  /** Keys of contributions that count. */
  readonly contributions: readonly string[];
  /** Port keys of these. */
  readonly ports: ReadonlySet<string>;
  /** Its composites that are not imported: `<namespace>/<name>`, sorted. */
  readonly refused: readonly string[];
}

/** In a message: how many there are is the other cluster's choice. */
const maxNames = 3;

const nothing: Offer = { contributions: [], ports: new Set(), refused: [] };

/** By cluster. */
function offersOf(reader: Reader, composite: string, facts: CompositeFacts): ReadonlyMap<string, Offer> {
  const all = Map.groupBy(reader.list('Contribution', 'composite', composite), ({ cluster }) => cluster);
  return new Map(
    [...all].map(([cluster, contributions]) => {
      const { counted = [], refused = [] } = Object.groupBy(contributions, (contribution) =>
        isAdmitted(reader, facts, contribution) === false ? 'refused' : 'counted',
      );
      const offer: Offer = {
        contributions: counted.map(contributionKeyOf),
        ports: new Set(counted.map(portKeyOf)),
        refused: [...new Set(refused.map(({ from }) => from ?? composite))].sort(),
      };
      return [cluster, offer];
    }),
  );
}

function ownStatus(reader: Reader, keys: ReadonlySet<string>): ClusterStatus {
  const name = reader.config.cluster;
  if (keys.size === 0) {
    const message = 'this cluster, where neither a route nor the back end says which ports there are';
    return { name, state: 'Synced', reason: 'NoPortDeclared', message };
  }
  const some = [...keys].some((key) => reader.unit(ownContribution, key).endpoints.length > 0);
  return some
    ? { name, state: 'Synced', reason: 'Synced', message: 'this cluster' }
    : { name, state: 'Synced', reason: 'NoEndpoints', message: 'this cluster, where no endpoint is ready' };
}

function remoteStatus(
  reader: Reader,
  facts: CompositeFacts,
  name: string,
  { contributions, ports: offered, refused }: Offer,
  unknown: boolean,
): ClusterStatus {
  if (offered.size === 0 && refused.length > 0) {
    const some = [...refused.slice(0, maxNames), ...(refused.length > maxNames ? ['…'] : [])];
    const message = `it offers its ${some.join(', ')}, and spec.import does not name that`;
    return { name, state: 'Refused', reason: 'NotImported', message };
  }
  const state = standingOf(reader, facts, name);
  if (state === 'Syncing' && (offered.size > 0 || unknown || reader.get('Origin', name))) {
    return { name, state, reason: 'NotSynced', message: 'its first complete state has not come' };
  }
  if (state === 'Expired' && keepsServing(reader, facts, contributions)) {
    const message =
      'no contact for longer than spec.disconnect.expireAfter: nobody else has endpoints, so its own stay as long as they take connections';
    return { name, state: 'Stale', reason: 'OnlyProvider', message };
  }
  if (state === 'Expired') {
    const message = 'no contact for longer than spec.disconnect.expireAfter: its endpoints are given up';
    return { name, state, reason: 'Expired', message };
  }
  const usable = contributions.some((key) => reader.unit(usableEndpoints, key).length > 0);
  if (state === 'Stale' && usable && contributions.every((key) => isDead(reader, key))) {
    const message = 'no contact, and its last known endpoints take no connections from this cluster';
    return { name, state, reason: 'Unreachable', message };
  }
  if (state === 'Stale') {
    const message = 'no contact: its last known endpoints stay until spec.disconnect.expireAfter';
    return { name, state, reason: 'NoContact', message };
  }
  if (unknown)
    return { name, state: 'Syncing', reason: 'NotSynced', message: 'the relay has not told everything yet' };
  if (offered.size === 0) {
    const message = 'it offers nothing that spec.import names to this cluster on a port that routes refer to';
    return { name, state: 'NotOffered', reason: 'NotOffered', message };
  }
  if (!isReachable(reader, name)) {
    const network = networkOf(reader.get('Origin', name)?.network ?? '');
    const message = `its endpoints are in network "${network}", to which there is no gateway`;
    return { name, state: 'Synced', reason: 'NoGatewayAddress', message };
  }
  return usable
    ? { name, state: 'Synced', reason: 'Synced' }
    : {
        name,
        state: 'Synced',
        reason: 'NoEndpoints',
        message: 'it offers this back end and has no endpoint ready',
      };
}

const isDead = (reader: Reader, key: string): boolean => reader.unit(livingEndpoints, key).length === 0;

/** It expired, and is used all the same. */
function keepsServing(reader: Reader, facts: CompositeFacts, contributions: readonly string[]): boolean {
  return contributions.some(
    (key) => !isDead(reader, key) && lastsOnExpired(reader, facts, key.slice(0, key.lastIndexOf('/'))),
  );
}

function notOffered(composite: string, cluster: string, key: string): Problem {
  const port = parseCompositePortKey(key);
  return {
    code: 'PortNotOffered',
    ref: refOf('CompositeBackend', parseKey(composite)),
    path: '',
    message: `${cluster} does not offer port ${port?.port}/${port?.protocol}`,
  };
}
