import { apiVersionOf } from '../../api/kind.ts';
import { kinds } from '../../api/kinds.ts';
import { conditionsOf } from '../conditions.ts';
import type { Backend } from '../ir.ts';
import type { Problem } from '../problem.ts';
import type { Reader, Unit } from '../reader.ts';
import { backend } from './backend.ts';
import { type ClusterStatus, compositeClusters } from './composite-clusters.ts';
import { type CompositeFacts, compositeFacts } from './composite-facts.ts';
import { contributedPorts, referredPorts } from './composite-ports.ts';
import type { StatusResult } from './gateway-class.ts';
import { refOf } from './object-key.ts';
import { ownOffer } from './own-contribution.ts';

/** By the composite's key. */
export const compositeStatus: Unit<StatusResult | undefined> = {
  name: 'compositeStatus',
  compute: (reader, key) => {
    const record = reader.get('CompositeBackend', key);
    const facts = reader.unit(compositeFacts, key);
    if (!record || !facts) return undefined;
    const ref = refOf('CompositeBackend', record.metadata);
    const { generation } = record.metadata;
    const referred = facts.accepted ? reader.unit(referredPorts, key) : [];
    const contributed = reader.unit(contributedPorts, key);
    const { clusters, problems: notOffered } = facts.accepted
      ? compositeClusters(reader, key, facts, referred, contributed)
      : { clusters: [], problems: [] };
    // Ports that a back end merely has are no promise of the others.
    const promised = new Set([...referred, ...(facts.ports.length > 0 ? contributed : [])]);
    const problems: Problem[] = [
      ...facts.problems,
      ...[...promised].flatMap((port) => reader.unit(ownOffer, port).problems),
      ...notOffered,
      ...(reader.config.relay ? undeclared(facts, contributed, ref) : []),
    ];
    const conditions = conditionsOf(
      generation,
      [
        { type: 'Accepted', status: 'True', reason: 'Accepted' },
        { type: 'ResolvedRefs', status: 'True', reason: 'ResolvedRefs' },
        { type: 'Conflicted', status: 'False', reason: 'NoConflicts' },
      ],
      problems,
    );
    const summary = {
      clusters: clusterSummary(clusters),
      endpoints: countEndpoints(reader, new Set([...referred, ...contributed])),
    };
    return {
      status: {
        ref,
        apiVersion: apiVersionOf(kinds.CompositeBackend),
        generation,
        status: { conditions, summary, clusters },
      },
      problems,
    };
  },
};

function undeclared(
  { accepted, contributes, members, exportTo }: CompositeFacts,
  contributed: readonly string[],
  ref: Problem['ref'],
): readonly Problem[] {
  if (!accepted || !contributes || members.length === 0 || exportTo.length === 0 || contributed.length > 0)
    return [];
  const message =
    'nothing is offered to other clusters: neither spec.ports, nor the back ends, nor a route here says which ports there are';
  return [{ code: 'NoPortDeclared', ref, path: 'spec.ports', message }];
}

/** Clusters that contribute endpoints and are in touch, of those that should. */
function clusterSummary(clusters: readonly ClusterStatus[]): string {
  const expected = clusters.filter(({ state }) => state !== 'Refused');
  const contributing = expected.filter(({ state, reason }) => state === 'Synced' && reason === 'Synced');
  return `${contributing.length}/${expected.length}`;
}

/** Endpoints that take traffic on any port, a pod once. */
function countEndpoints(reader: Reader, portKeys: ReadonlySet<string>): number {
  const addresses = new Set<string>();
  for (const key of portKeys) {
    for (const address of usableAddressesOf(reader.unit(backend, `composite/${key}`))) addresses.add(address);
  }
  return addresses.size;
}

function usableAddressesOf({ groups }: Backend): readonly string[] {
  const all = groups.flatMap(({ endpoints }) => endpoints);
  const healthy = all.filter(({ health }) => health === 'Healthy');
  return (healthy.length > 0 ? healthy : all).map(({ addresses: [first = ''] }) => first);
}
