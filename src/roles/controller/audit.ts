import { AuditLoop, type AuditLoopOptions } from '../../runtime/audit-loop.ts';
import type { Log } from '../../runtime/log.ts';
import type { Metrics } from '../../runtime/metrics.ts';

export interface ControllerAuditOptions extends AuditLoopOptions {
  readonly log: Log;
  readonly metrics: Metrics;
}

/** Audits what the controller wrote; whoever finds that somebody else changed it says so to `repaired`. */
export class ControllerAudit {
  readonly #log: Log;
  readonly #repaired;
  readonly #loop: AuditLoop;

  constructor(options: ControllerAuditOptions) {
    this.#log = options.log;
    this.#repaired = options.metrics.counter({
      name: 'drift_repaired_total',
      help: 'statuses and claims that were changed by somebody else, and put right',
    });
    this.#loop = new AuditLoop(options);
  }

  repaired(what: string): void {
    this.#repaired.inc();
    this.#log.warn({ what }, 'it was changed by somebody else and is put right');
  }

  close(): void {
    this.#loop.close();
  }
}
