import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { CaFolder } from '../../src/runtime/ca-folder.ts';
import type { IssueOptions } from '../../src/runtime/certificates.ts';
import { CausewayProcess } from '../causeway-process.ts';

/** A machine under load may take its time. */
const patience = { timeout: 60_000, interval: 50 };

let folder: string;
let ca: CaFolder;
let occupied: Server;
let taken: string;
const running: CausewayProcess[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'causeway-roles-'));
  ca = (await CaFolder.init(join(folder, 'ca'), 'default', Date.now())).ca;
  occupied = createServer().listen(0, '127.0.0.1');
  await once(occupied, 'listening');
  taken = `127.0.0.1:${(occupied.address() as AddressInfo).port}`;
  mkdirSync(join(folder, 'objects'));
  writeFileSync(join(folder, 'members.yaml'), 'members: [{cluster: east}, {cluster: west}]\n');
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((each) => each.stop('SIGKILL')));
});
afterAll(() => {
  occupied.close();
  rmSync(folder, { recursive: true });
});

function start(...argv: string[]): CausewayProcess {
  const started = CausewayProcess.start(argv, { cwd: folder });
  running.push(started);
  return started;
}

async function certificate(name: string, identity: Partial<IssueOptions>): Promise<string[]> {
  const files = await ca.issueInto(join(folder, name), {
    cluster: 'east',
    role: 'controller',
    labels: {},
    namespaces: ['*'],
    region: '',
    network: '',
    ttl: 3_600_000,
    now: Date.now(),
    ...identity,
  });
  return ['--tls-cert', files.cert, '--tls-key', files.key, '--tls-ca', files.ca];
}

/** The whole command line of each role, with addresses of its own choice. */
const roles: Readonly<Record<string, () => Promise<string[]>>> = {
  relay: async () => {
    const tls = await certificate('hub', { cluster: 'hub', role: 'relay' });
    return ['relay', '--name', 'hub', '--members', 'members.yaml', '--listen', '127.0.0.1:0', ...tls];
  },
  controller: async () => {
    const tls = await certificate('east', {});
    const state = mkdtempSync(join(folder, 'state-'));
    const folders = ['--dir', 'objects', '--state', state, '--service-cidr', '10.96.0.0/16'];
    return ['controller', '--cluster', 'east', ...folders, '--listen', '127.0.0.1:0', ...tls];
  },
  dns: async () => {
    const tls = await certificate('dns', { role: 'dns' });
    return ['dns', '--cluster', 'east', '--controller', taken, '--listen', '127.0.0.1:0', ...tls];
  },
  agent: async () => {
    const tls = await certificate('e1', { role: 'agent', node: 'e1' });
    return ['agent', '--cluster', 'east', '--node', 'e1', '--controller', taken, ...tls];
  },
};

describe('an address that cannot be listened on ends the whole process, named with its flag', () => {
  const flags = Object.keys(roles).flatMap((role) =>
    (role === 'agent' ? ['--admin'] : ['--listen', '--admin']).map((flag) => [role, flag] as const),
  );

  test.each(flags)('%s %s', { timeout: 60_000 }, async (role, flag) => {
    const command = (await roles[role]?.()) ?? [];
    // One that is taken, and one that no machine has (RFC 5737).
    const attempts = [taken, '192.0.2.1:0'].map(async (address) => {
      const started = start(...command, flag, address);
      const code = await started.exit;
      expect([code, started.said.at(-1)?.text]).toEqual([
        1,
        expect.stringMatching(
          new RegExp(`^causeway: E_LISTEN cannot listen on ${address}( over TCP)? \\(${flag}\\): .`),
        ),
      ]);
    });
    await Promise.all(attempts);
  });
});

test('a value that cannot be used ends it with code 2', { timeout: 60_000 }, async () => {
  const started = start('relay', '--name', 'hub', '--members', 'members.yaml', '--listen', 'nonsense');
  expect(await started.exit).toBe(2);
  expect(started.text).toBe(
    'causeway: E_USAGE --listen: expected host:port, :port or [IPv6]:port, found "nonsense"',
  );
});

