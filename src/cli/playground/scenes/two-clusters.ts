import { byCluster, percentages } from '../proportions.ts';
import type { Scene } from './scene.ts';
import { store, storeShares } from './store-pods.ts';

export const twoClusters: Scene = {
  letter: 'b',
  name: 'one name, two clusters',
  subject: 'store.shop.gw.cluster.local:80 → :8080 in east and west',
  async run(stage) {
    const clusters = [stage.world.east, stage.world.west];
    const shares = storeShares(stage.world);
    for (const cluster of clusters) await stage.expectProgrammed(cluster, 'store');
    await Promise.all(clusters.map((cluster) => stage.settle(cluster, store, shares)));
    const results = await Promise.all(clusters.map((cluster) => stage.measure(cluster, store, 600)));
    for (const [i, result] of results.entries()) {
      const percent = percentages(byCluster(result.answers));
      const text = `${percent.east ?? 0} % east, ${percent.west ?? 0} % west: as many endpoints there, as much traffic`;
      stage.expectShares(`from ${clusters[i]?.name}: ${text}`, result, shares);
    }
  },
};
