import { ChannelCredentials } from '@grpc/grpc-js';
import { startAgent } from '../../src/roles/agent.ts';
import { startAdmin } from '../../src/runtime/admin.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { createLog } from '../../src/runtime/log.ts';
import { Metrics } from '../../src/runtime/metrics.ts';

/** `agent-process.ts CONTROLLER-PORT ENTER…`: an agent without TLS, for tests that kill it. Prints its admin port. */
const [controller = '', ...enter] = process.argv.slice(2);
const metrics = new Metrics();
const agent = await startAgent({
  node: 'e1',
  cluster: 'east',
  controllers: [`127.0.0.1:${controller}`],
  auditIntervalMs: 500,
  credentials: ChannelCredentials.createInsecure(),
  log: createLog({ role: 'agent' }),
  metrics,
  clock: systemClock,
  random: Math.random,
  enter,
});
const admin = await startAdmin({
  listen: '127.0.0.1:0',
  metrics,
  ready: () => agent.waitingFor,
  debug: () => agent.debug,
});
console.log(`admin ${admin.port}`);
