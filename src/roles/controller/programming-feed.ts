import { isDeepStrictEqual } from 'node:util';
import type { Change, Programming } from '../../model/inputs.ts';
import type { AckTracker } from '../../outputs/xds/acks.ts';
import { heldByAll } from '../../outputs/xds/programming-ledger.ts';
import type { Clock } from '../../runtime/clock.ts';
import { Coalescer } from '../../runtime/coalesce.ts';

/** Acknowledgements come in bursts, one for each node. */
const windowMs = 20;

/** What nodes hold, back into the model as records: so a Gateway's Programmed condition is compiled like all else. */
export class ProgrammingFeed {
  readonly #acks: AckTracker;
  readonly #push: (changes: readonly Change[]) => void;
  readonly #coalescer: Coalescer;
  readonly #told = new Map<string, Programming>();
  #compiled = false;

  constructor(acks: AckTracker, clock: Clock, push: (changes: readonly Change[]) => void) {
    this.#acks = acks;
    this.#push = push;
    this.#coalescer = new Coalescer(clock, windowMs, () => this.#tell());
  }

  /**
   * Generations that were programmed before this process began. The model knows of them before it compiles anything,
   * so that no status says otherwise on the way.
   */
  restore(latched: ReadonlyMap<string, number>): void {
    this.#acks.restore(latched);
    for (const [key, generation] of latched) {
      this.#told.set(key, { generation, programmed: true, message: heldByAll });
    }
    this.#push([...this.#told].map(([key, value]): Change => ({ kind: 'Programming', key, value })));
  }

  /** Everything was compiled and rendered. */
  compiled(): void {
    this.#compiled = true;
    this.look();
  }

  /** Something may have changed. Before the first compilation what is missing is not known to be missing. */
  look(): void {
    if (this.#compiled) this.#coalescer.trigger();
  }

  close(): void {
    this.#coalescer.close();
  }

  #tell(): void {
    const now = this.#acks.programming();
    const changes: Change[] = [];
    for (const [key, value] of now) {
      if (isDeepStrictEqual(this.#told.get(key), value)) continue;
      this.#told.set(key, value);
      changes.push({ kind: 'Programming', key, value });
    }
    for (const key of [...this.#told.keys()]) {
      if (now.has(key)) continue;
      this.#told.delete(key);
      changes.push({ kind: 'Programming', key, value: undefined });
    }
    this.#push(changes);
  }
}
