import type { Scene } from './scene.ts';
import { store, storeShares } from './store-pods.ts';

export const relayDies: Scene = {
  letter: 'g',
  name: 'the relay dies',
  subject: 'store.shop.gw.cluster.local:80 with no way for the clusters to talk to each other',
  async run(stage) {
    const { east, west, supervisor } = stage.world;
    const shares = storeShares(stage.world);
    await stage.settle(east, store, shares);
    await stage.expectSoon(
      'east sees west Synced',
      () => stage.compositeState(east, 'store', 'west') === 'Synced',
    );
    const traffic = stage.background(east, store);
    await supervisor.kill('relay', 'SIGKILL');
    stage.record.notes.push('the relay is killed');
    await Promise.all([
      stage.expectSoon('east sees west Stale', () => stage.compositeState(east, 'store', 'west') === 'Stale'),
      stage.expectSoon('west sees east Stale', () => stage.compositeState(west, 'store', 'east') === 'Stale'),
    ]);
    const without = await stage.measure(east, store, 600);
    stage.expectNoFailure(without, 'without the relay nothing fails');
    stage.expectShares('without the relay both clusters answer as before', without, shares);

    await supervisor.restart('relay');
    stage.record.notes.push('the relay is back');
    await stage.expectSoon(
      'east sees west Synced',
      () => stage.compositeState(east, 'store', 'west') === 'Synced',
    );
    stage.expectNoFailure(await traffic.stop(), 'nothing failed from the kill to the return');
    const after = await stage.measure(east, store, 400);
    stage.expectNoFailure(after);
    stage.expectShares('with the relay back both clusters answer as before', after, shares);
  },
};
