import { messageOf } from './errors.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';
import { writeAtomic } from './write-atomic.ts';

/** Writes a file as `writeAtomic` does. */
export type WriteFile = typeof writeAtomic;

/**
 * The disk that a role keeps its state on, and what of it could not be written the last time it was tried. Whoever
 * writes tries again; nothing stops for it.
 */
export class StateDisk {
  readonly #log: Log;
  readonly #faults = new Map<string, string>();
  readonly #kinds = new Set<string>();

  constructor(options: { readonly log: Log; readonly metrics: Metrics }) {
    this.#log = options.log;
    options.metrics.gauge({
      name: 'state_unwritten',
      help: '1 while what is to be kept on disk could not be written the last time, by what it is',
      labels: ['what'],
      collect: (gauge) => {
        for (const what of this.#kinds) gauge.set({ what }, this.#faults.has(what) ? 1 : 0);
      },
    });
  }

  /** What could not be written, and why. */
  get faults(): readonly string[] {
    return [...this.#faults].map(([what, message]) => `${what} cannot be written: ${message}`);
  }

  /** Writes files of one kind, named as in the metric. */
  writer(what: string): WriteFile {
    this.#kinds.add(what);
    return async (...file) => {
      try {
        await writeAtomic(...file);
      } catch (error) {
        if (!this.#faults.has(what))
          this.#log.error({ what, error: messageOf(error) }, 'state cannot be written; it is tried again');
        this.#faults.set(what, messageOf(error));
        throw error;
      }
      if (this.#faults.delete(what)) this.#log.info({ what }, 'state is written again');
    };
  }
}
