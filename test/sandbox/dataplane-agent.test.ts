import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { startLoad } from '../../src/cli/playground/load-process.ts';
import type { Endpoint, Ir } from '../../src/model/ir.ts';
import { checkCapability } from '../../src/outputs/nft/capability.ts';
import { spawnRunner } from '../../src/outputs/nft/runner.ts';
import { backend, endpoint, frontend, ir, node, tcp, to } from '../../src/outputs/nft/sample-ir.ts';
import { selfTest } from '../../src/outputs/nft/self-test.ts';
import { HeldConnection } from './held-connection.ts';
import { NodeNet } from './node-net.ts';
import { XdsFeed } from './xds-feed.ts';

const vip = '10.96.0.10';
const store = 'composite/shop/store/tcp-80';
const slow = { timeout: 60_000, interval: 50 };

let net: NodeNet;
let feed: XdsFeed;
const agents = new Set<ChildProcess>();

beforeAll(async () => {
  net = await NodeNet.create('dataplane-agent');
});
afterAll(() => net.close());
beforeEach(async () => {
  await net.reset();
  feed = await XdsFeed.start();
});
afterEach(async () => {
  for (const child of agents) await kill(child);
  await feed.close();
});

const at = (index: number, port = 8080): Endpoint => endpoint(net.pod(index).address.v4, port);

function state(endpoints: readonly Endpoint[], more: { withheld?: boolean; address?: string } = {}): Ir {
  return ir({
    frontends: [frontend('gateway/shop/store', [more.address ?? vip], [tcp(80, [to(store)])])],
    backends: [
      backend(store, endpoints),
      backend('composite/shop/later/tcp-80', [], more.withheld ? { withheld: true } : {}),
    ],
    nodes: [node('e1', [net.node.podCidrs.v4]), node('e2', [net.cluster.node('e2').podCidrs.v4])],
  });
}

interface RunningAgent {
  readonly child: ChildProcess;
  readonly log: string[];
  get(path: string): Promise<{ status: number; text: string }>;
}

async function startAgentProcess(port = feed.port): Promise<RunningAgent> {
  const script = join(import.meta.dirname, 'agent-process.ts');
  const child = spawn(process.execPath, [script, String(port), ...net.onNode], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  agents.add(child);
  child.once('exit', () => agents.delete(child));
  const log: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => log.push(line));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const said = (await lines.next()).value as string | undefined;
  const admin = /^admin (\d+)$/.exec(said ?? '')?.[1];
  if (admin === undefined) throw new Error(`the agent did not start: ${log.join('\n')}`);
  return {
    child,
    log,
    async get(path) {
      const response = await fetch(`http://127.0.0.1:${admin}${path}`);
      return { status: response.status, text: await response.text() };
    },
  };
}

function kill(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.once('exit', () => resolve());
    child.kill(signal);
  });
}

/** `<address> . <port>` of the slots in the kernel. */
async function targets(): Promise<readonly string[]> {
  const text = await net.sh('nft list map inet causeway et4 2>/dev/null || true');
  return [...text.matchAll(/ : ([0-9.]+ \. \d+)/g)].map((m) => m[1] as string).sort();
}

const to8080 = (...pods: number[]): string[] => pods.map((p) => `${net.pod(p).address.v4} . 8080`).sort();

test('P1 an endpoint that went while the agent was down is gone when it is back', async () => {
  feed.serve(state([at(0), at(1), at(2)]));
  const first = await startAgentProcess();
  await expect.poll(targets, slow).toEqual(to8080(0, 1, 2));
  await kill(first.child);
  feed.serve(state([at(0), at(2)]));
  await startAgentProcess();
  await expect.poll(targets, slow).toEqual(to8080(0, 2));
});

test('P2 an agent that is killed and started again cuts nothing, and does not touch the table before it knows', async () => {
  feed.serve(state([endpoint(net.remote.address.v4)]));
  let agent = await startAgentProcess();
  await expect.poll(() => feed.acknowledged(), slow).toBe(true);
  const plan = { host: vip, port: 80, protocol: 'TCP', rate: 200, timeoutMs: 10_000 } as const;
  const load = startLoad(net.pod(0).host, plan);
  for (const signal of ['SIGKILL', 'SIGTERM', 'SIGKILL'] as const) {
    await kill(agent.child, signal);
    agent = await startAgentProcess();
    await expect.poll(async () => (await agent.get('/readyz')).status, slow).toBe(200);
  }
  const result = await load.stop();
  expect(result.errors).toEqual({});
  expect(result.requests).toBeGreaterThan(200);
});

