import type { Log } from './log.ts';

/** What a role runs, closed in reverse order of `add`. */
export class Lifecycle {
  readonly #closers: { name: string; close: () => unknown }[] = [];
  readonly #log: Log;
  readonly signal: AbortSignal;
  readonly #abort = new AbortController();

  constructor(log: Log) {
    this.#log = log;
    this.signal = this.#abort.signal;
  }

  add(name: string, close: () => unknown): void {
    this.#closers.push({ name, close });
  }

  /** Resolves with what `start` gives. Where it throws, what it had added is closed before the error goes on. */
  async closingOnThrow<T>(start: () => Promise<T>): Promise<T> {
    try {
      return await start();
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    if (this.signal.aborted) return;
    this.#abort.abort();
    for (const { name, close } of this.#closers.reverse()) {
      try {
        await close();
      } catch (error) {
        this.#log.warn({ part: name, error: String(error) }, 'close failed');
      }
    }
  }

  /** Resolves after SIGINT or SIGTERM, with everything closed. A second signal ends the process at once. */
  async untilSignal(): Promise<void> {
    const name = await new Promise<string>((resolve) => {
      for (const s of ['SIGINT', 'SIGTERM'] as const) process.once(s, () => resolve(s));
    });
    this.#log.info({ signal: name }, 'stopping');
    for (const s of ['SIGINT', 'SIGTERM'] as const) process.once(s, () => process.exit(1));
    await this.close();
  }
}
