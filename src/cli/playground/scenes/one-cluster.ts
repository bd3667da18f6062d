import type { Scene } from './scene.ts';

const web = { host: 'web.shop.gw.cluster.local', port: 80, protocol: 'TCP' } as const;

export const oneCluster: Scene = {
  letter: 'a',
  name: 'one name in one cluster',
  subject: 'web.shop.gw.cluster.local:80 → :8080 in east',
  async run(stage) {
    const { east } = stage.world;
    const shares = { 'east/web-0': 1, 'east/web-1': 1 };
    await stage.expectProgrammed(east, 'web');
    await stage.settle(east, web, shares);
    const result = await stage.measure(east, web, 400);
    stage.expectShares('both pods answer, half of the connections each', result, shares);
  },
};
