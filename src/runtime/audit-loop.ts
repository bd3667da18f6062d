import type { Clock } from './clock.ts';

export interface AuditLoopOptions {
  readonly intervalMs: number;
  readonly clock: Clock;
  readonly random: () => number;
  /** Looks at everything that was written, and puts right what differs. Must not reject. */
  readonly look: () => Promise<void>;
}

/** An audit may take this part of the time. */
const share = 0.01;

/** Looks again and again whether what was written is still there, since nobody tells when it is changed by hand. */
export class AuditLoop {
  readonly #options: AuditLoopOptions;
  #cancel: () => void = () => {};
  #closed = false;

  constructor(options: AuditLoopOptions) {
    this.#options = options;
    this.#plan(0);
  }

  close(): void {
    this.#closed = true;
    this.#cancel();
  }

  #plan(lastMs: number): void {
    if (this.#closed) return;
    const { intervalMs, clock, random, look } = this.#options;
    const interval = Math.max(intervalMs, lastMs / share);
    this.#cancel = clock.after(interval * (0.9 + random() * 0.1), () => {
      const started = clock.now();
      void look().then(() => this.#plan(clock.now() - started));
    });
  }
}
