import { Bucket } from './bucket.ts';
import { deepEqual } from './deep-equal.ts';
import { Cell } from './graph.ts';
import { indexesOf } from './indexes.ts';
import type { Change, InputKind, Inputs } from './inputs.ts';
import { PodIndex } from './pod-index.ts';
import { byText } from './sorted-map.ts';

/** Kept among `cells` as long as somebody observes it. */
class RecordCell extends Cell {
  readonly #cells: Map<string, RecordCell>;
  readonly #key: string;

  constructor(cells: Map<string, RecordCell>, key: string) {
    super();
    this.#cells = cells;
    this.#key = key;
    cells.set(key, this);
  }

  override unobserved(): void {
    this.#cells.delete(this.#key);
  }
}

interface KindStore {
  readonly records: Map<string, unknown>;
  /** Only of records that a unit reads by key, present or not. */
  readonly cells: Map<string, RecordCell>;
  readonly indexes: Map<string, Map<string, Bucket>>;
}

/** The input records by kind and key, with the indexes that units read lists from. */
export class Store {
  readonly #kinds = new Map<InputKind, KindStore>();
  /** Units see pods through it alone. */
  readonly pods = new PodIndex();

  /** Applies one change and names the cells whose content it changed; empty when nothing did. */
  apply({ kind, key, value }: Change): ReadonlySet<Cell> {
    const changed = new Set<Cell>();
    const store = this.#kind(kind);
    const before = store.records.get(key);
    if (before === value || (value !== undefined && deepEqual(before, value))) return changed;
    if (value === undefined) store.records.delete(key);
    else store.records.set(key, value);
    const cell = store.cells.get(key);
    if (cell) changed.add(cell);
    for (const [name, bucketsOf] of indexesOf(kind)) {
      const after = new Set(value === undefined ? [] : bucketsOf(value));
      for (const bucket of before === undefined ? [] : bucketsOf(before)) {
        if (after.has(bucket)) continue;
        const left = this.#bucket(store, name, bucket);
        changed.add(left);
        left.remove(key);
      }
      for (const bucket of after) {
        const entered = this.#bucket(store, name, bucket);
        changed.add(entered);
        entered.put(key, value);
      }
    }
    if (kind === 'Pod') {
      const pod = value as Inputs['Pod'] | undefined;
      const { namespace } = (pod ?? (before as Inputs['Pod'])).metadata;
      this.pods.change(key, namespace, pod, changed);
    }
    return changed;
  }

  get<K extends InputKind>(kind: K, key: string): Inputs[K] | undefined {
    return this.#kinds.get(kind)?.records.get(key) as Inputs[K] | undefined;
  }

  has(kind: InputKind, key: string): boolean {
    return this.#kinds.get(kind)?.records.has(key) ?? false;
  }

  /** The records of a kind, in no order. */
  all<K extends InputKind>(kind: K): Iterable<Inputs[K]> {
    return (this.#kinds.get(kind)?.records.values() ?? []) as Iterable<Inputs[K]>;
  }

  /** The cell of a record, to be observed. */
  cell(kind: InputKind, key: string): Cell {
    const { cells } = this.#kind(kind);
    return cells.get(key) ?? new RecordCell(cells, key);
  }

  list(kind: InputKind, index: string, bucket: string): Bucket {
    return this.#bucket(this.#kind(kind), index, bucket);
  }

  /** How many cells are kept for records that are read or listed. */
  get size(): number {
    let size = this.pods.size;
    for (const { cells, indexes } of this.#kinds.values()) {
      size += cells.size;
      for (const buckets of indexes.values()) size += buckets.size;
    }
    return size;
  }

  /** Every record, by kind and then key, sorted. */
  *records(): Generator<readonly [kind: InputKind, key: string, value: unknown]> {
    for (const kind of [...this.#kinds.keys()].sort(byText)) {
      const { records } = this.#kind(kind);
      for (const key of [...records.keys()].sort(byText)) yield [kind, key, records.get(key)];
    }
  }

  #kind(kind: InputKind): KindStore {
    let store = this.#kinds.get(kind);
    if (!store) {
      store = { records: new Map(), cells: new Map(), indexes: new Map() };
      this.#kinds.set(kind, store);
    }
    return store;
  }

  #bucket(store: KindStore, index: string, name: string): Bucket {
    let buckets = store.indexes.get(index);
    if (!buckets) {
      buckets = new Map();
      store.indexes.set(index, buckets);
    }
    let bucket = buckets.get(name);
    if (!bucket) {
      bucket = new Bucket(buckets, name);
      buckets.set(name, bucket);
    }
    return bucket;
  }
}
