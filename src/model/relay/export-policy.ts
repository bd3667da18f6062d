import { type ClusterFacts, type ClusterMatch, selectsCluster } from '../cluster-selection.ts';
import type { LabelSelector } from '../label-selector.ts';
import { type Peer, speaksFor } from './authority.ts';

/**
 * Who may have a resource: entries of `CompositeBackend.spec.export.to` that lead to the namespace and name of the
 * resource. Absent: any cluster.
 */
export interface ExportTarget {
  readonly clusters?: ClusterMatch;
}

/** Every cluster of the set. */
export const everyCluster: readonly ExportTarget[] = [{}];

/** What a cluster offers to composites of a namespace. */
export interface Offer {
  readonly cluster: string;
  readonly namespace: string;
  readonly to: readonly ExportTarget[];
}

/** Its `to` is told from others by `policy`; one object for all resources that are offered alike. */
export interface SharedOffer extends Offer {
  /** `to` as JSON. */
  readonly policy: string;
}

type Consumer = ClusterFacts & Pick<Peer, 'namespaces'>;

/**
 * `consumer` may take what `cluster` offers to composites of `namespace`: some entry names it, and its certificate
 * speaks for that namespace. Nobody gets its own back.
 */
export function isOfferedTo(consumer: Consumer, offer: Offer): boolean {
  if (consumer.cluster === offer.cluster || !speaksFor(consumer, offer.namespace)) return false;
  return offer.to.some(({ clusters = {} }) => selectsCluster(clusters, consumer));
}

/**
 * As `isOfferedTo`, of a cluster of which only the name is known yet: its labels may be any.
 */
export function mayBeOfferedTo(consumer: Pick<Consumer, 'cluster' | 'namespaces'>, offer: Offer): boolean {
  if (consumer.cluster === offer.cluster || !speaksFor(consumer, offer.namespace)) return false;
  return offer.to.some(({ clusters }) => clusters?.names?.includes(consumer.cluster) ?? true);
}

const maxTargets = 16;

/**
 * What a peer sent as export policy; undefined when it is not one. An entry with a field that is not known leads to
 * nobody, since it may be one that narrows; so does one that says a namespace or name of its own: where it leads is
 * not this resource.
 */
export function parseExportPolicy(value: unknown): readonly ExportTarget[] | undefined {
  if (!Array.isArray(value) || value.length > maxTargets) return undefined;
  const targets: ExportTarget[] = [];
  for (const entry of value as unknown[]) {
    if (!isRecord(entry)) return undefined;
    const { clusters, namespace, name, ...unknown } = entry;
    if (!isTextOrAbsent(namespace) || !isTextOrAbsent(name)) return undefined;
    const match = clusters === undefined ? undefined : parseMatch(clusters);
    if (clusters !== undefined && !match) return undefined;
    const leadsElsewhere = namespace !== undefined || name !== undefined || !isEmpty(unknown);
    if (!leadsElsewhere && match !== 'unknown') targets.push(match ? { clusters: match } : {});
  }
  return targets;
}

function parseMatch(value: unknown): ClusterMatch | 'unknown' | undefined {
  if (!isRecord(value)) return undefined;
  const { names, matchLabels, matchExpressions, ...others } = value;
  let isKnown = isEmpty(others);
  if (names !== undefined && !isTexts(names)) return undefined;
  if (matchLabels !== undefined && !(isRecord(matchLabels) && isTexts(Object.values(matchLabels))))
    return undefined;
  const expressions: NonNullable<LabelSelector['matchExpressions']>[number][] = [];
  if (matchExpressions !== undefined) {
    if (!Array.isArray(matchExpressions)) return undefined;
    for (const e of matchExpressions as unknown[]) {
      if (!isRecord(e)) return undefined;
      const { key, operator, values, ...unknown } = e;
      if (typeof key !== 'string' || typeof operator !== 'string') return undefined;
      if (values !== undefined && !isTexts(values)) return undefined;
      isKnown &&= isEmpty(unknown);
      expressions.push({ key, operator, ...(values === undefined ? {} : { values }) });
    }
  }
  if (!isKnown) return 'unknown';
  return {
    ...(names === undefined ? {} : { names }),
    ...(matchLabels === undefined ? {} : { matchLabels: matchLabels as Record<string, string> }),
    ...(expressions.length === 0 ? {} : { matchExpressions: expressions }),
  };
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isEmpty = (fields: object): boolean => Object.keys(fields).length === 0;
const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((v) => typeof v === 'string');
const isTextOrAbsent = (value: unknown): value is string | undefined =>
  value === undefined || typeof value === 'string';
