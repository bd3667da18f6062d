import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Namespace } from '../../src/cli/playground/namespace.ts';
import { runCommand } from '../../src/cli/playground/run-command.ts';
import { type CaseWorld, until } from './case-world.ts';
import type { Fault } from './fault-plan.ts';

const hub = '172.18.0.10';
/** Where a controller serves xDS. */
const port = 18000;

/** Drops in a table of its own, in the namespace of whoever passes it on. */
interface Cut {
  readonly where: Namespace;
  readonly hook: 'forward' | 'input';
  readonly rules: readonly string[];
}

const between = (a: string, b: string): string[] => [
  `ip saddr ${a} ip daddr ${b} drop`,
  `ip saddr ${b} ip daddr ${a} drop`,
];

/** Cuts of the control plane: link → what is dropped. Data passes. */
export function controlCuts(world: CaseWorld): ReadonlyMap<string, Cut> {
  const { router, clusters } = world.network;
  const cuts = new Map<string, Cut>();
  for (const { name, plan, control, nodes } of clusters.values()) {
    const { v4 } = plan.control;
    cuts.set(`${name} controller–relay`, { where: router, hook: 'forward', rules: between(v4, hub) });
    // They are on one host: over the loopback device nothing else asks there.
    const own = [`iifname lo tcp dport ${port} drop`, `iifname lo tcp sport ${port} drop`];
    cuts.set(`${name} dns–controller`, { where: control, hook: 'input', rules: own });
    for (const node of nodes.values()) {
      const rules = between(node.address.v4, v4);
      cuts.set(`${name} agent ${node.name}–controller`, { where: router, hook: 'forward', rules });
    }
  }
  return cuts;
}

/** All that is data between two clusters, probes included; `all`: the control plane, too, the relay on the second's side. */
export function pairCut(world: CaseWorld, pair: string, all: boolean): Cut {
  const [a, b] = pair.split('–').map((name) => world.cluster(name).plan) as [Plan, Plan];
  const pods = (plan: Plan): string => `${plan.podCidrs(1).v4.split('.').slice(0, 2).join('.')}.0.0/16`;
  const hosts = (plan: Plan): string => `${plan.control.v4.split('.').slice(0, 3).join('.')}.0/24`;
  const rules = [
    ...between(`{ ${pods(a)}, ${hosts(a)} }`, pods(b)),
    ...between(`{ ${pods(b)}, ${hosts(b)} }`, pods(a)),
    ...(all ? between(hosts(a), `{ ${hosts(b)}, ${hub} }`) : []),
  ];
  return { where: world.network.router, hook: 'forward', rules };
}

type Plan = ReturnType<CaseWorld['cluster']>['plan'];

/** Resolves with what ends it. */
export async function cut({ where, hook, rules }: Cut, number: number): Promise<() => Promise<void>> {
  const table = `ip fault${number}`;
  const nft = async (command: string): Promise<void> => {
    expect(await where.run(['nft', command])).toMatchObject({ code: 0, stderr: '' });
  };
  await nft(`table ${table} { chain c { type filter hook ${hook} priority -200; ${rules.join('; ')}; }; }`);
  return () => nft(`delete table ${table}`);
}

/**
 * Mounts an empty, small disk on a folder; resolves with what unmounts it. Processes that are started from now on have
 * it, each for itself; with `pid` only that one has.
 */
export async function smallDisk(folder: string, pid?: number): Promise<() => Promise<void>> {
  const run = async (...command: string[]): Promise<void> => {
    const enter = pid === undefined ? [] : ['nsenter', `--mount=/proc/${pid}/ns/mnt`];
    expect(await runCommand([...enter, ...command])).toMatchObject({ code: 0 });
  };
  await run('mount', '-t', 'tmpfs', '-o', 'size=4m,mode=700', 'small', folder);
  return () => run('umount', '--lazy', folder);
}

/** Fills a disk to the last byte; resolves with what empties it. */
export function fillDisk(folder: string): () => void {
  const ballast = join(folder, 'ballast');
  for (let size = 1 << 20; size >= 1; size = Math.floor(size / 2)) {
    try {
      for (;;) writeFileSync(ballast, Buffer.alloc(size), { flag: 'a' });
    } catch (error) {
      expect((error as NodeJS.ErrnoException).code).toBe('ENOSPC');
    }
  }
  return () => rmSync(ballast);
}

/** A process is there again when its pages answer, ready or not. */
export const answers = (world: CaseWorld, process: string): Promise<void> =>
  until(`${process} answers`, async () => {
    expect(world.supervisor.alive(process), world.supervisor.tail(process).join('\n')).toBe(true);
    expect(await world.page(process, '/livez')).toBe('ok\n');
  });

/** Faults of one process or disk, from its beginning to its end. */
export async function strike(world: CaseWorld, { kind, target, holdMs }: Fault): Promise<void> {
  const { supervisor } = world;
  if (kind === 'kill') {
    await supervisor.kill(target);
    await wait(holdMs);
    supervisor.launch(supervisor.spec(target));
    await answers(world, target);
  } else if (kind === 'stop') {
    supervisor.signal(target, 'SIGSTOP');
    await wait(holdMs);
    supervisor.signal(target, 'SIGCONT');
  } else if (kind === 'clock') {
    supervisor.signal(target, 'SIGUSR2');
    await wait(holdMs);
  } else {
    const empty = fillDisk(world.cluster(target).stateDir);
    await wait(holdMs);
    empty();
  }
}
