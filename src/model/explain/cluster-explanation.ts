import { clusterOf, ownCluster } from '../cluster-selection.ts';
import type { Backend, Endpoint, Group } from '../ir.ts';
import { compositePortKey, parseBackendKey } from '../keys.ts';
import type { Reader } from '../reader.ts';
import { servingGroups } from '../serving-groups.ts';
import { backend, isWithheld } from '../units/backend.ts';
import { type ClusterStatus, compositeClusters } from '../units/composite-clusters.ts';
import { type CompositeFacts, compositeFacts } from '../units/composite-facts.ts';
import { contributedPorts } from '../units/composite-ports.ts';
import { type Distribution, evenly, tierOf } from '../units/distribution.ts';
import { parseKey, refOf } from '../units/object-key.ts';
import { ownContribution, ownOffer } from '../units/own-contribution.ts';
import { isReachable } from '../units/remote-shares.ts';
import type { Member } from '../units/selects-nothing.ts';
import { causeOf } from './cause.ts';
import type { Cause, ClusterExplanation } from './explanation.ts';
import { ownPods } from './own-pods.ts';
import { type Candidate, whyPreferred } from './preference.ts';

export interface BackendClusters {
  readonly policy: string;
  readonly clusters: readonly ClusterExplanation[];
  /** Why no endpoint takes traffic; empty where some do. */
  readonly causes: readonly Cause[];
}

const memberKinds = { selector: 'XEndpointSelector', service: 'Service', xbackend: 'XBackend' } as const;

/** Who stands behind a back end, by its key, and with what share of its connections. */
export function explainBackend(reader: Reader, key: string): BackendClusters {
  const parsed = parseBackendKey(key);
  if (!parsed) return { policy: 'Even', clusters: [], causes: [] };
  const made = reader.unit(backend, key);
  const { kind, object, protocol, port } = parsed;
  if (kind !== 'composite') {
    const member: Member = { as: kind, kind: memberKinds[kind], key: object };
    const own = ownMembers(reader, made, [member]);
    return { policy: made.policy, clusters: withReasons(reader, made, [own], evenly), causes: [] };
  }
  const facts = reader.unit(compositeFacts, object);
  if (!facts) return { policy: made.policy, clusters: [], causes: [] };
  const portKey = compositePortKey(object, protocol, port);
  const clusters = withReasons(reader, made, compositeMembers(reader, made, facts, object, portKey), facts);
  const some = clusters.some(({ endpoints }) => endpoints.length > 0);
  const because = some || clusters.some(({ causes }) => causes.some(({ stops }) => stops));
  return {
    policy: made.policy,
    // One cluster without endpoints stops nothing as long as another has some.
    clusters: some ? clusters.map(asNotes) : clusters,
    causes: because ? [] : [nobodyOffers(reader, facts, object, portKey)],
  };
}

/** Those without endpoints say themselves why. */
function withReasons(
  reader: Reader,
  made: Backend,
  clusters: readonly ClusterExplanation[],
  distribution: Distribution,
): readonly ClusterExplanation[] {
  const { region } = reader.config;
  const candidates = clusters.map((c): Candidate => {
    const own = c.path === 'own';
    const origin = reader.get('Origin', c.cluster);
    const facts = own || !origin ? ownCluster(reader.config) : clusterOf(origin);
    return { ...c, endpoints: c.endpoints.length, tier: tierOf({ ...facts, own }, distribution, region) };
  });
  return clusters.map((c, i) => {
    const candidate = candidates[i];
    if (!candidate || candidate.endpoints === 0) return c;
    if (!hasReady(made)) return { ...c, why: 'only terminating endpoints are left, in any cluster' };
    return { ...c, why: whyPreferred(candidate, candidates, distribution) };
  });
}

const asNotes = (cluster: ClusterExplanation): ClusterExplanation => ({
  ...cluster,
  causes: cluster.causes.map((cause) => ({ ...cause, stops: false })),
});

function compositeMembers(
  reader: Reader,
  made: Backend,
  facts: CompositeFacts,
  composite: string,
  portKey: string,
): readonly ClusterExplanation[] {
  const contributed = reader.unit(contributedPorts, composite).filter((key) => key === portKey);
  const { clusters, problems } = compositeClusters(reader, composite, facts, [portKey], contributed);
  return clusters.map((status) => {
    const { name } = status;
    if (name !== reader.config.cluster) {
      const missing = problems.filter(({ message }) => message.startsWith(`${name} `)).map(causeOf);
      return remoteCluster(reader, made, portKey, { composite, facts }, status, missing);
    }
    return ownOfComposite(reader, made, portKey);
  });
}

/** This cluster's part of a composite's port, whether a route here refers to it or not. */
export const explainOwnPart = (reader: Reader, portKey: string): ClusterExplanation =>
  ownOfComposite(reader, reader.unit(backend, `composite/${portKey}`), portKey);

function ownOfComposite(reader: Reader, made: Backend, portKey: string): ClusterExplanation {
  const offer = reader.unit(ownOffer, portKey);
  const own = ownMembers(
    reader,
    made,
    offer.translations.map(({ member }) => member),
    reader.unit(ownContribution, portKey).selected,
  );
  return { ...own, causes: [...offer.problems.map(causeOf), ...own.causes] };
}

