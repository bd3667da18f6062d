import { Backoff } from './backoff.ts';
import type { Clock } from './clock.ts';

export interface KeyedRunnerOptions {
  readonly clock: Clock;
  readonly random: () => number;
  /** How many keys at once. */
  readonly concurrency: number;
  /** Brings one key to what is wanted now. A rejection is tried again, later and later. */
  readonly run: (key: string) => Promise<void>;
  readonly onError: (key: string, error: unknown) => void;
}

/**
 * Runs work by key: never twice at once for one key, again when it is triggered while it runs, and again after a
 * failure. A key that fails holds back no other.
 */
export class KeyedRunner {
  readonly #options: KeyedRunnerOptions;
  readonly #waiting = new Set<string>();
  readonly #running = new Set<string>();
  readonly #failed = new Map<string, { backoff: Backoff; cancel: () => void }>();
  #idle: (() => void)[] = [];
  #closed = false;

  constructor(options: KeyedRunnerOptions) {
    this.#options = options;
  }

  trigger(key: string): void {
    if (this.#closed) return;
    this.#waiting.add(key);
    this.#pump();
  }

  /** Keys that wait, run, or will be tried again. */
  get pending(): number {
    return new Set([...this.#waiting, ...this.#running, ...this.#failed.keys()]).size;
  }

  /** Resolves when nothing waits or runs; what failed is tried again later. */
  idle(): Promise<void> {
    if (this.#waiting.size + this.#running.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  /** Takes nothing more; resolves when what runs has ended. */
  close(): Promise<void> {
    this.#closed = true;
    this.#waiting.clear();
    for (const { cancel } of this.#failed.values()) cancel();
    this.#failed.clear();
    return this.idle();
  }

  #pump(): void {
    for (const key of this.#waiting) {
      if (this.#running.size >= this.#options.concurrency) break;
      if (this.#running.has(key)) continue;
      this.#waiting.delete(key);
      this.#running.add(key);
      void this.#run(key);
    }
    if (this.#waiting.size + this.#running.size > 0) return;
    const resolvers = this.#idle;
    this.#idle = [];
    for (const resolve of resolvers) resolve();
  }

  async #run(key: string): Promise<void> {
    this.#failed.get(key)?.cancel();
    try {
      await this.#options.run(key);
      this.#failed.delete(key);
    } catch (error) {
      this.#options.onError(key, error);
      if (!this.#closed) this.#retry(key);
    }
    this.#running.delete(key);
    this.#pump();
  }

  #retry(key: string): void {
    const { clock, random } = this.#options;
    const backoff = this.#failed.get(key)?.backoff ?? new Backoff({ minMs: 100, maxMs: 30_000, random });
    this.#failed.set(key, { backoff, cancel: clock.after(backoff.next(), () => this.trigger(key)) });
  }
}
