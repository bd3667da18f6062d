import type { Status } from '../../model/compiled.ts';
import type { Clock } from '../../runtime/clock.ts';
import { messageOf } from '../../runtime/errors.ts';
import { KeyedRunner } from '../../runtime/keyed-runner.ts';
import type { Log } from '../../runtime/log.ts';
import { FileStatus } from './file-status.ts';

export interface StatusWriterOptions {
  readonly stateFolder: string;
  readonly controllerName: string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
}

/** Keeps the status files of a state folder as the model wants them. Calls return at once; faults are retried. */
export class StatusWriter {
  readonly #log: Log;
  readonly #files: FileStatus;
  readonly #runner: KeyedRunner;
  #wanted: ReadonlyMap<string, Status> = new Map();

  constructor({ log, random, ...options }: StatusWriterOptions) {
    this.#log = log;
    this.#files = new FileStatus({ ...options, onDue: (key) => this.#runner.trigger(key) });
    this.#runner = new KeyedRunner({
      clock: options.clock,
      random,
      concurrency: 8,
      run: (key) => {
        const status = this.#wanted.get(key);
        return status ? this.#files.update(key, status) : this.#files.delete(key);
      },
      onError: (key, error) => log.warn({ key, error: messageOf(error) }, 'a status was not written'),
    });
  }

  /** `statuses`: all that are wanted. `touched`: those that were set or are gone since the last call. */
  apply(statuses: ReadonlyMap<string, Status>, touched: Iterable<string>): void {
    this.#wanted = statuses;
    for (const key of touched) this.#runner.trigger(key);
  }

  /** Removes what an earlier process left behind. Only when all sources are complete. */
  async prune(): Promise<void> {
    try {
      await this.#files.prune(new Set(this.#wanted.keys()));
    } catch (error) {
      this.#log.warn({ error: messageOf(error) }, 'old statuses were not removed');
    }
  }

  idle(): Promise<void> {
    return this.#runner.idle();
  }

  async close(): Promise<void> {
    await this.#runner.close();
    this.#files.close();
  }
}
