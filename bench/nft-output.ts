import { runInSandbox, sandboxVariable } from '../src/cli/playground/sandbox.ts';
import { NftOutput } from '../src/outputs/nft/apply.ts';
import { spawnRunner } from '../src/outputs/nft/runner.ts';
import { backend, endpoint, frontend, ir, node, tcp, to } from '../src/outputs/nft/sample-ir.ts';
import { systemClock } from '../src/runtime/clock.ts';
import { silentLog } from '../src/runtime/log.ts';
import { Metrics } from '../src/runtime/metrics.ts';

/**
 * Time to program VIPs with ten endpoints each in a kernel, to change one endpoint, and to compare the table.
 * `node bench/nft-output.ts [VIPs]`. In its sandbox a large first load goes in pieces; as root in a network
 * namespace (`unshare --net env CAUSEWAY_SANDBOX=1 node bench/nft-output.ts`) in one transaction, as on a node.
 */
if (process.env[sandboxVariable] === undefined) {
  process.exit(await runInSandbox({ command: [process.execPath, ...process.argv.slice(1)] }));
}

const count = Number(process.argv[2] ?? 10_000);
const name = (i: number): string => `composite/shop/b${i}/tcp-80`;
const address = (i: number, e: number): string => `10.${10 + e}.${i >> 8}.${i & 255}`;
const behind = (i: number, n: number) =>
  backend(
    name(i),
    Array.from({ length: n }, (_, e) => endpoint(address(i, e))),
  );

const spawned = spawnRunner();
let inNft = 0;
let commands = 0;
const output = new NftOutput({
  node: 'e1',
  cluster: 'east',
  runner: {
    ...spawned,
    async run(text) {
      const start = performance.now();
      await spawned.run(text);
      inNft += performance.now() - start;
      commands += text.split('\n').filter((l) => /^(add|delete|table)/.test(l)).length;
    },
  },
  clock: systemClock,
  log: silentLog,
  metrics: new Metrics(),
});

async function timed(work: () => Promise<unknown>): Promise<{ ms: number; nftMs: number; cpuMs: number }> {
  inNft = 0;
  const cpu = process.cpuUsage();
  const start = performance.now();
  await work();
  const ms = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  return { ms, nftMs: inNft, cpuMs: (user + system) / 1000 };
}

const show = (what: string, { ms, nftMs, cpuMs }: Awaited<ReturnType<typeof timed>>): void =>
  console.log(
    `${what.padEnd(28)} ${ms.toFixed(1)} ms, of which nft ${nftMs.toFixed(1)} ms; own processor ${cpuMs.toFixed(1)} ms`,
  );

const state = ir({
  frontends: Array.from({ length: count }, (_, i) =>
    frontend(`gateway/shop/g${i}`, [`10.96.${i >> 8}.${i & 255}`], [tcp(80, [to(name(i))])]),
  ),
  backends: Array.from({ length: count }, (_, i) => behind(i, 10)),
  nodes: [node('e1', ['10.10.0.0/16'])],
});
show(`${count} VIPs, first load`, await timed(() => output.update(state)));

const backends = new Map(state.backends);
const changes = [];
let most = 0;
for (let k = 0; k < 60; k++) {
  const i = (k * 37) % count;
  backends.set(name(i), behind(i, 9 + (k % 3)));
  const touched = { frontends: new Set<string>(), nodes: new Set<string>(), backends: new Set([name(i)]) };
  commands = 0;
  changes.push(await timed(() => output.update({ ...state, backends }, touched)));
  most = Math.max(most, commands);
}
changes.sort((a, b) => a.ms - b.ms);
show('one endpoint, median of 60', changes[30] as Awaited<ReturnType<typeof timed>>);
console.log(`at most ${most} commands`);
show('audit', await timed(() => output.audit()));
console.log(`resident ${Math.round(process.memoryUsage().rss / 2 ** 20)} MiB`);
await output.close();
