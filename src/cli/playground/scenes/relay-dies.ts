import type { Scene } from './scene.ts';
import { store, storeShares } from './store-pods.ts';

/** Longer than it takes to call a silent cluster Stale: nothing must follow from that. */
const withoutRelayMs = 8_000;

export const relayDies: Scene = {
  letter: 'g',
  name: 'the relay dies',
  subject: 'store.shop.gw.cluster.local:80 while clusters cannot talk',
  async run(stage) {
    const { east, west, supervisor } = stage.world;
    const shares = storeShares(stage.world);
    const stateIn = (viewer: typeof east, cluster: string) => stage.compositeState(viewer, 'store', cluster);
    await stage.settle(east, store, shares);
    await stage.expectSoon('east sees west Synced', () => stateIn(east, 'west') === 'Synced');
    const traffic = stage.background(east, store, 'throughout');
    await supervisor.kill('relay', 'SIGKILL');
    stage.record.notes.push('the relay is killed');
    await Promise.all([
      stage.expectSoon('east sees west Stale', () => stateIn(east, 'west') === 'Stale'),
      stage.expectSoon('west sees east Stale', () => stateIn(west, 'east') === 'Stale'),
    ]);
    await stage.pass(withoutRelayMs, 'traffic flows without the relay');
    const without = await stage.measure(east, store, 600, 'no relay');
    stage.expectShares('without the relay both clusters answer as before', without, shares);

    await supervisor.restart('relay');
    stage.record.notes.push('the relay is back');
    await stage.expectSoon('east sees west Synced', () => stateIn(east, 'west') === 'Synced');
    stage.expectNoFailure(await traffic.stop(), 'nothing failed from the kill to the return');
    const after = await stage.measure(east, store, 400, 'relay back');
    stage.expectShares('with the relay back both clusters answer as before', after, shares);
  },
};
