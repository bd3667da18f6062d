import type { Entry } from './log-entry.ts';

type Change = Pick<Entry, 'name' | 'seq'>;

/** The resources of one type: by name, by prefix, and in the order in which they changed. */
export class TypeLog {
  readonly #entries = new Map<string, Entry>();
  /**
   * Ascending by seq. One that is no longer its name's newest is skipped, and dropped by `compact`. Without the entry, so
   * that superseded content is not kept until then.
   */
  #changes: Change[] = [];
  /** Prefix → the names under it; most have one. */
  readonly #prefixes = new Map<string, string | Set<string>>();
  #tombstones = 0;

  get last(): number {
    return this.#changes.at(-1)?.seq ?? 0;
  }

  get tombstones(): number {
    return this.#tombstones;
  }

  /** Changes beyond twice the names that are there: `compact` is worth its cost. */
  get superseded(): number {
    return this.#changes.length - 2 * (this.#entries.size - this.#tombstones);
  }

  get(name: string): Entry | undefined {
    return this.#entries.get(name);
  }

  all(): Iterable<Entry> {
    return this.#entries.values();
  }

  put(entry: Entry): void {
    if (this.#entries.get(entry.name)?.state === 'removed') this.#tombstones -= 1;
    if (entry.state === 'removed') this.#tombstones += 1;
    this.#entries.set(entry.name, entry);
    this.#changes.push({ name: entry.name, seq: entry.seq });
    const prefix = prefixOf(entry.name);
    if (prefix === undefined) return;
    const names = this.#prefixes.get(prefix);
    if (names instanceof Set) names.add(entry.name);
    else if (names === undefined) this.#prefixes.set(prefix, entry.name);
    else if (names !== entry.name) this.#prefixes.set(prefix, new Set([names, entry.name]));
  }

  /** Same name, seq and content, other facts. */
  replace(entry: Entry): void {
    this.#entries.set(entry.name, entry);
  }

  *since(cursor: number): IterableIterator<Entry> {
    for (let at = this.#after(cursor); at < this.#changes.length; at += 1) {
      const { name, seq } = this.#changes[at] as Change;
      const entry = this.#entries.get(name);
      if (entry?.seq === seq) yield entry;
    }
  }

  *under(prefix: string): IterableIterator<Entry> {
    const names = this.#prefixes.get(prefix) ?? [];
    for (const name of typeof names === 'string' ? [names] : names) yield this.#entries.get(name) as Entry;
  }

  /** Drops what nobody needs: superseded changes, and removals that every reader has read. */
  compact(floor: number): void {
    this.#changes = this.#changes.filter(({ name, seq }) => {
      const entry = this.#entries.get(name);
      if (entry?.seq !== seq) return false;
      if (entry.state !== 'removed' || seq > floor) return true;
      this.#forget(name);
      return false;
    });
  }

  #forget(name: string): void {
    this.#entries.delete(name);
    this.#tombstones -= 1;
    const prefix = prefixOf(name);
    if (prefix === undefined) return;
    const names = this.#prefixes.get(prefix);
    if (names instanceof Set) names.delete(name);
    if (names === name || (names instanceof Set && names.size === 0)) this.#prefixes.delete(prefix);
  }

  /** Index of the first change with a seq above `cursor`. */
  #after(cursor: number): number {
    let low = 0;
    let high = this.#changes.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#changes[middle] as Change).seq > cursor) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

/** Globs are a feature of `xdstp:` names; they replace the last segment only. */
function prefixOf(name: string): string | undefined {
  return name.startsWith('xdstp:') ? name.slice(0, name.lastIndexOf('/') + 1) : undefined;
}
