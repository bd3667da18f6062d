import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readTable } from '../../src/outputs/nft/parse.ts';
import { backend, endpoint, frontend, ir, node, tcp, to } from '../../src/outputs/nft/sample-ir.ts';
import { CaFolder } from '../../src/runtime/ca-folder.ts';
import { CausewayProcess } from '../causeway-process.ts';
import { HeldConnection } from './held-connection.ts';
import { NodeNet } from './node-net.ts';

const vip = '10.96.0.10';
const store = 'composite/shop/store/tcp-80';

let net: NodeNet;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'causeway-agent-'));
  net = await NodeNet.create('agent-command');
});
afterAll(async () => {
  await net.close();
  rmSync(folder, { recursive: true });
});

const cleanup = (): CausewayProcess => CausewayProcess.start(['agent', 'cleanup'], { enter: net.onNode });

test('agent cleanup takes the table off the node once established connections have finished', async () => {
  const output = net.output();
  await output.update(
    ir({
      frontends: [frontend('gateway/shop/store', [vip], [tcp(80, [to(store)])])],
      backends: [backend(store, [endpoint(net.pod(0).address.v4, 8080)])],
      nodes: [node('e1', [net.node.podCidrs.v4])],
    }),
  );
  await output.close();
  const held = await HeldConnection.open(net.remote.host, vip, 80);

  const cleaning = cleanup();
  await cleaning.line(/^waiting for 1 connections to finish$/);
  expect(await held.ask()).toContain('east/p0');
  expect(await net.ask(net.remote.host, 'TCP', vip, 80)).not.toContain('east/p0');
  expect(await readTable(net.runner)).toBeDefined();
  expect(cleaning.running).toBe(true);
  const commandLine = readFileSync(`/proc/${cleaning.child.pid}/cmdline`, 'utf8').split('\0');
  expect(commandLine).toContain('--max-semi-space-size=4');
  held.end();
  expect([await cleaning.exit, cleaning.said.at(-1)?.text]).toEqual([0, 'the table is removed']);
  expect(await readTable(net.runner)).toBeUndefined();

  const again = cleanup();
  expect([await again.exit, again.text]).toEqual([0, 'there is no table of ours on this node']);
});

test('without nft the agent and its cleanup end at once, as E_NFT_UNUSABLE, and says what to install', async () => {
  const { ca } = await CaFolder.init(join(folder, 'ca'), 'default', Date.now());
  const tls = await ca.issueInto(join(folder, 'e1'), {
    cluster: 'east',
    role: 'agent',
    node: 'e1',
    labels: {},
    namespaces: [],
    region: '',
    network: '',
    ttl: 3_600_000,
    now: Date.now(),
  });
  const files = ['--tls-cert', tls.cert, '--tls-key', tls.key, '--tls-ca', tls.ca];
  const nothing = join(folder, 'nothing');
  mkdirSync(nothing);
  const agent = CausewayProcess.start(
    ['agent', '--node', 'e1', '--cluster', 'east', '--controller', '127.0.0.1:18000', ...files],
    { env: { PATH: nothing } },
  );
  const cleaning = CausewayProcess.start(['agent', 'cleanup'], { env: { PATH: nothing } });
  expect(await agent.exit).toBe(1);
  expect(await cleaning.exit).toBe(1);
  for (const { said } of [agent, cleaning]) {
    expect(said.at(-1)?.text).toMatch(
      /^causeway: E_NFT_UNUSABLE .*install the package nftables \(1\.0\.6 or newer\)$/,
    );
  }
});
