import type { Compiled, Touched } from '../../model/compiled.ts';
import type { Change } from '../../model/inputs.ts';
import type { Model } from '../../model/model.ts';
import type { Clock } from '../../runtime/clock.ts';
import { Coalescer } from '../../runtime/coalesce.ts';
import { messageOf } from '../../runtime/errors.ts';
import type { Log } from '../../runtime/log.ts';
import type { Metrics } from '../../runtime/metrics.ts';

export interface CompileLoopOptions {
  readonly model: Model;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Takes what the model says now, in order; must not throw. `touched` undefined: everything. */
  readonly onCompiled: (compiled: Compiled, touched: Touched | undefined) => void;
}

/** While changes keep coming they wait this long, so that a burst is compiled few times. */
const windowMs = 50;
/** A cluster's counts and its endpoints come from a relay one after the other. */
const firstWindowMs = 5;

/**
 * Runs the model over what sources say. Nothing is compiled before `start`: until every local source is complete,
 * what is absent is not known to be absent.
 */
export class CompileLoop {
  readonly #options: CompileLoopOptions;
  readonly #coalescer: Coalescer;
  readonly #seconds;
  #queue: Change[] = [];
  #started = false;
  #first = true;
  #cancelDeadline: (() => void) | undefined;

  constructor(options: CompileLoopOptions) {
    this.#options = options;
    this.#coalescer = new Coalescer(options.clock, windowMs, () => this.#compile(), firstWindowMs);
    this.#seconds = options.metrics.histogram({
      name: 'compile_seconds',
      help: 'time to compile a batch of changes',
      buckets: [0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5],
    });
  }

  push(changes: readonly Change[]): void {
    if (changes.length === 0) return;
    for (const change of changes) this.#queue.push(change);
    if (this.#started) this.#coalescer.trigger();
  }

  /** Compiles what has been pushed so far, at once, and everything that follows. */
  start(): void {
    this.#started = true;
    this.#coalescer.trigger();
  }

  close(): void {
    this.#coalescer.close();
    this.#cancelDeadline?.();
  }

  #compile(): void {
    const { model, clock, log } = this.#options;
    const changes = this.#queue;
    this.#queue = [];
    const before = performance.now();
    try {
      const touched = model.update(changes, clock.now());
      const ms = performance.now() - before;
      this.#seconds.observe(ms / 1000);
      const counts = Object.fromEntries(Object.entries(touched).map(([table, keys]) => [table, keys.size]));
      if (changes.length > 0)
        log.info({ changes: changes.length, ...counts, ms: Math.round(ms * 10) / 10 }, 'compiled');
      this.#options.onCompiled(model.compiled, this.#first ? undefined : touched);
      this.#first = false;
    } catch (error) {
      log.error(
        { error: messageOf(error), stack: error instanceof Error ? error.stack : '' },
        'compiling failed',
      );
    }
    this.#plan();
  }

  #plan(): void {
    const { model, clock } = this.#options;
    this.#cancelDeadline?.();
    if (model.nextDeadline === undefined) return;
    // Timers of Node hold 31 bits.
    const ms = Math.min(Math.max(0, model.nextDeadline - clock.now()), 3_600_000);
    this.#cancelDeadline = clock.after(ms, () => this.#coalescer.trigger());
  }
}
