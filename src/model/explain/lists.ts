import type { Compiled, Status } from '../compiled.ts';
import type { Condition } from '../conditions.ts';
import type { Backend } from '../ir.ts';
import { backendKey, parseBackendKey } from '../keys.ts';
import type { Model } from '../model.ts';
import type { Unit } from '../reader.ts';
import { byText } from '../sorted-map.ts';
import type { ClusterStatus } from '../units/composite-clusters.ts';
import { countNodes, hasItsPart } from '../zone-preference.ts';
import { type BackendClusters, explainBackend } from './cluster-explanation.ts';
import type { ClusterExplanation, OfferExplanation, OfferedPort } from './explanation.ts';
import { offerExplanation } from './offer-explanation.ts';

/** What `causeway get` lists. Field names are a promise to scripts (docs/seeing-why.md). */

export interface FrontendLine {
  readonly namespace: string;
  readonly name: string;
  readonly dnsName: string;
  readonly addresses: readonly string[];
  /** As `80/TCP`. */
  readonly ports: readonly string[];
  /** Back ends behind any port, each once. */
  readonly backends: number;
  readonly programmed: boolean;
  /** Reason of the first condition that is not as it should be, or `Programmed`. */
  readonly state: string;
  readonly message: string;
}

/** Every Gateway of a class of ours, with or without an address. Sorted by namespace and name. */
export function listFrontends({ compiled }: Model): readonly FrontendLine[] {
  return statusesOf(compiled, 'Gateway').map(({ ref, status }): FrontendLine => {
    const { conditions } = status as { readonly conditions: readonly Condition[] };
    const frontend = compiled.frontends.get(`gateway/${ref.namespace}/${ref.name}`);
    const programmed = conditions.find(({ type }) => type === 'Programmed');
    const isWrong = ({ type, status: s, reason }: Condition): boolean =>
      // Without an address there is no name; why there is none is what Programmed says.
      s !== 'True' && type !== 'Programmed' && reason !== 'NoAddress';
    const wrong = conditions.find(isWrong) ?? programmed;
    const targets = (frontend?.ports ?? []).flatMap((port) => port.targets.flatMap((t) => t.backend ?? []));
    return {
      namespace: ref.namespace,
      name: ref.name,
      dnsName: frontend?.names[0] ?? '',
      addresses: frontend?.vips ?? [],
      ports: (frontend?.ports ?? []).map(({ port, protocol }) => `${port}/${protocol}`),
      backends: new Set(targets).size,
      programmed: programmed?.status === 'True',
      state: wrong?.reason ?? '',
      message: wrong?.status === 'True' ? '' : (wrong?.message ?? ''),
    };
  });
}

const statusesOf = ({ statuses }: Compiled, kind: string): readonly Status[] =>
  [...statuses.values()].filter(({ ref }) => ref.kind === kind);

const kindNames = {
  composite: 'CompositeBackend',
  selector: 'XEndpointSelector',
  service: 'Service',
  xbackend: 'XBackend',
} as const;

export interface BackendLine {
  readonly namespace: string;
  readonly name: string;
  readonly kind: string;
  /** As `80/TCP`. */
  readonly port: string;
  /** Clusters with endpoints here, and all that should have some. */
  readonly clustersUsed: number;
  readonly clusters: number;
  /** Those that take traffic, and those that are ready. */
  readonly endpoints: number;
  readonly ready: number;
  readonly policy: string;
  /** `Synced`, `NoEndpoints`, or the reason of the first cluster that is not well, with its name. */
  readonly state: string;
  /** Every cluster that could stand behind it. Sorted by name. */
  readonly candidates: readonly CandidateLine[];
}

interface CandidateLine
  extends Pick<
    ClusterExplanation,
    'cluster' | 'path' | 'state' | 'reason' | 'ready' | 'selected' | 'share' | 'why' | 'endpoints'
  > {
  readonly region: string;
  /** It takes a share. */
  readonly preferred: boolean;
  /** Zones whose nodes use only their own of its endpoints. */
  readonly ownZones: readonly string[];
}

/** Every port of a back end that a front end refers to, by key; then those that this cluster only contributes. */
export const listBackends = (model: Model): readonly BackendLine[] => [
  ...listReferred(model),
  ...listContributed(model),
];

function listContributed(model: Model): readonly BackendLine[] {
  const { backends } = model.compiled;
  const keys = [...model.all('CompositeBackend')].map(({ metadata: m }) => `${m.namespace}/${m.name}`);
  return keys.sort(byText).flatMap((key) => {
    const offer = model.ask(offerExplanation, key);
    if (!offer) return [];
    return offer.ports
      .filter(({ protocol, port }) => !backends.has(backendKey('composite', key, protocol, port)))
      .map((port) => contributedLine(model, offer, port));
  });
}

function contributedLine(
  model: Model,
  { namespace, name, causes }: OfferExplanation,
  { protocol, port, offered, to, own }: OfferedPort,
): BackendLine {
  const stop = [...causes, ...own.causes].find(({ stops }) => stops);
  const here = `${own.why}; no route here refers to it`;
  const why = offered ? `${here}; offered to ${to.join(', ')}` : `${here}; offered to nobody`;
  return {
    namespace,
    name,
    kind: kindNames.composite,
    port: `${port}/${protocol}`,
    clustersUsed: own.endpoints.length > 0 ? 1 : 0,
    clusters: 1,
    endpoints: own.endpoints.length,
    ready: own.ready,
    policy: '',
    state: stop?.reason ?? own.reason,
    candidates: [candidateLine({ ...own, share: 0, why }, model.config.region, [])],
  };
}

