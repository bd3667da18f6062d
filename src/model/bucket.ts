import { Cell } from './graph.ts';
import { byText } from './sorted-map.ts';

/** The records of one index bucket; read as a list in the order of their keys. */
export class Bucket extends Cell {
  readonly #records = new Map<string, unknown>();
  readonly #drop: () => void;
  #sorted: readonly unknown[] | undefined;

  constructor(drop: () => void) {
    super();
    this.#drop = drop;
  }

  get size(): number {
    return this.#records.size;
  }

  list(): readonly unknown[] {
    this.#sorted ??= [...this.#records].sort(([a], [b]) => byText(a, b)).map(([, value]) => value);
    return this.#sorted;
  }

  entries(): Iterable<[string, unknown]> {
    return this.#records;
  }

  put(key: string, value: unknown): void {
    this.#records.set(key, value);
    this.#sorted = undefined;
  }

  remove(key: string): void {
    this.#records.delete(key);
    this.#sorted = undefined;
    if (this.#records.size === 0 && this.observers.size === 0) this.#drop();
  }

  override unobserved(): void {
    if (this.#records.size === 0) this.#drop();
  }
}
