import { SortedMap } from './sorted-map.ts';

/** Keys that several sources name, as long as at least one does. */
export class Counted {
  readonly #bySource = new Map<string, readonly string[]>();
  readonly #counts = new SortedMap<number>();
  #keys: ReadonlySet<string> | undefined;

  /** Sorted. */
  get keys(): ReadonlySet<string> {
    this.#keys ??= new Set(this.#counts.keys());
    return this.#keys;
  }

  has(key: string): boolean {
    return this.#counts.has(key);
  }

  /** Replaces what a source names, each key once; the keys that came or went. */
  set(source: string, keys: readonly string[]): readonly string[] {
    const before = this.#bySource.get(source) ?? [];
    const changed = [
      ...keys.filter((key) => !before.includes(key) && this.#add(key, 1)),
      ...before.filter((key) => !keys.includes(key) && this.#add(key, -1)),
    ];
    if (keys.length > 0) this.#bySource.set(source, keys);
    else this.#bySource.delete(source);
    return changed;
  }

  #add(key: string, by: number): boolean {
    const before = this.#counts.get(key) ?? 0;
    if (before + by > 0) this.#counts.set(key, before + by);
    else this.#counts.delete(key);
    const changed = before === 0 || before + by === 0;
    if (changed) this.#keys = undefined;
    return changed;
  }
}
