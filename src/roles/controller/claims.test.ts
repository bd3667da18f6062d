import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Model } from '../../model/model.ts';
import { defaultModelConfig } from '../../model/model-config.ts';
import { parseClaims } from '../../outputs/objects/claim-file.ts';
import { AckTracker } from '../../outputs/xds/acks.ts';
import { systemClock } from '../../runtime/clock.ts';
import { silentLog } from '../../runtime/log.ts';
import { Metrics } from '../../runtime/metrics.ts';
import { ControllerClaims } from './claims.ts';

let state: string;
let acks: AckTracker;
let claims: ControllerClaims;

beforeEach(async () => {
  state = mkdtempSync(join(tmpdir(), 'causeway-claims-'));
  acks = new AckTracker({ head: () => 0, onChange: () => claims?.look() });
  claims = await ControllerClaims.open({
    state,
    serviceCidrs: ['10.96.0.0/16'],
    acks,
    clock: systemClock,
    random: Math.random,
    log: silentLog,
    metrics: new Metrics(),
    onChanges: () => {},
  });
});
afterEach(async () => {
  await claims.close();
  rmSync(state, { recursive: true, force: true });
});

const { compiled } = new Model(defaultModelConfig);

/** Nodes whose agent is connected, as a process that starts now would read it. */
const onDisk = (): readonly string[] =>
  [...read().nodes].flatMap(([name, { connected }]) => (connected ? [name] : []));

function read() {
  const found = parseClaims(readFileSync(join(state, 'claims.yaml'), 'utf8'));
  if (typeof found === 'string') throw new Error(found);
  return found;
}

/** A node connects; resolves once it may be told of claims. */
async function connect(node: string): Promise<ReturnType<AckTracker['connect']>> {
  const session = acks.connect(node);
  await claims.admitted(node);
  return session;
}

test('a node is on disk before it is told anything, each time it connects', async () => {
  claims.compiled(compiled, undefined, 0);
  const first = await connect('e1');
  expect(onDisk()).toEqual(['e1']);
  expect(claims.admitted('e1')).toBeUndefined();
  first.close();
  // The last of these decisions has seen that it left.
  await Promise.all(['e2', 'e3'].map(connect));
  await connect('e4');
  expect(onDisk()).toEqual(['e2', 'e3', 'e4']);
  await connect('e1');
  expect(onDisk()).toEqual(['e1', 'e2', 'e3', 'e4']);
});

test('a thousand nodes that connect at once are on disk after few writes', async () => {
  claims.compiled(compiled, undefined, 0);
  const names = Array.from({ length: 1_000 }, (_, i) => `n${i}`);
  await Promise.all(names.map(connect));
  expect(onDisk()).toHaveLength(1_000);
  // One event for each decision that found new nodes.
  expect(read().sequence).toBeLessThan(20);
});

test('a disk that cannot be written holds no node up', async () => {
  claims.compiled(compiled, undefined, 0);
  rmSync(state, { recursive: true });
  writeFileSync(state, 'not a folder');
  await connect('e1');
  expect(acks.connected).toContain('e1');
});
