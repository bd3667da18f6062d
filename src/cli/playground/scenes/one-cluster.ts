import type { Scene } from './scene.ts';

const web = { host: 'web.shop.gw.cluster.local', port: 80, protocol: 'TCP' } as const;

export const oneCluster: Scene = {
  letter: 'a',
  name: 'one name in one cluster',
  subject: 'web.shop.gw.cluster.local:80 → pods of east, port 8080',
  async run(stage) {
    const shares = { 'east/web-0': 1, 'east/web-1': 1 };
    await stage.settle(stage.world.east, web, shares);
    const result = await stage.measure(stage.world.east, web, 400);
    stage.expectNoFailure(result);
    stage.expectShares('both pods answer, half of the connections each', result, shares);
  },
};
