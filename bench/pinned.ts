import { availableParallelism } from 'node:os';

/** A command bound to one core, where there are two or more: server and client then do not take turns. */
export const pinned = (core: 0 | 1, command: readonly string[]): [string, ...string[]] =>
  availableParallelism() < 2
    ? (command as [string, ...string[]])
    : ['taskset', '-c', String(core), ...command];
