import { Cell } from './graph.ts';
import { byText } from './sorted-map.ts';

/** Up to this many records a search from start to end is as fast as a map, and far smaller. */
const few = 16;

/** Where a bucket is kept: it is deleted there when it is empty and nobody reads it. */
interface BucketHome {
  delete(name: string): unknown;
}

/** The records of one index bucket; read as a list in the order of their keys. */
export class Bucket extends Cell {
  /** Keys and records in turn, as long as they are few. */
  #few: unknown[] | undefined = [];
  #many: Map<string, unknown> | undefined;
  readonly #home: BucketHome;
  readonly #name: string;
  #list: readonly unknown[] | undefined;
  /** Of `#list`, with many records: a record that is replaced is found without sorting again. */
  #listKeys: readonly string[] | undefined;

  constructor(home: BucketHome, name: string) {
    super();
    this.#home = home;
    this.#name = name;
  }

  get size(): number {
    return this.#few ? this.#few.length / 2 : (this.#many?.size ?? 0);
  }

  list(): readonly unknown[] {
    if (!this.#list) {
      const sorted = [...this.entries()].sort(([a], [b]) => byText(a, b));
      this.#list = sorted.map(([, value]) => value);
      this.#listKeys = this.#many && sorted.map(([key]) => key);
    }
    return this.#list;
  }

  *entries(): Generator<readonly [key: string, value: unknown]> {
    if (this.#few) {
      for (let i = 0; i < this.#few.length; i += 2) yield [this.#few[i] as string, this.#few[i + 1]];
    } else yield* this.#many ?? [];
  }

  put(key: string, value: unknown): void {
    if (!this.#few) {
      const known = this.#many?.has(key) ?? false;
      this.#many?.set(key, value);
      if (known) this.#replace(key, value);
      else this.#list = undefined;
      return;
    }
    this.#list = undefined;
    const i = this.#indexOf(key);
    if (i >= 0) this.#few[i + 1] = value;
    else this.#few = [...this.#few, key, value];
    if (this.#few.length > few * 2) {
      this.#many = new Map(this.entries());
      this.#few = undefined;
    }
  }

  remove(key: string): void {
    this.#list = undefined;
    if (this.#few) {
      const i = this.#indexOf(key);
      if (i >= 0) this.#few.splice(i, 2);
    } else this.#many?.delete(key);
    if (this.size === 0 && !this.observed) this.#home.delete(this.#name);
  }

  override unobserved(): void {
    if (this.size === 0) this.#home.delete(this.#name);
  }

  #replace(key: string, value: unknown): void {
    const keys = this.#listKeys;
    if (!this.#list || !keys) return;
    let low = 0;
    for (let high = keys.length; low < high; ) {
      const middle = (low + high) >> 1;
      if ((keys[middle] as string) < key) low = middle + 1;
      else high = middle;
    }
    this.#list = this.#list.with(low, value);
  }

  #indexOf(key: string): number {
    const records = this.#few ?? [];
    for (let i = 0; i < records.length; i += 2) if (records[i] === key) return i;
    return -1;
  }
}
