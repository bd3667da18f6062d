import type { Scene } from './scene.ts';

const checkout = { host: 'checkout.shop.gw.cluster.local', port: 80, protocol: 'TCP' } as const;
const example = 'canary/checkout.yaml';
const shares = (v1: number, v2: number) => ({ 'east/checkout-v1-0': v1, 'east/checkout-v2-0': v2 });

export const canary: Scene = {
  letter: 'c',
  name: 'canary, changed live',
  subject: 'checkout.shop.gw.cluster.local:80 → version 1 and 2',
  async run(stage) {
    const { east } = stage.world;
    await stage.settle(east, checkout, shares(90, 10));
    const first = await stage.measure(east, checkout, 1_000, '90 to 10');
    stage.expectShares('90 to 10', first, shares(90, 10));

    const during = stage.background(east, checkout, 'throughout');
    for (const [v1, v2] of [
      [50, 50],
      [0, 100],
    ] as const) {
      stage.world.changeExample(east, example, [
        ['weight: 90', `weight: ${v1}`],
        ['weight: 10\n', `weight: ${v2}\n`],
      ]);
      await stage.settle(east, checkout, shares(v1, v2));
      const result = await stage.measure(east, checkout, 600, `${v1} to ${v2}`);
      stage.expectShares(`${v1} to ${v2}`, result, shares(v1, v2));
    }
    stage.expectNoFailure(await during.stop(), 'nothing failed while the weights changed');
    stage.world.changeExample(east, example, []);
  },
};
