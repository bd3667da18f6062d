import { Backoff } from '../../runtime/backoff.ts';
import type { Clock } from '../../runtime/clock.ts';
import { messageOf } from '../../runtime/errors.ts';
import type { Log } from '../../runtime/log.ts';
import type { Metrics } from '../../runtime/metrics.ts';
import { StaleEntries, type UdpPorts } from './entry.ts';
import type { ConntrackTool } from './tool.ts';

export interface UdpReconcilerOptions {
  readonly tool: ConntrackTool;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
}

/**
 * Makes UDP clients follow their VIP: a busy client's entry never times out, so it is deleted when the endpoint
 * it leads to is gone, and made anew by the next datagram. TCP is left alone. One dump per run; what fails is
 * tried again, with what came since.
 */
export class UdpReconciler {
  readonly #o: UdpReconcilerOptions;
  readonly #backoff: Backoff;
  readonly #moved;
  readonly #failures;
  #pending = new Map<string, ReadonlySet<string>>();
  #running = false;
  #closed = false;
  #cancel: (() => void) | undefined;

  constructor(options: UdpReconcilerOptions) {
    this.#o = options;
    this.#backoff = new Backoff({ minMs: 100, maxMs: 10_000, random: options.random });
    this.#moved = options.metrics.counter({
      name: 'conntrack_moved_total',
      help: 'pairs of VIP port and endpoint whose UDP entries were deleted',
    });
    this.#failures = options.metrics.counter({
      name: 'conntrack_failures_total',
      help: 'runs of the UDP reconciler that failed and were repeated',
    });
  }

  /** Ports whose endpoints changed: a later call for the same port replaces an earlier one. */
  reconcile(ports: UdpPorts): void {
    for (const [port, endpoints] of ports) this.#pending.set(port, endpoints);
    if (this.#pending.size > 0 && !this.#running && !this.#cancel) void this.#run();
  }

  close(): void {
    this.#closed = true;
    this.#cancel?.();
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#pending.size > 0 && !this.#closed) {
      const ports = this.#pending;
      this.#pending = new Map();
      try {
        const deleted = await this.#once(ports);
        this.#backoff.reset();
        if (deleted > 0) this.#o.log.info({ pairs: deleted, ports: ports.size }, 'UDP clients moved');
      } catch (error) {
        this.#pending = new Map([...ports, ...this.#pending]);
        this.#failures.inc();
        this.#o.log.warn({ error: messageOf(error) }, 'UDP entries not reconciled');
        this.#cancel = this.#o.clock.after(this.#backoff.next(), () => {
          this.#cancel = undefined;
          void this.#run();
        });
        break;
      }
    }
    this.#running = false;
  }

  async #once(ports: UdpPorts): Promise<number> {
    const stale = new StaleEntries(ports);
    const families = new Set([...ports.keys()].map((p) => (p.includes(':') ? 6 : 4) as 4 | 6));
    for (const family of families) await this.#o.tool.list('udp', family, (entry) => stale.add(entry));
    for (const entry of stale.entries) await this.#o.tool.deleteUdp(entry);
    this.#moved.inc(stale.entries.length);
    return stale.entries.length;
  }
}
