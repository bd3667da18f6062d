import { availableParallelism } from 'node:os';

/**
 * A command bound to one core, where there are two or more: server and client then do not take turns. It ends with this
 * process.
 */
export function pinned(core: 0 | 1, command: readonly string[]): [string, ...string[]] {
  const bound = ['--pdeathsig', 'KILL', ...(availableParallelism() < 2 ? [] : ['taskset', '-c', `${core}`])];
  return ['setpriv', ...bound, ...command];
}
