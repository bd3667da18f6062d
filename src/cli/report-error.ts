import { CommanderError } from 'commander';
import { AppError, messageOf } from '../runtime/errors.ts';

const couldNotAsk: ReadonlySet<string> = new Set(['E_USAGE', 'E_UNREACHABLE']);

/**
 * Says on standard error what ended a command: one line with its code, and with CAUSEWAY_DEBUG set where it came
 * from. Returns the exit code.
 */
export function reportError(error: unknown): number {
  // Told by commander itself; 0 is --help and --version.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  process.stderr.write(`causeway: ${errorText(error)}\n`);
  if (process.env.CAUSEWAY_DEBUG && error instanceof Error) process.stderr.write(`${error.stack}\n`);
  return error instanceof AppError && couldNotAsk.has(error.code) ? 2 : 1;
}

/** With its code, where it has one. */
export function errorText(error: unknown): string {
  return error instanceof AppError ? `${error.code} ${error.message}` : messageOf(error);
}
