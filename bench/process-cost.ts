import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';

/** The kernel's unit of processor time in /proc. */
const tickMs = 10;

/**
 * Milliseconds of processor time that a process and all its children have used, those that have ended included, in
 * steps of 10 ms: for sums over many repetitions.
 */
export function cpuMs(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The second field, the program's name, may hold blanks.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const own = [11, 12, 13, 14].reduce((sum, i) => sum + Number(fields[i]), 0) * tickMs;
  return childrenOf(pid).reduce((sum, child) => sum + cpuOfRunning(child), own);
}

function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  );
}

/** One that ends meanwhile is counted by its parent the next time. */
function cpuOfRunning(pid: number): number {
  try {
    return cpuMs(pid);
  } catch {
    return 0;
  }
}

/** Resolves with the processor time of each once none of them has used any for 300 ms. */
export async function idle(...pids: readonly number[]): Promise<readonly number[]> {
  const taken = (): number[] => pids.map(cpuMs);
  for (let last = taken(); ; ) {
    await wait(300);
    const now = taken();
    if (now.every((ms, i) => ms - (last[i] as number) < tickMs)) return now;
    last = now;
  }
}

/** Resident memory, now and at most so far. */
export function residentMiB(pid: number): { readonly now: number; readonly peak: number } {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8');
  const kib = (field: string): number => Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(text)?.[1]);
  return { now: kib('VmRSS') / 1024, peak: kib('VmHWM') / 1024 };
}
