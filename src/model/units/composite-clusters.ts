import { parseCompositePortKey } from '../keys.ts';
import { networkOf } from '../network.ts';
import type { Problem } from '../problem.ts';
import type { Reader } from '../reader.ts';
import { byText } from '../sorted-map.ts';
import { isWithheld } from './backend.ts';
import type { CompositeFacts } from './composite-facts.ts';
import { parseKey, refOf } from './object-key.ts';
import { ownContribution } from './own-contribution.ts';
import { isAdmitted, isReachable, standingOf, usableEndpoints } from './remote-shares.ts';

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
  const offers = offersOf(reader, composite);
  const named = facts.importFrom.flatMap(({ names = [] }) => names);
  const asked = new Set(referred);
  const clusters: ClusterStatus[] = [];
  const problems: Problem[] = [];
  if (facts.contributes) clusters.push(ownStatus(reader, new Set([...referred, ...contributed])));
  for (const cluster of new Set([...offers.keys(), ...(asked.size > 0 ? named : [])])) {
    if (cluster === reader.config.cluster) continue;
    const offered = offers.get(cluster) ?? new Set();
    const unknown = referred.some((key) => !offered.has(key) && isWithheld(reader, facts, key));
    const status = remoteStatus(reader, facts, cluster, offered, unknown);
    clusters.push(status);
    if (status.state === 'Refused' || offered.size === 0 || unknown) continue;
    for (const key of referred.filter((k) => !offered.has(k))) {
      problems.push(notOffered(composite, cluster, key));
    }
  }
  return { clusters: clusters.sort((a, b) => byText(a.name, b.name)), problems };
}

/** Cluster → the port keys that it offers. */
function offersOf(reader: Reader, composite: string): ReadonlyMap<string, ReadonlySet<string>> {
  const offers = new Map<string, Set<string>>();
  for (const { cluster, protocol, port } of reader.list('Contribution', 'composite', composite)) {
    const key = `${composite}/${protocol.toLowerCase()}-${port}`;
    offers.set(cluster, (offers.get(cluster) ?? new Set()).add(key));
  }
  return offers;
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
  offered: ReadonlySet<string>,
  unknown: boolean,
): ClusterStatus {
  if (isAdmitted(reader, facts, name) === false && offered.size > 0) {
    const message = 'it offers endpoints, and spec.import does not name it';
    return { name, state: 'Refused', reason: 'NotImported', message };
  }
  const state = standingOf(reader, facts, name);
  if (state === 'Syncing' && (offered.size > 0 || unknown || reader.get('Origin', name))) {
    return { name, state, reason: 'NotSynced', message: 'its first complete state has not come' };
  }
  if (state === 'Expired') {
    const message = 'no contact for longer than spec.disconnect.expireAfter: its endpoints are given up';
    return { name, state, reason: 'Expired', message };
  }
  if (state === 'Stale') {
    const message = 'no contact: its last known endpoints stay until spec.disconnect.expireAfter';
    return { name, state, reason: 'NoContact', message };
  }
  if (unknown)
    return { name, state: 'Syncing', reason: 'NotSynced', message: 'the relay has not told everything yet' };
  if (offered.size === 0) {
    return {
      name,
      state: 'NotOffered',
      reason: 'NotOffered',
      message: 'it offers nothing of this name to this cluster on a port that routes refer to',
    };
  }
  if (!isReachable(reader, name)) {
    const network = networkOf(reader.get('Origin', name)?.network ?? '');
    const message = `its endpoints are in network "${network}", to which there is no gateway`;
    return { name, state: 'Synced', reason: 'NoGatewayAddress', message };
  }
  const some = [...offered].some((key) => reader.unit(usableEndpoints, `${key}/${name}`).length > 0);
  return some
    ? { name, state: 'Synced', reason: 'Synced' }
    : {
        name,
        state: 'Synced',
        reason: 'NoEndpoints',
        message: 'it offers this back end and has no endpoint ready',
      };
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