function ownMembers(
  reader: Reader,
  made: Backend,
  members: readonly Member[],
  selected?: number,
): ClusterExplanation {
  const { cluster, network } = reader.config;
  const part = partOf(made, cluster);
  const pods = members.map((member) => ownPods(reader, member, part.endpoints.length));
  const notUsed = pods.flatMap((p) => p.notUsed);
  return {
    cluster,
    path: 'own',
    network,
    state: 'Synced',
    reason: part.endpoints.length > 0 ? 'Synced' : 'NoEndpoints',
    ...part,
    selected: selected ?? part.ready + notUsed.filter(({ why }) => !why.startsWith('terminating')).length,
    why: pods.flatMap((p) => p.causes)[0]?.message ?? 'this cluster has nothing behind this port',
    notUsed,
    causes: pods.flatMap((p) => p.causes),
  };
}

function remoteCluster(
  reader: Reader,
  made: Backend,
  portKey: string,
  { composite, facts }: { readonly composite: string; readonly facts: CompositeFacts },
  { name, state, reason, message }: ClusterStatus,
  missing: readonly Cause[],
): ClusterExplanation {
  const contributions = reader.list('Contribution', 'port', portKey).filter((c) => c.cluster === name);
  const part = partOf(made, name);
  const well = (state === 'Synced' && reason === 'Synced') || missing.length > 0;
  const cause: Cause = {
    // Who is out of touch is still used; who gives nothing is not.
    stops: part.endpoints.length === 0,
    reason,
    ref: refOf('CompositeBackend', parseKey(composite)),
    field: 'status.clusters',
    message: `${name}: ${message ?? ''}`,
    next: nextOf(reason, name, reader.config.cluster, wantedOf(facts, composite, name)),
  };
  return {
    cluster: name,
    path: isReachable(reader, name) ? 'direct' : 'none',
    network: reader.get('Origin', name)?.network ?? '',
    state,
    reason,
    ...part,
    ready: contributions.reduce((sum, { ready }) => sum + ready, 0),
    selected: contributions.reduce((sum, c) => sum + c.selected, 0),
    why: message ?? missing[0]?.message ?? reason,
    notUsed: [],
    causes: well ? missing.map((m) => ({ ...m, stops: part.endpoints.length === 0 })) : [cause],
  };
}

/** Which of a cluster's composites `import` asks for. */
interface Wanted {
  /** The one that asks: `<namespace>/<name>`. */
  readonly by: string;
  /** `<namespace>/<name>`, sorted. */
  readonly composites: readonly string[];
}

function wantedOf(facts: CompositeFacts, by: string, cluster: string): Wanted {
  const sides = facts.importFrom.filter(({ clusters: { names } }) => !names || names.includes(cluster));
  return { by, composites: [...new Set(sides.map(({ composite = by }) => composite))].sort() };
}

/** What the export of a composite of `composites` must say so that `own` gets it. */
function exportStep({ by, composites }: Wanted, own: string): string {
  const [first = by, ...more] = composites;
  const which = more.length === 0 ? first : `one of ${composites.join(', ')}`;
  const as = composites.every((composite) => composite === by)
    ? own
    : `composite ${by} of ${own}, by namespace and name`;
  return `CompositeBackend ${which} must exist there, with spec.export that admits ${as}`;
}

function nextOf(reason: string, cluster: string, own: string, wanted: Wanted): string {
  switch (reason) {
    case 'NotOffered':
      return `in ${cluster}, with this port: ${exportStep(wanted, own)}`;
    case 'Unreachable':
      return `see what stops packets from this cluster to the pods of ${cluster}, and whether the relay is reached`;
    case 'NoContact':
    case 'OnlyProvider':
    case 'NotSynced':
    case 'Expired':
      return `see whether the relay runs and is reached from here and from ${cluster}: causeway get clusters`;
    case 'NotImported':
      return `add ${cluster} to spec.import of the CompositeBackend, or leave it out on purpose`;
    case 'NoGatewayAddress':
      return 'join the networks, or use clusters of one network';
    default:
      return `ask the same in ${cluster}: causeway explain there says why none is ready`;
  }
}

function nobodyOffers(reader: Reader, facts: CompositeFacts, composite: string, portKey: string): Cause {
  const about = {
    stops: true,
    ref: refOf('CompositeBackend', parseKey(composite)),
  };
  if (isWithheld(reader, facts, portKey)) {
    return {
      ...about,
      reason: 'NotSynced',
      field: 'spec.import',
      message: `no relay has told yet what other clusters offer, and unknown is not empty: what nodes hold stays`,
      next: 'see whether a relay runs and is reached: causeway get clusters',
    };
  }
  const own = reader.config.cluster;
  return {
    ...about,
    reason: 'NotOffered',
    field: 'spec.import',
    message: `expected a cluster that offers ${portKey.replace(/^.*\//, '')} of ${composite} to ${own}, found none`,
    next: `in the cluster that has the endpoints, with this port: ${exportStep(wantedOf(facts, composite, ''), own)}`,
  };
}

const healthy = ({ health }: Endpoint) => health === 'Healthy';
const hasReady = ({ groups }: Backend) => groups.some(({ endpoints }) => endpoints.some(healthy));

/** A cluster's part of what takes traffic: its share, and its endpoints. */
function partOf(made: Backend, cluster: string) {
  const groups = servingGroups(made.groups).filter(({ priority }) => priority === 0);
  const weightOf = (of: readonly Group[]) => of.reduce((sum, { weight }) => sum + weight, 0);
  const all = weightOf(groups);
  const listed = made.groups.filter((group) => group.cluster === cluster).flatMap((g) => g.endpoints);
  const used = hasReady(made) ? listed.filter(healthy) : listed;
  return {
    ready: listed.filter(healthy).length,
    share: all === 0 ? 0 : weightOf(groups.filter((group) => group.cluster === cluster)) / all,
    endpoints: used.map(placeOf),
  };
}

function placeOf({ addresses: [first = ''], port }: Endpoint): string {
  return first.includes(':') ? `[${first}]:${port}` : `${first}:${port}`;
}
