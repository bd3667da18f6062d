import { createHash } from 'node:crypto';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { WriteFile } from '../../runtime/state-disk.ts';
import { writeAtomic } from '../../runtime/write-atomic.ts';
import type { Identity } from './identity.ts';
import type { ObjectId } from './parse-file.ts';

/**
 * What the file source remembers over restarts, under the state folder: identities in `files/objects.json`, and
 * the last good text of each file in `files/good/`. Writes are atomic. Losing it all is no harm to traffic.
 */
export class FolderState {
  readonly #folder: string;
  readonly #good: string;
  readonly #write: WriteFile;

  constructor(stateFolder: string, write: WriteFile = writeAtomic) {
    this.#write = write;
    this.#folder = join(stateFolder, 'files');
    this.#good = join(this.#folder, 'good');
  }

  /** Entries that are not there or not readable count as none. */
  async identities(): Promise<[ObjectId, Identity][]> {
    const text = await readFile(join(this.#folder, 'objects.json'), 'utf8').catch(() => '[]');
    try {
      const parsed: unknown = JSON.parse(text);
      return Array.isArray(parsed) ? parsed.filter(isEntry) : [];
    } catch {
      return [];
    }
  }

  async saveIdentities(entries: readonly (readonly [ObjectId, Identity])[]): Promise<void> {
    await this.#write(join(this.#folder, 'objects.json'), `${JSON.stringify(entries)}\n`);
  }

  async lastGood(file: string): Promise<string | undefined> {
    return readFile(join(this.#good, nameOf(file)), 'utf8').catch(() => undefined);
  }

  async saveGood(file: string, text: string): Promise<void> {
    if ((await this.lastGood(file)) !== text) await this.#write(join(this.#good, nameOf(file)), text);
  }

  /** Forgets the texts of all other files. */
  async keepGood(files: Iterable<string>): Promise<void> {
    const names = new Set([...files].map(nameOf));
    for (const name of await readdir(this.#good).catch(() => [])) {
      if (!names.has(name)) await rm(join(this.#good, name), { force: true });
    }
  }
}

/** Paths may be longer than a file's name. */
const nameOf = (file: string): string => `${createHash('sha256').update(file).digest('hex')}.yaml`;

function isEntry(value: unknown): value is [ObjectId, Identity] {
  if (!Array.isArray(value) || typeof value[0] !== 'string') return false;
  const { incarnation, generation, created, hash } = (value[1] ?? {}) as Record<string, unknown>;
  return (
    [incarnation, generation].every(Number.isSafeInteger) &&
    [created, hash].every((s) => typeof s === 'string')
  );
}
