import type { Scene } from './scene.ts';
import { store, storeShares } from './store-pods.ts';

export const podsComeAndGo: Scene = {
  letter: 'f',
  name: 'pods come and go',
  subject: 'store.shop.gw.cluster.local:80 under steady traffic',
  async run(stage) {
    const { east, west } = stage.world;
    await stage.settle(east, store, storeShares(stage.world));
    const traffic = stage.background(east, store, 'throughout');
    for (const [cluster, node] of [
      [east, 'e2'],
      [west, 'w1'],
    ] as const) {
      const pod = await cluster.addPod({
        namespace: 'shop',
        name: 'store-9',
        node,
        labels: { app: 'store' },
      });
      await stage.expectAnswers(traffic, pod);
      await stage.pass(1_500, `${pod.answer} takes its share`);
      await stage.takeAway(traffic, [pod]);
    }
    stage.expectNoFailure(await traffic.stop(), 'nothing failed while pods came and went');
    const shares = storeShares(stage.world);
    await stage.settle(east, store, shares);
    const after = await stage.measure(east, store, 400, 'afterwards');
    stage.expectShares('afterwards the five that stayed share everything', after, shares);
  },
};