/** A cluster with one pod, and the same front end and back end as every other. */
function writeCluster(name: string, podIp: string): string {
  const objects = join(folder, `${name}-objects`);
  mkdirSync(objects, { recursive: true });
  writeFileSync(
    join(objects, 'all.yaml'),
    `apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: cluster-ip}
spec: {controllerName: causeway.dev/gateway-controller}
---
apiVersion: v1
kind: Node
metadata: {name: n1}
spec: {podCIDR: ${podIp}/24}
---
apiVersion: v1
kind: Pod
metadata: {name: store-0, namespace: shop, labels: {app: store}}
spec: {nodeName: n1, containers: [{name: c}]}
status: {phase: Running, podIP: ${podIp}, conditions: [{type: Ready, status: "True"}]}
---
${readFileSync(join(import.meta.dirname, '..', '..', 'examples', 'store', 'store.yaml'), 'utf8')}`,
  );
  return objects;
}

async function controllerOf(cluster: string, podIp: string, relay: string, ...more: string[]) {
  const tls = await certificate(cluster, { cluster });
  const folders = ['--dir', writeCluster(cluster, podIp), '--state', join(folder, `${cluster}-state`)];
  return start(
    ...['controller', '--cluster', cluster, ...folders, '--service-cidr', '10.96.0.0/16', ...tls],
    ...['--listen', '127.0.0.1:0', '--relay', relay, ...more],
  );
}

test('clusters that name no network, neither by flag nor in their certificates, exchange endpoints', {
  timeout: 120_000,
}, async () => {
  const relay = await start(...((await roles.relay?.()) ?? [])).up();
  const address = `127.0.0.1:${relay.port}`;
  const pods = { east: '10.10.1.4', west: '10.20.1.4' };
  for (const [cluster, podIp] of Object.entries(pods)) await controllerOf(cluster, podIp, address);
  const admins = await Promise.all(running.slice(1).map((each) => each.up()));
  for (const { admin } of admins) {
    const ir = async () => (await fetch(`http://127.0.0.1:${admin}/debug/ir`)).text();
    for (const podIp of Object.values(pods)) await expect.poll(ir, patience).toContain(`${podIp}:8080`);
  }
});

test('with a relay a network or region that the certificate does not carry is refused', {
  timeout: 60_000,
}, async () => {
  for (const flag of ['network', 'region']) {
    const controller = await controllerOf('east', '10.10.1.4', '127.0.0.1:1', `--${flag}`, 'n1');
    expect(await controller.exit).toBe(2);
    expect(controller.said.at(-1)?.text).toMatch(
      new RegExp(
        `^causeway: E_USAGE --${flag} n1: the certificate .*tls.crt \\(--tls-cert\\) carries no ${flag}`,
      ),
    );
  }
});

test('a file of claims that cannot be trusted takes no controller out of service, and is told', {
  timeout: 120_000,
}, async () => {
  const state = join(folder, 'east-state');
  const claim = join(state, 'claims.yaml');
  const first = await controllerOf('east', '10.10.1.4', '127.0.0.1:1');
  await first.up();
  await expect.poll(() => existsSync(claim) && readFileSync(claim, 'utf8'), patience).toContain('"address"');
  await first.stop();
  const good = readFileSync(claim, 'utf8');
  writeFileSync(claim, good.slice(0, -20));

  const { admin } = await (await controllerOf('east', '10.10.1.4', '127.0.0.1:1')).up();
  const page = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${admin}${path}`);
    return `${response.status} ${await response.text()}`;
  };
  await expect.poll(() => page('/readyz'), patience).toBe('200 ok\n');
  expect(await page('/metrics')).toMatch(/^causeway_claims_frozen 1$/m);
  expect(await page('/debug/problems')).toMatch(
    /✖ .*claims\.yaml: .*; no address is given out or freed until/,
  );
  const address = /"address":"([^"]+)"/.exec(good)?.[1];
  expect(await page('/debug/ir')).toContain(`vips: [${address}]`);

  writeFileSync(claim, good);
  await expect.poll(() => page('/metrics'), patience).toMatch(/^causeway_claims_frozen 0$/m);
  expect(await page('/debug/problems')).not.toContain('claims.yaml');
});
