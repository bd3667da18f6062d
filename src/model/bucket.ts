import { Cell } from './graph.ts';
import { byText } from './sorted-map.ts';

/** Up to this many records a search from start to end is as fast as a map, and far smaller. */
const few = 16;

/** The records of one index bucket; read as a list in the order of their keys. */
export class Bucket extends Cell {
  /** Keys and records in turn, as long as they are few. */
  #few: unknown[] | undefined = [];
  #many: Map<string, unknown> | undefined;
  readonly #drop: () => void;
  #sorted: readonly unknown[] | undefined;

  constructor(drop: () => void) {
    super();
    this.#drop = drop;
  }

  get size(): number {
    return this.#few ? this.#few.length / 2 : (this.#many?.size ?? 0);
  }

  list(): readonly unknown[] {
    this.#sorted ??= [...this.entries()].sort(([a], [b]) => byText(a, b)).map(([, value]) => value);
    return this.#sorted;
  }

  *entries(): Generator<readonly [key: string, value: unknown]> {
    if (this.#few) {
      for (let i = 0; i < this.#few.length; i += 2) yield [this.#few[i] as string, this.#few[i + 1]];
    } else yield* this.#many ?? [];
  }

  put(key: string, value: unknown): void {
    this.#sorted = undefined;
    if (!this.#few) {
      this.#many?.set(key, value);
      return;
    }
    const i = this.#indexOf(key);
    if (i >= 0) this.#few[i + 1] = value;
    else this.#few = [...this.#few, key, value];
    if (this.#few.length > few * 2) {
      this.#many = new Map(this.entries());
      this.#few = undefined;
    }
  }

  remove(key: string): void {
    this.#sorted = undefined;
    if (this.#few) {
      const i = this.#indexOf(key);
      if (i >= 0) this.#few.splice(i, 2);
    } else this.#many?.delete(key);
    if (this.size === 0 && !this.observed) this.#drop();
  }

  override unobserved(): void {
    if (this.size === 0) this.#drop();
  }

  #indexOf(key: string): number {
    const records = this.#few ?? [];
    for (let i = 0; i < records.length; i += 2) if (records[i] === key) return i;
    return -1;
  }
}
