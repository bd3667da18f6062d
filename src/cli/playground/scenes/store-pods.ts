import type { World } from '../world.ts';

export const store = { host: 'store.shop.gw.cluster.local', port: 80, protocol: 'TCP' } as const;

/** Every pod behind the store's name that should get traffic now, with an equal share each. */
export function storeShares(world: World): Record<string, number> {
  const clusters = [...world.network.clusters.values()];
  const pods = clusters
    .flatMap((cluster) => [...cluster.pods.values()])
    .filter((p) => p.name.startsWith('store-'));
  return Object.fromEntries(pods.map((pod) => [pod.answer, 1]));
}
