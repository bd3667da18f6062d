import { expect } from 'vitest';
import type { FailedRequest } from '../../src/cli/playground/load-plan.ts';
import { type Load, startLoad } from '../../src/cli/playground/load-process.ts';
import type { Namespace } from '../../src/cli/playground/namespace.ts';
import { rcodes } from '../../src/wire/dns/codes.ts';
import type { DnsClient } from './dns-client.ts';

/** Where endpoints of a VIP are, as seen by its clients: what a cut of the data path can take from them. */
export type Reach = 'local' | 'remote' | 'both';

/** A time during which packets between clusters were dropped. Epoch milliseconds. */
interface CutWindow {
  readonly from: number;
  /** Packets pass again. */
  healed: number;
  /** Every node sends to the other cluster's endpoints again. */
  restored: number;
}

interface Client {
  readonly name: string;
  readonly reach: Reach;
  readonly load: Load;
  readonly failures: FailedRequest[];
}

/**
 * Connections all the time, and which of them must not fail: each one, but those that were under way while packets to
 * some endpoints of their VIP were dropped. The client cannot know to which endpoint the kernel sent it. A VIP with no
 * endpoint but those is also excused until nodes send there again: refusing is right meanwhile.
 */
export class FaultTraffic {
  readonly #clients: Client[] = [];
  readonly #cuts: CutWindow[] = [];

  add(
    name: string,
    host: Namespace,
    reach: Reach,
    to: { readonly host: string; readonly port: number; readonly protocol: 'TCP' | 'UDP' },
  ): void {
    const failures: FailedRequest[] = [];
    const plan = { ...to, rate: 20, concurrency: 250, timeoutMs: 10_000, tellFailures: true };
    const load = startLoad(host, plan, undefined, (failed) => failures.push(failed));
    this.#clients.push({ name, reach, load, failures });
  }

  /** Packets between clusters are dropped from now on. */
  cut(): { healed(): void; restored(): void } {
    const window: CutWindow = {
      from: Date.now(),
      healed: Number.POSITIVE_INFINITY,
      restored: Number.POSITIVE_INFINITY,
    };
    this.#cuts.push(window);
    return {
      healed: () => {
        window.healed = Date.now();
      },
      restored: () => {
        window.restored = Date.now();
      },
    };
  }

  /** Failures that have no excuse so far. */
  get failures(): readonly string[] {
    return this.#clients.flatMap(({ name, reach, failures }) =>
      failures
        .filter((failed) => !this.#isExcused(reach, failed))
        .map(
          ({ begun, ended, reason }) =>
            `${new Date(begun).toISOString()} ${name}: ${reason} after ${ended - begun} ms`,
        ),
    );
  }

  #isExcused(reach: Reach, { begun, ended }: FailedRequest): boolean {
    if (reach === 'local') return false;
    return this.#cuts.some(
      ({ from, healed, restored }) => ended >= from && begun <= (reach === 'remote' ? restored : healed),
    );
  }

  /** Ends it; resolves with how many requests were made and how many failed with an excuse. */
  async stop(): Promise<{ readonly requests: number; readonly excused: number }> {
    const results = await Promise.all(this.#clients.map(({ load }) => load.stop()));
    for (const { requests } of results) expect(requests).toBeGreaterThan(0);
    const failed = results.reduce((sum, r) => sum + r.failed, 0);
    return {
      requests: results.reduce((sum, r) => sum + r.requests, 0),
      excused: failed - this.failures.length,
    };
  }
}

/** Asks a cluster's dns all the time. What has a name never has none, whatever state dns is in. */
export class DnsWatch {
  readonly #client: DnsClient;
  readonly #names: ReadonlyMap<string, string>;
  readonly #done: Promise<void>;
  #stopped = false;
  answered = 0;
  /** Answers that are never right. */
  readonly wrong: string[] = [];

  /** `names`: name → its address. */
  constructor(client: DnsClient, names: ReadonlyMap<string, string>) {
    this.#client = client;
    this.#names = names;
    this.#done = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#done;
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      for (const [name, address] of this.#names) {
        // No answer is what a dead process gives; a resolver asks again.
        const answer = await this.#client.addresses(name).catch(() => undefined);
        if (answer === undefined) continue;
        this.answered += 1;
        // A process that has been told nothing yet says so.
        if (answer !== rcodes.SERVFAIL && String(answer) !== address) {
          this.wrong.push(`${new Date().toISOString()} ${name}: expected ${address}, found ${answer}`);
        }
      }
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
  }
}
