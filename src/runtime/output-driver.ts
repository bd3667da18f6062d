import { Backoff } from './backoff.ts';
import type { Clock } from './clock.ts';
import { messageOf } from './errors.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';
import type { Output } from './output.ts';

export interface OutputDriverOptions<T> {
  /** For logs and metrics. */
  readonly name: string;
  readonly output: Output<T>;
  /** What is wanted of a key now; undefined: that it is gone. */
  readonly wanted: (key: string) => T | undefined;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
}

/**
 * Drives one output: keys that changed are brought up one after the other, the newest wish wins, and what failed is
 * tried again with a growing delay. A failing key holds up no other.
 */
export class OutputDriver<T> {
  readonly #options: OutputDriverOptions<T>;
  readonly #failures;
  readonly #pending = new Set<string>();
  readonly #waiting = new Map<string, { backoff: Backoff; cancel: (() => void) | undefined }>();
  #prune: ReadonlySet<string> | undefined;
  #running: Promise<void> | undefined;
  #closed = false;

  constructor(options: OutputDriverOptions<T>) {
    this.#options = options;
    this.#failures = options.metrics.counter({
      name: 'output_failures_total',
      help: 'failed attempts to bring an output to what is wanted',
      labels: ['output'],
    });
  }

  /** These keys may have changed. */
  touch(keys: Iterable<string>): void {
    for (const key of keys) this.#pending.add(key);
    this.#start();
  }

  /** Everything that is not in `keys` is to go. Only with a complete set. */
  prune(keys: ReadonlySet<string>): void {
    this.#prune = keys;
    this.#start();
  }

  /** Resolves when nothing is pending; what waits for another try does not count. */
  async settled(): Promise<void> {
    while (this.#running) await this.#running;
  }

  async close(): Promise<void> {
    await this.settled();
    this.#closed = true;
    for (const { cancel } of this.#waiting.values()) cancel?.();
  }

  #start(): void {
    if (this.#running || this.#closed) return;
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
      if (this.#pending.size > 0 || this.#prune) this.#start();
    });
  }

  async #run(): Promise<void> {
    await Promise.resolve();
    const keys = this.#prune;
    this.#prune = undefined;
    if (keys)
      await this.#try(
        '',
        () => this.#options.output.prune(keys),
        () => this.prune(keys),
      );
    for (const key of this.#pending) {
      this.#pending.delete(key);
      const value = this.#options.wanted(key);
      const { output } = this.#options;
      const act = () => (value === undefined ? output.delete(key) : output.update(key, value));
      await this.#try(key, act, () => this.touch([key]));
    }
  }

  async #try(key: string, act: () => Promise<void>, again: () => void): Promise<void> {
    const { name, log, clock, random } = this.#options;
    const waiting = this.#waiting.get(key);
    waiting?.cancel?.();
    try {
      await act();
      this.#waiting.delete(key);
    } catch (error) {
      const backoff = waiting?.backoff ?? new Backoff({ minMs: 100, maxMs: 30_000, random });
      this.#failures.inc({ output: name });
      log.warn({ output: name, key, error: messageOf(error) }, 'output failed, it is tried again');
      this.#waiting.set(key, {
        backoff,
        cancel: this.#closed ? undefined : clock.after(backoff.next(), again),
      });
    }
  }
}
