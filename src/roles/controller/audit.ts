import type { Clock } from '../../runtime/clock.ts';
import type { Log } from '../../runtime/log.ts';
import type { Metrics } from '../../runtime/metrics.ts';

export interface ControllerAuditOptions {
  readonly intervalMs: number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Looks at everything that was written; what differs is put right and told to `repaired`. Must not reject. */
  readonly look: () => Promise<void>;
}

/** An audit may take this part of the time. */
const share = 0.01;

/** Looks again and again whether what was written is still there, since nobody tells when it is changed by hand. */
export class ControllerAudit {
  readonly #options: ControllerAuditOptions;
  readonly #repaired;
  #cancel: () => void = () => {};
  #closed = false;

  constructor(options: ControllerAuditOptions) {
    this.#options = options;
    this.#repaired = options.metrics.counter({
      name: 'drift_repaired_total',
      help: 'statuses and claims that were changed by somebody else, and put right',
    });
    this.#plan(0);
  }

  repaired(what: string): void {
    this.#repaired.inc();
    this.#options.log.warn({ what }, 'it was changed by somebody else and is put right');
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
