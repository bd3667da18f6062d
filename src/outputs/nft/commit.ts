import { NftError, type NftRunner } from './runner.ts';
import { replacement, type Step, type Transaction, transaction } from './transaction.ts';

export interface Committed {
  readonly transactions: number;
  readonly commands: number;
  readonly elements: number;
}

const none: Committed = { transactions: 0, commands: 0, elements: 0 };

/**
 * Commits steps in as few transactions as the kernel takes. Without privileges in the first user namespace the
 * socket buffer is bounded (net.core.wmem_max) and a large transaction is "Message too long"; the size that
 * went through is remembered.
 */
export class Committer {
  readonly #runner: NftRunner;
  #maxElements = Number.POSITIVE_INFINITY;

  constructor(runner: NftRunner) {
    this.#runner = runner;
  }

  /** In order; throws NftError, with what came before committed. */
  async commit(steps: readonly Step[]): Promise<Committed> {
    let done = none;
    for (let from = 0; from < steps.length; ) {
      const chunk = this.#chunk(steps, from);
      const part = transaction(chunk);
      try {
        await this.#runner.run(part.text);
      } catch (error) {
        if (!(error instanceof NftError && error.tooLong) || chunk.length === 1) throw error;
        this.#maxElements = Math.max(1, Math.floor(part.elements / 2));
        continue;
      }
      done = sum(done, part);
      from += chunk.length;
    }
    return done;
  }

  /**
   * Replaces the table in one transaction. Undefined: it is too large for one; the table is as it was.
   */
  async replace(steps: readonly Step[]): Promise<Committed | undefined> {
    const whole = replacement(steps);
    if (whole.elements > this.#maxElements) return undefined;
    try {
      await this.#runner.run(whole.text);
    } catch (error) {
      if (!(error instanceof NftError && error.tooLong)) throw error;
      this.#maxElements = Math.max(1, Math.floor(whole.elements / 2));
      return undefined;
    }
    return sum(none, whole);
  }

  #chunk(steps: readonly Step[], from: number): readonly Step[] {
    let elements = 0;
    let to = from;
    for (; to < steps.length; to++) {
      const size = (steps[to] as Step).elements.length;
      if (to > from && elements + size > this.#maxElements) break;
      elements += size;
    }
    return steps.slice(from, to);
  }
}

function sum(a: Committed, b: Transaction): Committed {
  return {
    transactions: a.transactions + 1,
    commands: a.commands + b.commands,
    elements: a.elements + b.elements,
  };
}
