import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from '../src/cli/playground/run-command.ts';
import type { Frontend } from '../src/model/ir.ts';
import { CausewayProcess } from '../test/causeway-process.ts';
import { buildCoreDns } from '../test/coredns/build.ts';
import { StandInController } from '../test/sandbox/dns-controller.ts';
import { type Bench, type BenchContext, runAlone } from './bench.ts';
import type { DnsLoad } from './dns-load.ts';
import type { Figure, Measurement, Results } from './figure.ts';
import { freePort } from './free-port.ts';
import { pinned } from './pinned.ts';
import { cpuMs, residentMiB } from './process-cost.ts';
import { once, spreadOf } from './spread.ts';
import { eventually } from './world.ts';

/**
 * CoreDNS's `kubernetes` plugin needs an API server and is not in this run; where all were measured together it took
 * 14.8 µs, `file` 20.0 µs and `hosts` 8.8 µs.
 */
const kubernetes = { file: 14.8 / 20.0, hosts: 14.8 / 8.8 };
const share = (of: number) => Math.round(0.7 * of * 100) / 100;

const figures: readonly Figure[] = [
  {
    name: 'dns-cpu-file',
    what: 'processor time per A answer, 10,000 names, against CoreDNS `file`',
    unit: 'µs',
    peer: 'CoreDNS `file`',
    target: {
      ratioAtMost: share(kubernetes.file),
      because: '0.7 × its `kubernetes` plugin, which takes 0.74 × `file`',
    },
  },
  {
    name: 'dns-cpu-hosts',
    what: 'processor time per A answer, 10,000 names, against CoreDNS `hosts`',
    unit: 'µs',
    peer: 'CoreDNS `hosts`',
    target: {
      ratioAtMost: share(kubernetes.hosts),
      because: '0.7 × its `kubernetes` plugin, which takes 1.68 × `hosts`',
    },
  },
  {
    name: 'dns-memory',
    what: 'dns with 10,000 names after the load, resident',
    unit: 'MiB',
    peer: 'CoreDNS `hosts`',
    target: { none: 'none in the design' },
  },
];

const names = 10_000;
const zone = 'shop.gw.cluster.local';
const addressOf = (i: number): string => `10.96.${i >> 8}.${i & 255}`;

const frontend = (i: number): Frontend => ({
  key: `gateway/shop/web-${i}`,
  generation: 1,
  names: [`web-${i}.${zone}`],
  ttl: 5,
  vips: [addressOf(i)],
  ports: [{ protocol: 'TCP', port: 80, listeners: ['http'], targets: [] }],
});

interface Server {
  readonly process: CausewayProcess;
  readonly port: number;
  readonly stop: () => Promise<unknown>;
}

async function ours(folder: string): Promise<Server> {
  const controller = await StandInController.create(`127.0.0.1:${await freePort()}`, folder);
  await controller.start(Array.from({ length: names }, (_, i) => frontend(i)));
  const port = await freePort();
  const argv = ['dns', ...controller.flags, '--listen', `127.0.0.1:${port}`];
  const process = CausewayProcess.start(argv, { enter: pinned(0, []) });
  const { admin } = await process.up();
  await eventually('dns has the whole zone', async () =>
    (await fetch(`http://127.0.0.1:${admin}/readyz`)).ok ? true : undefined,
  );
  return {
    process,
    port,
    stop: async () => {
      await process.stop();
      await controller.stop();
    },
  };
}

async function coreDns(folder: string, plugin: 'file' | 'hosts'): Promise<Server> {
  const program = await buildCoreDns();
  const port = await freePort();
  const data = join(folder, plugin);
  const numbers = Array.from({ length: names }, (_, i) => i);
  const soa = `@ 5 IN SOA ns.${zone}. admin.${zone}. 1 7200 1800 86400 5\n@ 5 IN NS ns.${zone}.\nns 5 IN A 10.96.0.10\n`;
  writeFileSync(
    data,
    plugin === 'hosts'
      ? numbers.map((i) => `${addressOf(i)} web-${i}.${zone}\n`).join('')
      : soa + numbers.map((i) => `web-${i} 5 IN A ${addressOf(i)}\n`).join(''),
  );
  const stanza = plugin === 'hosts' ? `hosts ${data} {\n ttl 5\n }` : `file ${data}`;
  const corefile = join(folder, `Corefile-${plugin}`);
  writeFileSync(corefile, `${zone}:${port} {\n bind 127.0.0.1\n ${stanza}\n}\n`);
  const process = new CausewayProcess([...pinned(0, [program]), '-conf', corefile], {
    env: { ...globalThis.process.env, GOMAXPROCS: '1' },
  });
  await process.line(/CoreDNS-/);
  return { process, port, stop: () => process.stop() };
}

/** Microseconds of the server for each answer. */
async function costOf(server: Server, count: number): Promise<number> {
  const pid = server.process.child.pid as number;
  const before = cpuMs(pid);
  const client = join(import.meta.dirname, 'dns-load.ts');
  const command = pinned(1, [process.execPath, client, `${server.port}`, `${count}`, `${names}`, zone]);
  const done = await runCommand(command, { timeoutMs: 120_000 });
  if (done.code !== 0) throw new Error(`the client ended with ${done.code}: ${done.stderr}`);
  const load = JSON.parse(done.stdout) as DnsLoad;
  if (load.wrong > 0) throw new Error(`${load.wrong} of ${load.answers} answers hold no address`);
  return ((cpuMs(pid) - before) * 1000) / load.answers;
}

async function run({ quick, say }: BenchContext): Promise<Results> {
  const [count, rounds] = quick ? [20_000, 1] : [100_000, 3];
  const folder = mkdtempSync(join(tmpdir(), 'causeway-bench-dns-'));
  const servers: Record<string, Server> = {};
  let why = '';
  try {
    servers.ours = await ours(folder);
    try {
      for (const plugin of ['file', 'hosts'] as const) servers[plugin] = await coreDns(folder, plugin);
    } catch (error) {
      why = error instanceof Error ? (error.message.split('\n')[0] as string) : String(error);
      say(`no CoreDNS: ${why}`);
    }
    const costs: Record<string, number[]> = {};
    for (const server of Object.values(servers)) await costOf(server, count / 4);
    for (let round = 1; round <= rounds; round += 1) {
      for (const [name, server] of Object.entries(servers)) {
        say(`${name}: ${count} questions, ${round} of ${rounds}`);
        costs[name] = [...(costs[name] ?? []), await costOf(server, count)];
      }
    }
    const against = (plugin: string): Measurement | { notRun: string } => {
      const peer = costs[plugin];
      return peer ? { ours: spreadOf(costs.ours ?? []), peer: spreadOf(peer) } : { notRun: why };
    };
    const memory = (server: Server) => once(residentMiB(server.process.child.pid as number).now);
    return {
      'dns-cpu-file': against('file'),
      'dns-cpu-hosts': against('hosts'),
      'dns-memory': {
        ours: memory(servers.ours),
        ...(servers.hosts ? { peer: memory(servers.hosts) } : {}),
      },
    };
  } finally {
    for (const server of Object.values(servers)) await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

export const dnsServer: Bench = { name: 'dns-server', figures, run };

if (import.meta.main) await runAlone(dnsServer);