function listReferred(model: Model): readonly BackendLine[] {
  const { compiled } = model;
  return [...compiled.backends.values()].flatMap((backend) => {
    const parsed = parseBackendKey(backend.key);
    if (!parsed) return [];
    const slash = parsed.object.indexOf('/');
    const members = clusterStatuses(compiled, parsed.object);
    const isComposite = parsed.kind === 'composite';
    const used = new Set(backend.groups.flatMap((g) => (g.endpoints.length > 0 ? [g.cluster] : [])));
    const all = backend.groups.flatMap(({ endpoints }) => endpoints);
    const ready = all.filter(({ health }) => health === 'Healthy').length;
    return [
      {
        namespace: parsed.object.slice(0, slash),
        name: parsed.object.slice(slash + 1),
        kind: kindNames[parsed.kind],
        port: `${parsed.port}/${parsed.protocol}`,
        clustersUsed: used.size,
        clusters: isComposite ? members.filter(({ state }) => state !== 'Refused').length : 1,
        endpoints: ready > 0 ? ready : all.length,
        ready,
        policy: backend.policy,
        state: stateOf(backend, isComposite ? members : []),
        candidates: candidatesOf(model, backend),
      },
    ];
  });
}

const backendClusters: Unit<BackendClusters> = { name: 'backendClusters', compute: explainBackend };

function candidatesOf(model: Model, backend: Backend): readonly CandidateLine[] {
  const { config } = model;
  const regions = new Map([...model.all('Origin')].map(({ cluster, region }) => [cluster, region]));
  return model.ask(backendClusters, backend.key).clusters.map((c): CandidateLine => {
    const own = c.path === 'own';
    const region = own ? config.region : (regions.get(c.cluster) ?? '');
    return candidateLine(c, region, own && c.share > 0 ? ownZonesOf(model, backend) : []);
  });
}

function candidateLine(
  { cluster, path, state, reason, ready, selected, share, why, endpoints }: ClusterExplanation,
  region: string,
  ownZones: readonly string[],
): CandidateLine {
  return {
    cluster,
    region,
    path,
    state,
    reason,
    ready,
    selected,
    share,
    preferred: share > 0,
    why,
    ownZones,
    endpoints,
  };
}

function ownZonesOf({ config, compiled }: Model, { policy, groups }: Backend): readonly string[] {
  if (policy !== 'PreferLocal') return [];
  const count = (zone?: string): number =>
    groups
      .filter((group) => group.cluster === config.cluster && (zone === undefined || group.zone === zone))
      .flatMap(({ endpoints }) => endpoints)
      .filter(({ health }) => health === 'Healthy').length;
  const zones = new Set([...compiled.nodes.values()].map(({ zone }) => zone).filter((zone) => zone !== ''));
  const all = count();
  const keepsItsOwn = (zone: string): boolean =>
    hasItsPart({ inZone: count(zone), all }, countNodes(compiled.nodes.values(), zone));
  return [...zones].filter(keepsItsOwn).sort(byText);
}

function clusterStatuses({ statuses }: Compiled, composite: string): readonly ClusterStatus[] {
  const { clusters = [] } = (statuses.get(`CompositeBackend/${composite}`)?.status ?? {}) as {
    readonly clusters?: readonly ClusterStatus[];
  };
  return clusters;
}

function stateOf({ groups, withheld }: Backend, members: readonly ClusterStatus[]): string {
  if (withheld) return 'NotSynced';
  const unwell = members.find(({ state, reason }) => state !== 'Refused' && reason !== 'Synced');
  if (unwell) return `${unwell.name} ${unwell.reason}`;
  return groups.some(({ endpoints }) => endpoints.length > 0) ? 'Synced' : 'NoEndpoints';
}

export interface ClusterLine {
  readonly cluster: string;
  readonly own: boolean;
  readonly network: string;
  readonly region: string;
  /** `own`, `direct` (its network is ours), `none` (no way there). */
  readonly path: 'own' | 'direct' | 'none';
  readonly state: string;
  /** RFC 3339; only while Stale. */
  readonly staleSince?: string;
  /** How many ports of composites it offers to this cluster, or this cluster to others. */
  readonly offers: number;
}

/** This cluster, then the others that are known, by name. */
export function listClusters(model: Model): readonly ClusterLine[] {
  const { config, compiled } = model;
  const offers = new Map<string, number>();
  for (const { cluster } of model.all('Contribution')) offers.set(cluster, (offers.get(cluster) ?? 0) + 1);
  const others = [...model.all('Origin')].map(
    ({ cluster, network, region, state, staleSince }): ClusterLine => ({
      cluster,
      own: false,
      network,
      region,
      path: network === config.network ? 'direct' : 'none',
      state,
      ...(state === 'Stale' ? { staleSince: new Date(staleSince).toISOString() } : {}),
      offers: offers.get(cluster) ?? 0,
    }),
  );
  const own: ClusterLine = {
    cluster: config.cluster,
    own: true,
    network: config.network,
    region: config.region,
    path: 'own',
    state: 'Synced',
    offers: compiled.exports.size,
  };
  return [own, ...others.sort((a, b) => byText(a.cluster, b.cluster))];
}
