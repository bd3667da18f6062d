import type { ClusterSelector } from '../../api/composite-backend.ts';
import { type ClusterFacts, selectsCluster } from '../cluster-selection.ts';
import type { RemoteEndpoint } from '../inputs.ts';
import type { Group } from '../ir.ts';
import { networkOf } from '../network.ts';
import { byText } from '../sorted-map.ts';
import { distinctEndpoints, readyCount } from './local-endpoints.ts';

/** What one cluster gives to a back end. */
export interface Share extends ClusterFacts {
  readonly own: boolean;
  readonly selected: number;
  /** Each address and port once. */
  readonly endpoints: readonly RemoteEndpoint[];
}

export interface Distribution {
  readonly policy: 'Even' | 'PreferLocal' | 'Ordered';
  readonly order: readonly ClusterSelector[];
  readonly localThresholdPercent: number;
}

export const evenly: Distribution = { policy: 'Even', order: [], localThresholdPercent: 0 };

interface ZoneShare {
  readonly share: Share;
  readonly zone: string;
  readonly endpoints: readonly RemoteEndpoint[];
  readonly ready: number;
}

/**
 * Groups with priority and weight, sorted by cluster and zone. Weights are counts of ready endpoints; where none
 * is ready anywhere, of draining ones. An address and port that two clusters claim is ours, or else the first
 * cluster's by name.
 */
export function distribute(
  shares: readonly Share[],
  distribution: Distribution,
  region: string,
): readonly Group[] {
  const zones = zonesOf(shares);
  const anyReady = zones.some(({ ready }) => ready > 0);
  const count = ({ ready, endpoints }: ZoneShare) => (anyReady ? ready : endpoints.length);
  const tier = (share: Share) => tierOf(share, distribution, region);
  const own = shares.find((share) => share.own);
  const spill = distribution.policy === 'PreferLocal' ? spillOf(zones, own, distribution, tier) : undefined;
  const rank = (zone: ZoneShare) => {
    const wanted = tier(zone.share);
    return spill && wanted <= spill.tier ? 0 : wanted;
  };
  const ranks = [...new Set(zones.map(rank))].sort((a, b) => a - b);
  const weights = scaleDown(
    zones.map((zone) => {
      if (!spill || rank(zone) > 0) return count(zone);
      if (zone.share.own) return zone.ready * spill.remoteReady;
      return tier(zone.share) === spill.tier ? zone.ready * spill.missing : 0;
    }),
    zones.map((zone) => (spill && rank(zone) === 0 ? 0 : 1)),
  );
  return zones.map((zone, i) => ({
    cluster: zone.share.cluster,
    network: networkOf(zone.share.network),
    region: zone.share.region,
    zone: zone.zone,
    priority: ranks.indexOf(rank(zone)),
    weight: weights[i] ?? 0,
    endpoints: zone.endpoints.map(({ addresses, port, health }) => ({ addresses, port, health, weight: 1 })),
  }));
}

function zonesOf(shares: readonly Share[]): readonly ZoneShare[] {
  const inOrder = [...shares].sort((a, b) => Number(b.own) - Number(a.own) || byText(a.cluster, b.cluster));
  const claimed = new Set<string>();
  // Within a share everything is there once.
  const alone = shares.filter(({ endpoints }) => endpoints.length > 0).length < 2;
  const zones = inOrder.flatMap((share): readonly ZoneShare[] => {
    const endpoints = alone ? share.endpoints : distinctEndpoints(share.endpoints, claimed);
    const byZone = Map.groupBy(endpoints, ({ zone }) => zone);
    return [...byZone].map(([zone, inZone]) => ({
      share,
      zone,
      endpoints: inZone,
      ready: readyCount(inZone),
    }));
  });
  return zones.sort((a, b) => byText(a.share.cluster, b.share.cluster) || byText(a.zone, b.zone));
}

/** Lower is tried first. Under PreferLocal 0 is the own cluster, 1 its `region`, 2 another one or none that is known. */
export function tierOf(
  share: ClusterFacts & Pick<Share, 'own'>,
  { policy, order }: Distribution,
  region: string,
): number {
  if (policy === 'Even') return 0;
  if (policy === 'PreferLocal') return share.own ? 0 : region !== '' && share.region === region ? 1 : 2;
  const entry = order.findIndex((selector) => selectsCluster(selector, share));
  return entry < 0 ? order.length : entry;
}

interface Spill {
  /** The nearest tier of other clusters with a ready endpoint. */
  readonly tier: number;
  readonly remoteReady: number;
  /** Selected here and not ready. */
  readonly missing: number;
}

/**
 * PreferLocal with fewer than the threshold ready here: the own cluster keeps r = ready ÷ selected, the nearest
 * tier takes 1 − r. Undefined: everything stays here, or goes by priority. Weights are r and 1 − r times
 * (selected × remote ready), so that they are whole.
 */
function spillOf(
  zones: readonly ZoneShare[],
  own: Share | undefined,
  { localThresholdPercent }: Distribution,
  tierOf: (share: Share) => number,
): Spill | undefined {
  const ready = zones.reduce((sum, zone) => sum + (zone.share.own ? zone.ready : 0), 0);
  const selected = own?.selected ?? 0;
  if (selected === 0 || ready * 100 >= localThresholdPercent * selected) return undefined;
  const remote = zones.filter((zone) => !zone.share.own && zone.ready > 0);
  if (remote.length === 0) return undefined;
  const nearest = Math.min(...remote.map((zone) => tierOf(zone.share)));
  const remoteReady = remote
    .filter((zone) => tierOf(zone.share) === nearest)
    .reduce((sum, zone) => sum + zone.ready, 0);
  return { tier: nearest, remoteReady, missing: selected - ready };
}

const maxWeight = 1_000_000;

/** Divides the weights of group 0 by what they have in common, and bounds them; the others stay. */
function scaleDown(weights: readonly number[], groups: readonly number[]): readonly number[] {
  const products = weights.filter((weight, i) => groups[i] === 0 && weight > 0);
  if (products.length === 0) return weights;
  const divisor = products.reduce(greatestCommonDivisor);
  const largest = Math.max(...products) / divisor;
  const factor = largest > maxWeight ? maxWeight / largest : 1;
  return weights.map((weight, i) =>
    groups[i] === 0 && weight > 0 ? Math.max(1, Math.round((weight / divisor) * factor)) : weight,
  );
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
