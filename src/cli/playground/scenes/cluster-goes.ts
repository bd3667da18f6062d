import type { Scene } from './scene.ts';
import { store, storeShares } from './store-pods.ts';

export const clusterGoes: Scene = {
  letter: 'h',
  name: 'a cluster goes and comes back',
  subject: 'store.shop.gw.cluster.local:80 while west loses its pods',
  async run(stage) {
    const { east, west } = stage.world;
    await stage.settle(east, store, storeShares(stage.world));
    const traffic = stage.background(east, store, 'throughout');
    const going = stage.world.workloads('west').filter((pod) => pod.name !== 'client');
    const pods = going.flatMap((pod) => west.pods.get(`${pod.namespace}/${pod.name}`) ?? []);
    await stage.takeAway(traffic, pods);
    stage.record.notes.push(`all ${pods.length} pods of west are gone`);
    const without = await stage.measure(east, store, 400, 'west gone');
    stage.expectShares('without west, east answers everything', without, storeShares(stage.world));

    await Promise.all(going.map((pod) => west.addPod(pod)));
    stage.record.notes.push('the pods of west are back');
    await stage.settle(east, store, storeShares(stage.world));
    stage.expectNoFailure(await traffic.stop(), 'nothing failed while west went and came back');
    const after = await stage.measure(east, store, 400, 'west back');
    stage.expectShares('both clusters answer again', after, storeShares(stage.world));
  },
};
