import type { Scene } from './scene.ts';

const ledger = { host: 'ledger.shop.gw.cluster.local', port: 80, protocol: 'TCP' } as const;

export const remoteOnly: Scene = {
  letter: 'd',
  name: 'a name here, pods only there',
  subject: 'ledger.shop.gw.cluster.local:80 in east → :9090 in west',
  async run(stage) {
    const shares = { 'west/ledger-0': 1, 'west/ledger-1': 1 };
    await stage.settle(stage.world.east, ledger, shares);
    const result = await stage.measure(stage.world.east, ledger, 400);
    stage.expectShares('both pods of west answer, half of the connections each', result, shares);
  },
};
