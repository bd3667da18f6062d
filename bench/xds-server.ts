import { createInterface } from 'node:readline';
import { ServerCredentials } from '@grpc/grpc-js';
import type { Backend } from '../src/model/ir.ts';
import { backend, endpoint, ir } from '../src/outputs/nft/sample-ir.ts';
import { AckTracker } from '../src/outputs/xds/acks.ts';
import { ResourceLog } from '../src/outputs/xds/resource-log.ts';
import { startXdsServer } from '../src/outputs/xds/server.ts';
import { dataPlaneView } from '../src/outputs/xds/view.ts';
import { XdsOutput } from '../src/outputs/xds/xds-output.ts';
import { silentLog } from '../src/runtime/log.ts';
import { Metrics } from '../src/runtime/metrics.ts';

/**
 * Our xDS server in plain text, told what to do as go-control-plane/main.go is: `xds-server.ts ADDRESS ASSIGNMENTS
 * ENDPOINTS` prints "ready"; lines "one NUMBER" and "burst NUMBER" change an endpoint of one or of all assignments.
 */
const [listen = '', assignments = 0, endpoints = 0] = process.argv
  .slice(2)
  .map((arg, i) => (i === 0 ? arg : Number(arg))) as [string, number, number];

const name = (i: number): string => `composite/shop/b${i}/tcp-80`;
const assignment = (i: number, generation: number): Backend =>
  backend(
    name(i),
    Array.from({ length: endpoints }, (_, e) =>
      endpoint(
        e > 0
          ? `10.${10 + e}.${i >> 8}.${i & 255}`
          : `11.${(generation >> 16) & 255}.${(generation >> 8) & 255}.${generation & 255}`,
      ),
    ),
  );

const log = new ResourceLog();
const acks = new AckTracker({ head: () => log.position });
const output = new XdsOutput({ log, acks, origin: { set: 'demo', cluster: 'east', epoch: 1 } });
const numbers = Array.from({ length: assignments }, (_, i) => i);
const state = ir({ backends: numbers.map((i) => assignment(i, 0)) });
const backends = new Map(state.backends);
output.update({ ...state, backends });

let nodes = 0;
await startXdsServer({
  listen,
  credentials: ServerCredentials.createInsecure(),
  identify: () => ({
    set: 'demo',
    cluster: 'east',
    role: 'agent',
    node: `n${nodes++}`,
    labels: {},
    namespaces: [],
    region: '',
    network: '',
  }),
  views: ({ role }) => dataPlaneView(role),
  log,
  acks,
  logger: silentLog,
  metrics: new Metrics(),
});
console.log('ready');

for await (const line of createInterface({ input: process.stdin })) {
  const [what, generation] = [line.split(' ')[0], Number(line.split(' ')[1])];
  const changed = what === 'one' ? [generation % assignments] : numbers;
  for (const i of changed) backends.set(name(i), assignment(i, generation));
  output.update(
    { ...state, backends },
    { frontends: new Set(), nodes: new Set(), backends: new Set(changed.map(name)) },
  );
}
