import type { Clock } from './clock.ts';

/**
 * Runs `fn` for a burst of calls: the first at once, those that follow within `windowMs` together at its end. The first
 * window of a burst may be shorter: what belongs together often comes in two parts. At most one run is in flight; calls
 * during a run lead to one more. `fn` must not reject.
 */
export class Coalescer {
  readonly #clock: Clock;
  readonly #windowMs: number;
  readonly #firstWindowMs: number;
  readonly #fn: () => void | Promise<void>;
  #pending = false;
  #running = false;
  #waiting = false;
  #cancel: (() => void) | undefined;
  #closed = false;

  constructor(clock: Clock, windowMs: number, fn: () => void | Promise<void>, firstWindowMs = windowMs) {
    this.#clock = clock;
    this.#windowMs = windowMs;
    this.#firstWindowMs = firstWindowMs;
    this.#fn = fn;
  }

  trigger(): void {
    if (this.#closed) return;
    this.#pending = true;
    if (!this.#running && !this.#waiting) void this.#run(this.#firstWindowMs);
  }

  close(): void {
    this.#closed = true;
    this.#cancel?.();
  }

  async #run(windowMs: number): Promise<void> {
    this.#pending = false;
    this.#running = true;
    try {
      await this.#fn();
    } finally {
      this.#running = false;
    }
    if (this.#closed) return;
    this.#waiting = true;
    this.#cancel = this.#clock.after(windowMs, () => {
      this.#waiting = false;
      if (this.#pending) void this.#run(this.#windowMs);
    });
  }
}
