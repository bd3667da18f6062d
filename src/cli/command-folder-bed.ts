import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, vi } from 'vitest';

/** For each test of a file a new folder, and what commands print while it runs. */
export function commandFolder(): { readonly dir: string; readonly printed: string } {
  const bed = { dir: '', printed: '' };
  beforeEach(() => {
    bed.dir = mkdtempSync(join(tmpdir(), 'causeway-command-'));
    bed.printed = '';
    vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
      bed.printed += String(text);
      return true;
    });
  });
  afterEach(() => {
    vi.restoreAllMocks();
    rmSync(bed.dir, { recursive: true });
  });
  return bed;
}
