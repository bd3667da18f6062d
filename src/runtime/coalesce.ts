import type { Clock } from './clock.ts';

/**
 * Runs `fn` for a burst of calls: the first at once, those that follow within `windowMs` together at its end.
 * At most one run is in flight; calls during a run lead to one more. `fn` must not reject.
 */
export class Coalescer {
  readonly #clock: Clock;
  readonly #windowMs: number;
  readonly #fn: () => void | Promise<void>;
  #pending = false;
  #running = false;
  #waiting = false;
  #cancel: (() => void) | undefined;
  #closed = false;

  constructor(clock: Clock, windowMs: number, fn: () => void | Promise<void>) {
    this.#clock = clock;
    this.#windowMs = windowMs;
    this.#fn = fn;
  }

  trigger(): void {
    if (this.#closed) return;
    this.#pending = true;
    if (!this.#running && !this.#waiting) void this.#run();
  }

  close(): void {
    this.#closed = true;
    this.#cancel?.();
  }

  async #run(): Promise<void> {
    this.#pending = false;
    this.#running = true;
    try {
      await this.#fn();
    } finally {
      this.#running = false;
    }
    if (this.#closed) return;
    this.#waiting = true;
    this.#cancel = this.#clock.after(this.#windowMs, () => {
      this.#waiting = false;
      if (this.#pending) void this.#run();
    });
  }
}
