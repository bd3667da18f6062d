import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { messageOf } from '../../runtime/errors.ts';
import type { WriteFile } from '../../runtime/state-disk.ts';
import { writeAtomic } from '../../runtime/write-atomic.ts';
import { formatClaims, parseClaims } from './claim-file.ts';
import { type ClaimState, noClaims } from './claim-state.ts';

export interface StoredClaims {
  readonly state: ClaimState;
  /**
   * Why the file cannot be trusted. Then `state` is what the copy says: true when it was written, but perhaps not
   * all, so nothing may be given out or freed.
   */
  readonly fault?: string;
  /** Neither can be trusted: what is bound is not known. */
  readonly lost?: boolean;
}

/** `STATE/claims.yaml`, and a copy of it that tells what was bound should the first be damaged. */
export class ClaimFileStore {
  readonly path: string;
  readonly #copy: string;
  readonly #write: WriteFile;

  constructor(stateFolder: string, write: WriteFile = writeAtomic) {
    this.#write = write;
    this.path = join(stateFolder, 'claims.yaml');
    this.#copy = join(stateFolder, 'claims.copy.yaml');
  }

  async load(): Promise<StoredClaims> {
    const main = await read(this.path);
    const parsed = main.text === undefined ? undefined : parseClaims(main.text);
    if (parsed !== undefined && typeof parsed !== 'string') return { state: parsed };
    const copy = await read(this.#copy);
    const saved = copy.text === undefined ? undefined : parseClaims(copy.text);
    if (main.missing && copy.missing) return { state: noClaims };
    const lost = saved === undefined || typeof saved === 'string';
    const state = lost ? noClaims : saved;
    const found = main.missing ? 'it is missing, while its copy is there' : (parsed ?? main.fault);
    return {
      state,
      lost,
      fault: `${this.path}: ${found}; no address is given out or freed until it is put right (or it and ${this.#copy} are removed, once no node translates an old address)`,
    };
  }

  /** Both files say exactly this. */
  async holds(state: ClaimState): Promise<boolean> {
    const files = await Promise.all([read(this.path), read(this.#copy)]);
    return files.every(({ text }) => text !== undefined && isDeepStrictEqual(parseClaims(text), state));
  }

  /** Rejects with E_STATE_WRITE: then nothing may be done that depends on it. */
  async save(state: ClaimState): Promise<void> {
    const text = formatClaims(state);
    await this.#write(this.path, text);
    // Without the copy nothing is wrong yet.
    await this.#write(this.#copy, text).catch(() => undefined);
  }
}

async function read(path: string): Promise<{ text?: string; missing: boolean; fault: string }> {
  try {
    return { text: await readFile(path, 'utf8'), missing: false, fault: '' };
  } catch (error) {
    return { missing: (error as NodeJS.ErrnoException).code === 'ENOENT', fault: messageOf(error) };
  }
}
