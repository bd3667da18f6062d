import { accessSync, constants } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** `$CAUSEWAY_CACHE`, else `~/.cache/causeway`, else (no home that can be written) a folder of the clone. */
export function cacheFolder(): string {
  if (process.env.CAUSEWAY_CACHE) return process.env.CAUSEWAY_CACHE;
  return isWritable(homedir())
    ? join(homedir(), '.cache', 'causeway')
    : join(import.meta.dirname, '..', 'build', 'cache');
}

export function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
