import type { Ir } from '../../model/ir.ts';
import type { UdpReconciler } from '../../outputs/conntrack/reconciler.ts';
import type { NftOutput } from '../../outputs/nft/apply.ts';
import type { TouchedKeys } from '../../outputs/nft/render.ts';
import { type SelfTest, selfTest } from '../../outputs/nft/self-test.ts';
import { allUdp } from '../../outputs/nft/udp-changes.ts';
import { Backoff } from '../../runtime/backoff.ts';
import { messageOf } from '../../runtime/errors.ts';
import type { RoleContext } from '../../runtime/run-role.ts';
import type { Applied, IrSource } from '../../sources/xds/ir-source.ts';

export interface NodeProgrammingOptions extends RoleContext {
  readonly source: IrSource;
  readonly output: NftOutput;
  readonly udp: UdpReconciler;
  /** Prefix that enters the network namespace of the node. */
  readonly enter: readonly string[];
}

/**
 * What of the source the kernel of this node holds. A table that an earlier agent left stays as it is until the
 * state is complete; where there is none, what is there is programmed at once.
 */
export class NodeProgramming {
  readonly #options: NodeProgrammingOptions;
  readonly #backoff: Backoff;
  /** Whether an earlier agent left a table. */
  readonly #found: Promise<boolean>;
  #held: Ir | undefined;
  #complete = false;
  #saidWaiting = false;
  #tested: SelfTest | undefined;
  #closed = false;
  #cancelRetry = (): void => {};

  constructor(options: NodeProgrammingOptions) {
    this.#options = options;
    this.#backoff = new Backoff({ minMs: 100, maxMs: 10_000, random: options.random });
    this.#found = options.output.inspect().catch((error: unknown) => {
      options.log.warn({ error: messageOf(error) }, 'the table that is there cannot be read');
      return true;
    });
  }

  /** As last programmed by us. */
  get held(): Ir | undefined {
    return this.#held;
  }

  /** A complete state was programmed once. */
  get isComplete(): boolean {
    return this.#complete;
  }

  get selfTest(): SelfTest | undefined {
    return this.#tested;
  }

  /** Nothing is acknowledged before the kernel holds it. */
  async apply(ir: Ir, touched: TouchedKeys): Promise<Applied> {
    const { source, output, log, clock } = this.#options;
    // Of this representation: more may come while we wait.
    const { complete } = source;
    if (!this.#complete && !complete && (await this.#found)) {
      if (!this.#saidWaiting) log.info({}, 'the table of an earlier agent stays until the state is complete');
      this.#saidWaiting = true;
      return 'later';
    }
    try {
      const refused = await output.update(ir, touched);
      this.#backoff.reset();
      this.#held = ir;
      this.#tested ??= await this.#prove();
      this.#complete ||= complete;
      return refused;
    } catch (error) {
      if (this.#closed) return 'later';
      const ms = this.#backoff.next();
      log.error({ error: messageOf(error), retryMs: ms }, 'the state cannot be programmed');
      this.#cancelRetry = clock.after(ms, () => source.poke());
      return 'later';
    }
  }

  /** Puts right what somebody else changed. */
  async audit(): Promise<void> {
    const { output, udp, log } = this.#options;
    try {
      await output.audit();
      udp.reconcile(allUdp(output.wanted.ports.values()));
    } catch (error) {
      log.warn({ error: messageOf(error) }, 'the table cannot be audited');
    }
  }

  close(): void {
    this.#closed = true;
    this.#cancelRetry();
  }

  /** Traffic of pods passes the table, or the controller is told that it does not. */
  async #prove(): Promise<SelfTest> {
    const { source, log, metrics, enter } = this.#options;
    const test = await selfTest({ command: enter });
    const bypassed = test.result === 'bypassed';
    metrics
      .gauge({ name: 'data_plane_bypassed', help: '1 if traffic of pods does not pass our table' })
      .set(bypassed ? 1 : 0);
    if (bypassed) {
      log.error({}, `self-test: ${test.message}`);
      source.announce({ bypassed: true });
    } else {
      log.info({ result: test.result }, `self-test: ${test.message}`);
    }
    return test;
  }
}
