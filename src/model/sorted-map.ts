/** The order of keys everywhere: by code unit, the same on every machine. */
export function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * A map with text keys that iterates in their order, whatever the order of insertion. New keys are merged when
 * it is next iterated, so that a bulk load sorts once and a change of one value costs no more than in a map.
 */
export class SortedMap<V> extends Map<string, V> {
  #order: string[] = [];
  #added: string[] = [];
  #removed = false;

  override set(key: string, value: V): this {
    if (!this.has(key)) this.#added.push(key);
    return super.set(key, value);
  }

  override delete(key: string): boolean {
    const gone = super.delete(key);
    this.#removed ||= gone;
    return gone;
  }

  override clear(): void {
    super.clear();
    this.#order = [];
    this.#added = [];
    this.#removed = false;
  }

  override keys(): MapIterator<string> {
    return this.#sorted().values();
  }

  override *values(): MapIterator<V> {
    for (const key of this.#sorted()) yield this.get(key) as V;
  }

  override *entries(): MapIterator<[string, V]> {
    for (const key of this.#sorted()) yield [key, this.get(key) as V];
  }

  override [Symbol.iterator](): MapIterator<[string, V]> {
    return this.entries();
  }

  override forEach(fn: (value: V, key: string, map: Map<string, V>) => void): void {
    for (const [key, value] of this.entries()) fn(value, key, this);
  }

  #sorted(): readonly string[] {
    if (this.#added.length === 0 && !this.#removed) return this.#order;
    const kept = this.#removed ? this.#order.filter((key) => this.has(key)) : this.#order;
    const added = [...new Set(this.#added)].filter((key) => this.has(key)).sort(byText);
    this.#order = merge(kept, added);
    this.#added = [];
    this.#removed = false;
    return this.#order;
  }
}

/** Both sorted. A key that was removed and added again between two iterations is in both: it is kept once. */
function merge(a: readonly string[], b: readonly string[]): string[] {
  if (b.length === 0) return [...a];
  const out: string[] = [];
  let i = 0;
  for (const key of b) {
    for (; i < a.length && (a[i] as string) < key; i++) out.push(a[i] as string);
    if (a[i] !== key) out.push(key);
  }
  for (; i < a.length; i++) out.push(a[i] as string);
  return out;
}
