import type { Metrics } from '../../runtime/metrics.ts';

export const nftMetrics = (metrics: Metrics) => ({
  commands: metrics.counter({ name: 'nft_commands_total', help: 'commands committed to nftables' }),
  failures: metrics.counter({ name: 'nft_failures_total', help: 'transactions that nftables refused' }),
  driftRepaired: metrics.counter({
    name: 'drift_repaired_total',
    help: 'differences between the kernel and what was programmed, repaired',
  }),
  seconds: metrics.histogram({
    name: 'sync_seconds',
    help: 'time to bring the table to a new state',
    buckets: [0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  }),
  vips: metrics.gauge({ name: 'vip_ports', help: 'VIP ports in the table' }),
  refused: metrics.gauge({ name: 'refused', help: 'front ends and back ends not wholly programmed' }),
});
