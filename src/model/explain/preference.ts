import type { Distribution } from '../units/distribution.ts';
import type { ClusterExplanation } from './explanation.ts';

/** What decides about a cluster beside its own endpoints. */
export interface Candidate
  extends Pick<ClusterExplanation, 'cluster' | 'path' | 'ready' | 'selected' | 'share'> {
  /** Those that can take traffic. */
  readonly endpoints: number;
  /** As `tierOf` says. */
  readonly tier: number;
}

/** Why a cluster with ready endpoints takes its share of a back end, or takes nothing; for people. */
export function whyPreferred(
  candidate: Candidate,
  all: readonly Candidate[],
  { policy, localThresholdPercent: threshold, order }: Distribution,
): string {
  const takes = candidate.share > 0;
  const taking = all.filter(({ share }) => share > 0);
  const names = (of: readonly Candidate[]): string => of.map(({ cluster }) => cluster).join(', ');
  if (policy === 'Even')
    return `${candidate.endpoints} of ${all.reduce((sum, c) => sum + c.endpoints, 0)} ready endpoints`;
  if (policy === 'Ordered') {
    const place = ({ tier }: Candidate): string =>
      tier < order.length ? `spec.distribution.order[${tier}]` : 'no entry of spec.distribution.order';
    if (takes) return `${place(candidate)}, the first that has endpoints`;
    return `${place(candidate)}, after ${names(taking)}`;
  }
  const own = all.find(({ path }) => path === 'own');
  const here = own ? `${own.ready} of ${own.selected} ready here` : 'nothing here';
  const stays = own !== undefined && own.share === 1;
  const enough = threshold === 0 ? 'one is enough' : `${threshold} % are enough`;
  if (candidate.path === 'own') {
    if (taking.length === 1)
      return stays && own.ready * 100 >= threshold * own.selected
        ? `${here}, ${enough}`
        : `${here}, and nobody else has any`;
    return `${here}, fewer than ${threshold} %: this part stays`;
  }
  const distance = candidate.tier === 1 ? 'same region' : 'another region';
  if (takes) return `${distance}: it takes what is not ready here (${here})`;
  if (stays) return `not needed: ${here}, ${enough}`;
  return `${distance}: ${names(taking.filter(({ path }) => path !== 'own'))} is nearer`;
}
