import { type ChildProcess, spawn } from 'node:child_process';
import { once as event } from 'node:events';
import { join } from 'node:path';
import { firstLine } from '../src/cli/playground/first-line.ts';
import { endProcess } from '../src/cli/playground/run-command.ts';
import { type Bench, type BenchContext, runAlone } from './bench.ts';
import { nowMs } from './connector.ts';
import type { Figure, Results } from './figure.ts';
import { freePort } from './free-port.ts';
import { buildGoControlPlane } from './go-control-plane/build.ts';
import { pinned } from './pinned.ts';
import { cpuMs, idle, residentMiB } from './process-cost.ts';
import { once, percentile, type Spread, spreadOf } from './spread.ts';
import type { Arrived, Expect } from './xds-streams.ts';

const peer = 'go-control-plane, LinearCache';
const latency = { none: 'the client takes most of it' } as const;
const figures: readonly Figure[] = [
  {
    name: 'xds-one-cpu',
    what: 'push of one change to 1,000 streams, processor time of the server',
    unit: 'ms',
    peer,
    target: { ratioAtMost: 1 / 4 },
  },
  {
    name: 'xds-one-p50',
    what: 'push of one change to 1,000 streams, until half of them have it',
    unit: 'ms',
    peer,
    target: latency,
  },
  {
    name: 'xds-burst-cpu',
    what: 'push of 1,000 changes to 1,000 streams, processor time of the server',
    unit: 'ms',
    peer,
    target: { ratioAtMost: 1 / 4 },
  },
  {
    name: 'xds-burst-last',
    what: 'push of 1,000 changes to 1,000 streams, until the last has all',
    unit: 'ms',
    peer,
    target: latency,
  },
  {
    name: 'xds-sync',
    what: '1,000 streams connect and have 1,000 assignments × 10',
    unit: 's',
    peer,
    target: latency,
  },
  {
    name: 'xds-memory',
    what: 'server with 1,000 streams, resident after the pushes',
    unit: 'MiB',
    peer,
    target: { ratioAtMost: 1 / 3 },
  },
  {
    name: 'xds-memory-peak',
    what: 'server with 1,000 streams, resident at most',
    unit: 'MiB',
    peer,
    target: { ratioAtMost: 1 / 3 },
  },
];

interface Taken {
  readonly oneCpu: number;
  readonly one: readonly number[];
  readonly burstCpu: readonly number[];
  readonly burst: readonly number[];
  readonly syncMs: number;
  readonly memory: { readonly now: number; readonly peak: number };
}

const beside = (name: string): string => join(import.meta.dirname, name);

async function measure(server: readonly string[], { quick, say }: BenchContext): Promise<Taken> {
  const [streams, assignments, ones, bursts] = quick ? [100, 100, 5, 2] : [1000, 1000, 30, 5];
  const address = `127.0.0.1:${await freePort()}`;
  const [file, ...args] = pinned(0, [...server, address, String(assignments), '10']);
  const serving = spawn(file, args, {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, GOMAXPROCS: '1' },
    detached: true,
  });
  let client: ChildProcess | undefined;
  try {
    const said = await firstLine(serving, 60_000);
    if (said !== 'ready') throw new Error(`the server did not start: ${said}`);
    const pid = serving.pid as number;
    let generation = 1;
    const change = (what: 'one' | 'burst'): void => void serving.stdin?.write(`${what} ${generation++}\n`);

    const [program, ...argv] = pinned(1, [
      process.execPath,
      beside('xds-streams.ts'),
      address,
      String(streams),
    ]);
    const reading = spawn(program, argv, {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      detached: true,
    });
    client = reading;
    /** Milliseconds after `begin` at which each stream had so many resources. */
    const arrival = async (resources: number, begin: () => void): Promise<number[]> => {
      const limit = AbortSignal.timeout(120_000);
      reading.send({ resources } satisfies Expect);
      const started = nowMs();
      begin();
      const [{ at }] = (await event(reading, 'message', { signal: limit })) as [Arrived];
      return at.map((ms) => ms - started);
    };
    say(`${streams} streams connect`);
    const syncMs = Math.max(...(await arrival(assignments, () => {})));
    await idle(pid);
    say(`${ones} pushes of one change, ${bursts} of ${assignments}`);
    const before = cpuMs(pid);
    const one: number[] = [];
    for (let k = 0; k < ones; k += 1) one.push(percentile(await arrival(1, () => change('one')), 0.5));
    const oneCpu = (((await idle(pid))[0] as number) - before) / ones;
    const burst: number[] = [];
    const burstCpu: number[] = [];
    for (let k = 0; k < bursts; k += 1) {
      const start = cpuMs(pid);
      burst.push(Math.max(...(await arrival(assignments, () => change('burst')))));
      burstCpu.push(((await idle(pid))[0] as number) - start);
    }
    return { oneCpu, one, burstCpu, burst, syncMs, memory: residentMiB(pid) };
  } finally {
    if (client) await endProcess(client);
    await endProcess(serving);
  }
}

export const xdsFanout: Bench = {
  name: 'xds-fanout',
  figures,
  run: async (context): Promise<Results> => {
    const ours = await measure([process.execPath, beside('xds-server.ts')], context);
    let theirs: Taken | undefined;
    let why = '';
    try {
      const program = await buildGoControlPlane();
      context.say('the same with go-control-plane');
      theirs = await measure([program], context);
    } catch (error) {
      why = error instanceof Error ? (error.message.split('\n')[0] as string) : String(error);
      context.say(`no go-control-plane: ${why}`);
    }
    const both = (take: (taken: Taken) => Spread) =>
      theirs ? { ours: take(ours), peer: take(theirs) } : { notRun: why };
    return {
      'xds-one-cpu': both((t) => once(t.oneCpu)),
      'xds-one-p50': both((t) => spreadOf(t.one)),
      'xds-burst-cpu': both((t) => spreadOf(t.burstCpu)),
      'xds-burst-last': both((t) => spreadOf(t.burst)),
      'xds-sync': both((t) => once(t.syncMs / 1000)),
      'xds-memory': both((t) => once(t.memory.now)),
      'xds-memory-peak': both((t) => once(t.memory.peak)),
    };
  },
};

if (import.meta.main) await runAlone(xdsFanout);
