import type { ListingVisitor } from './parse.ts';
import { setDeclarations } from './schema.ts';
import { sameLines } from './table.ts';
import type { Counter } from './transaction.ts';

interface Expected {
  readonly chains: ReadonlyMap<string, readonly string[]>;
  /** Of elements. */
  readonly size: number;
  readonly data: (set: string, key: string) => string | undefined;
}

/** Whether a listing is what is expected, told line by line: nothing of it is kept but counters that count. */
export class Comparison implements ListingVisitor {
  readonly counters = new Map<string, Counter>();
  readonly #expected: Expected;
  #lines = 0;
  #linesDiffer = false;
  #elements = 0;
  #elementsDiffer = false;

  constructor(expected: Expected) {
    this.#expected = expected;
  }

  declaration(set: string, lines: readonly string[]): void {
    this.#lines += 1;
    this.#linesDiffer ||= !sameLines(lines, setDeclarations.get(set) ?? []);
  }

  chain(name: string, rules: readonly string[]): void {
    this.#lines += 1;
    this.#linesDiffer ||= !sameLines(rules, this.#expected.chains.get(name) ?? []);
  }

  element(set: string, key: string, data: string, counter: Counter | undefined): void {
    this.#elements += 1;
    this.#elementsDiffer ||= this.#expected.data(set, key) !== data;
    if (counter && counter.packets > 0) this.counters.set(`${set} ${key}`, counter);
  }

  /** To be asked at the end: what is listed once each, is equal, and is as much, is the same. */
  get sameElements(): boolean {
    return !this.#elementsDiffer && this.#elements === this.#expected.size;
  }

  get sameRules(): boolean {
    return !this.#linesDiffer && this.#lines === setDeclarations.size + this.#expected.chains.size;
  }
}
