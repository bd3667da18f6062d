import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from './clock.ts';
import type { WriteFile } from './state-disk.ts';

export interface LifeEpochOptions {
  readonly state: string;
  readonly clock: Clock;
  readonly write: WriteFile;
}

const retryMs = 10_000;

/**
 * When this process began, epoch milliseconds of the wall clock, and later than every process before it with the same
 * state folder: a clock that was set back does not make a new life look like an old one. `STATE/epoch` keeps it.
 */
export class LifeEpoch {
  readonly epoch: number;
  readonly #options: LifeEpochOptions;
  #cancel: (() => void) | undefined;
  #isClosed = false;

  private constructor(options: LifeEpochOptions, epoch: number) {
    this.#options = options;
    this.epoch = epoch;
  }

  /** Never rejects. A file that cannot be used is as none; what cannot be written is tried again. */
  static async begin(options: LifeEpochOptions): Promise<LifeEpoch> {
    const text = await readFile(pathOf(options.state), 'utf8').catch(() => '');
    const before = /^\d{1,15}\n$/.test(text) ? Number(text) : 0;
    const life = new LifeEpoch(options, Math.max(options.clock.wall(), before + 1));
    await life.#keep();
    return life;
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel?.();
  }

  async #keep(): Promise<void> {
    const { state, clock, write } = this.#options;
    try {
      await write(pathOf(state), `${this.epoch}\n`);
    } catch {
      // `write` tells.
      if (!this.#isClosed) this.#cancel = clock.after(retryMs, () => void this.#keep());
    }
  }
}

const pathOf = (state: string): string => join(state, 'epoch');