test('P3 a new node is not ready before the complete state is programmed, and serves what it has until then', async () => {
  feed.serve(state([at(0)], { withheld: true }));
  const agent = await startAgentProcess();
  await expect.poll(targets, slow).toEqual(to8080(0));
  expect(await agent.get('/readyz')).toMatchObject({
    status: 503,
    text: expect.stringContaining('complete state'),
  });
  expect(await net.ask(net.pod(1).host, 'TCP', vip, 80)).toContain('east/p0');
  feed.serve(state([at(0)]));
  await expect.poll(async () => (await agent.get('/readyz')).status, slow).toBe(200);
  const { failed } = await net.load(net.pod(1).host, { host: vip, port: 80, requests: 50 });
  expect(failed).toBe(0);
});

test('P7 an element deleted by hand is back within an audit interval, and counted', async () => {
  feed.serve(state([at(0), at(1)]));
  const agent = await startAgentProcess();
  await expect.poll(() => feed.acknowledged(), slow).toBe(true);
  await net.sh(`nft delete element inet causeway et4 '{ ${vip} . 80 . 1 }'`);
  await expect.poll(targets, slow).toEqual(to8080(0, 1));
  await expect
    .poll(async () => (await agent.get('/metrics')).text, slow)
    .toMatch(/^causeway_drift_repaired_total 1$/m);
});

test('P11 a port that changes at the source flips every endpoint, and none keeps the old one', async () => {
  feed.serve(state([at(0), at(1)]));
  await startAgentProcess();
  await expect.poll(targets, slow).toEqual(to8080(0, 1));
  feed.serve(state([at(0, 9090), at(1, 9090)]));
  await expect.poll(targets, slow).toEqual(to8080(0, 1).map((t) => t.replace('8080', '9090')));
  expect(await net.ask(net.pod(2).host, 'TCP', vip, 80)).toContain('port=9090');
});

test('dataplane 7 an agent that is killed under load leaves its table in force, the next one takes over, and nothing is cut', async () => {
  feed.serve(state([at(0), at(1)]));
  let agent = await startAgentProcess();
  await expect.poll(() => feed.acknowledged(), slow).toBe(true);
  const held = await HeldConnection.open(net.remote.host, vip, 80);
  const whoHolds = (await held.ask()).split(' ')[0];
  const plan = { host: vip, port: 80, protocol: 'TCP', rate: 200, timeoutMs: 10_000 } as const;
  const loads = [net.remote.host, net.network.client].map((from) => startLoad(from, plan));
  for (const [signal, ...pods] of [
    ['SIGKILL', 1, 2],
    ['SIGTERM', 0, 2],
    ['SIGKILL', 0, 1],
  ] as const) {
    const before = await targets();
    await kill(agent.child, signal);
    // Nobody is there, and the table is.
    expect(await targets()).toEqual(before);
    expect(await held.ask()).toContain(whoHolds);
    const between = await net.load(net.pod(2).host, { host: vip, port: 80, requests: 100 });
    expect(between.failed).toBe(0);
    expect(Object.keys(between.answers)).toHaveLength(2);
    feed.serve(state(pods.map((pod) => at(pod))));
    agent = await startAgentProcess();
    const ready = async (): Promise<number> => {
      expect(await held.ask()).toContain(whoHolds);
      return (await agent.get('/readyz')).status;
    };
    await expect.poll(ready, slow).toBe(200);
    await expect.poll(targets, slow).toEqual(to8080(...pods));
    expect(await held.ask()).toContain(whoHolds);
  }
  for (const load of loads) {
    const result = await load.stop();
    expect(result.errors).toEqual({});
    expect(Object.keys(result.answers)).toEqual(['east/p0', 'east/p1', 'east/p2']);
  }
  held.end();
});

test('dataplane 8 an agent that starts without a complete source leaves the old table untouched', async () => {
  feed.serve(state([at(0)]));
  const first = await startAgentProcess();
  await expect.poll(() => feed.acknowledged(), slow).toBe(true);
  await kill(first.child);
  await feed.close();
  const changes = await watchTable();
  // No controller at all.
  const agent = await startAgentProcess();
  await expect.poll(async () => (await agent.get('/readyz')).status, slow).toBe(503);
  // A controller that has told a part.
  feed = await XdsFeed.start({ port: feed.port });
  feed.serve(state([at(2)], { withheld: true }));
  await expect.poll(async () => (await agent.get('/debug/ir')).text, slow).toContain(net.pod(2).address.v4);
  expect(feed.acknowledged()).toBe(false);
  expect((await agent.get('/readyz')).status).toBe(503);
  expect(await targets()).toEqual(to8080(0));
  // All of it.
  feed.serve(state([at(1)]));
  await expect.poll(targets, slow).toEqual(to8080(1));
  await expect.poll(() => feed.acknowledged(), slow).toBe(true);
  // From the one to the other, and nothing before: the kernel has told of every change.
  const [zero, one] = [0, 1].map((pod) => net.pod(pod).address.v4);
  await expect.poll(() => changes().length, slow).toBeGreaterThanOrEqual(3);
  expect(changes().slice(0, 3)).toEqual([
    `delete element inet causeway et4 { ${vip} . 80 . 0 : ${zero} . 8080 }`,
    `add element inet causeway et4 { ${vip} . 80 . 0 : ${one} . 8080 }`,
    `add element inet causeway hair4 { ${one} . ${one} }`,
  ]);
});

