import { byCluster, percentages } from '../proportions.ts';
import type { Scene } from './scene.ts';
import { store, storeShares } from './store-pods.ts';

export const twoClusters: Scene = {
  letter: 'b',
  name: 'one name, two clusters',
  subject: 'store.shop.gw.cluster.local:80 → pods of east and west, port 8080',
  async run(stage) {
    const { east, west } = stage.world;
    const shares = storeShares(stage.world);
    await Promise.all([stage.settle(east, store, shares), stage.settle(west, store, shares)]);
    const results = await Promise.all([stage.measure(east, store, 600), stage.measure(west, store, 600)]);
    for (const [i, result] of results.entries()) {
      const from = `from ${i === 0 ? 'east' : 'west'}`;
      stage.expectNoFailure(result, `${from}: nothing fails`);
      const percent = percentages(byCluster(result.answers));
      const text = `${percent.east ?? 0} % east, ${percent.west ?? 0} % west: as many endpoints there, as much traffic`;
      stage.expectShares(`${from}: ${text}`, result, shares);
    }
  },
};
