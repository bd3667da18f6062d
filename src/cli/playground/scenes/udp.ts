import type { Scene } from './scene.ts';

const clock = { host: 'clock.shop.gw.cluster.local', port: 123, protocol: 'UDP' } as const;

export const udp: Scene = {
  letter: 'e',
  name: 'UDP',
  subject: 'clock.shop.gw.cluster.local:123 → :8123 in east and west',
  async run(stage) {
    const shares = { 'east/clock-0': 1, 'west/clock-0': 1 };
    await stage.settle(stage.world.east, clock, shares);
    const result = await stage.measure(stage.world.east, clock, 400);
    stage.expectShares('both clusters answer, half of the datagrams each', result, shares);
  },
};