/** The changes of our table from now on, as the kernel tells them. */
async function watchTable(): Promise<() => readonly string[]> {
  const child = net.node.namespace.start(['nft', 'monitor'], { stdio: ['ignore', 'pipe', 'ignore'] });
  let text = '';
  child.stdout?.setEncoding('utf8').on('data', (more: string) => {
    text += more;
  });
  // It says nothing when it begins to listen.
  const marked = async (): Promise<boolean> => {
    await net.sh('nft add table inet marker; nft delete table inet marker');
    return text.includes('delete table inet marker');
  };
  await expect.poll(marked, slow).toBe(true);
  return () => text.split('\n').filter((line) => line.includes(' inet causeway '));
}

test('a front end that cannot be programmed is refused by name, the others are acknowledged', async () => {
  const good = state([at(0)]);
  const bad = frontend('gateway/shop/bad', [net.pod(1).address.v4], [tcp(80, [to(store)])]);
  feed.serve({ ...good, frontends: new Map([...good.frontends, [bad.key, bad]]) });
  const agent = await startAgentProcess();
  await expect
    .poll(() => feed.programming().get('shop/bad'), slow)
    .toMatchObject({
      programmed: false,
      message: expect.stringContaining('pod range'),
    });
  await expect.poll(() => feed.programming().get('shop/store')?.programmed, slow).toBe(true);
  expect((await agent.get('/debug/wanted')).text).toContain(`${vip} . tcp . 80`);
});

test('the self-test proves that the table is hit, says when it is not, and leaves nothing behind', async () => {
  const links = () => net.sh('ip -o link | wc -l');
  const before = await links();
  expect(await selfTest({ command: net.onNode })).toMatchObject({ result: 'bypassed' });
  feed.serve(state([at(0)]));
  const agent = await startAgentProcess();
  await expect.poll(async () => (await agent.get('/debug/inputs')).text, slow).toContain('result: hit');
  expect((await agent.get('/metrics')).text).toMatch(/^causeway_data_plane_bypassed 0$/m);
  expect(await selfTest({ command: net.onNode })).toMatchObject({ result: 'hit' });
  expect(await selfTest({ command: ['false'] })).toMatchObject({ result: 'unproven' });
  expect(await links()).toBe(before);
});

test('dataplane 25 without a usable nft the agent ends at once and says why', async () => {
  const dir = '/run/causeway/no-nft';
  mkdirSync(dir, { recursive: true });
  const fakeNft = (name: string, script: string): string => {
    writeFileSync(join(dir, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(dir, name), 0o755);
    return join(dir, name);
  };
  const check = (command: readonly string[]): Promise<void> => checkCapability(spawnRunner({ command }));
  await expect(check([...net.onNode, join(dir, 'missing')])).rejects.toMatchObject({
    code: 'E_NFT_UNUSABLE',
  });
  await expect(check([join(dir, 'missing')])).rejects.toThrow(/install the package nftables/);
  const old = fakeNft(
    'old',
    'cat >/dev/null; echo "/dev/stdin:5:10-15: Error: syntax error, unexpected typeof" >&2; exit 1',
  );
  await expect(check([old])).rejects.toThrow(/unexpected typeof.*expected nft 1\.0\.6/);
  const denied = fakeNft(
    'denied',
    'cat >/dev/null; echo "netlink: Error: Could not process rule: Operation not permitted" >&2; exit 1',
  );
  await expect(check([denied])).rejects.toThrow(/NET_ADMIN/);
  await expect(check([...net.onNode, 'nft'])).resolves.toBeUndefined();
  // The whole process, with nothing called nft on its PATH.
  const script = join(import.meta.dirname, 'agent-process.ts');
  const child = spawn(process.execPath, [script, String(feed.port)], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: dir },
  });
  let said = '';
  child.stderr.on('data', (d: Buffer) => {
    said += d.toString();
  });
  const code = await new Promise((resolve) => child.once('close', resolve));
  expect(code).not.toBe(0);
  expect(said).toContain('install the package nftables');
});
