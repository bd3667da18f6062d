import { deepEqual } from './deep-equal.ts';

/** Something that a unit can read. */
export class Cell {
  readonly observers = new Set<UnitNode>();
  /** The run that read it last: most repeated reads are noticed by it. */
  seenBy = 0;

  /** The last reader is gone. */
  unobserved(): void {}
}

/**
 * A pure function of what it reads. `key` says which one of its kind; the same key and the same reads give the
 * same value. It never throws for what a user wrote.
 */
export interface Unit<R, V> {
  readonly name: string;
  readonly compute: (reader: R, key: string) => V;
}

/** Clean: the value holds. Check: something further up may have changed. Dirty: something read has changed. */
const clean = 0;
const check = 1;
const dirty = 2;

/** One unit with one key: its last value, and what it read to get there. */
export class UnitNode extends Cell {
  readonly unit: Unit<unknown, unknown>;
  readonly key: string;
  readonly #graph: Graph;
  state: number = dirty;
  value: unknown = undefined;
  root = false;
  running = false;
  reads: Cell[] = [];
  /** The earliest time that a read found not reached; Infinity: none. */
  deadline = Number.POSITIVE_INFINITY;

  constructor(graph: Graph, unit: Unit<unknown, unknown>, key: string) {
    super();
    this.#graph = graph;
    this.unit = unit;
    this.key = key;
  }

  override unobserved(): void {
    this.#graph.releasable(this);
  }
}

export type MakeReader = (node: UnitNode, record: (cell: Cell) => void) => unknown;

/**
 * Keeps the values of units. When cells change, only the units that read them run again, and a value that comes
 * out equal stops the wave. Units that nobody reads and that are no roots are forgotten.
 */
export class Graph {
  readonly #makeReader: MakeReader;
  readonly #nodes = new Map<Unit<never, unknown>, Map<string, UnitNode>>();
  #pending = new Set<UnitNode>();
  #releasable = new Set<UnitNode>();
  #timed = new Set<UnitNode>();
  /** Roots that threw in the last `settle`. */
  #failed = new Set<UnitNode>();
  #lastRun = 0;
  /** How often a unit ran, by its name: for tests and metrics. */
  readonly runs = new Map<string, number>();

  constructor(makeReader: MakeReader) {
    this.#makeReader = makeReader;
  }

  /** The value of a unit is wanted from now on, or no more. */
  setRoot<R>(unit: Unit<R, unknown>, key: string, wanted: boolean): void {
    const node = wanted ? this.#node(unit, key) : this.#find(unit, key);
    if (!node || node.root === wanted) return;
    node.root = wanted;
    if (wanted) this.#pending.add(node);
    else {
      this.#pending.delete(node);
      if (node.observers.size === 0) this.#releasable.add(node);
    }
  }

  invalidate(cell: Cell): void {
    for (const observer of cell.observers) this.#mark(observer, dirty);
  }

  /** Everything that waits for a time up to `now` runs again in the next `settle`. */
  timePasses(now: number): void {
    for (const node of this.#timed) if (node.deadline <= now) this.#mark(node, dirty);
  }

  get nextDeadline(): number | undefined {
    let next = Number.POSITIVE_INFINITY;
    for (const node of this.#timed) next = Math.min(next, node.deadline);
    return Number.isFinite(next) ? next : undefined;
  }

  /**
   * Brings the roots up to date and reports those with a new value, or with any after they had failed. A unit that throws is a fault of the
   * program: its roots keep their last value, and are tried again at the next call.
   */
  settle(
    changed: (unit: Unit<never, unknown>, key: string, value: unknown) => void,
    failed: (unit: Unit<never, unknown>, key: string, error: unknown) => void,
  ): void {
    const failures = new Set<UnitNode>();
    while (this.#pending.size > 0) {
      const batch = this.#pending;
      this.#pending = new Set();
      for (const node of batch) {
        if (!node.root) continue;
        const before = node.value;
        try {
          this.#refresh(node);
        } catch (error) {
          failures.add(node);
          failed(node.unit, node.key, error);
          continue;
        }
        if (node.value !== before || this.#failed.has(node)) changed(node.unit, node.key, node.value);
      }
    }
    this.#failed = failures;
    for (const node of failures) this.#pending.add(node);
    this.#release();
  }

  /** Reads a unit on behalf of another. */
  read<R, V>(unit: Unit<R, V>, key: string, record: (cell: Cell) => void): V {
    const node = this.#node(unit, key);
    this.#refresh(node);
    record(node);
    return node.value as V;
  }

  releasable(node: UnitNode): void {
    if (!node.root) this.#releasable.add(node);
  }

  #find(unit: Unit<never, unknown>, key: string): UnitNode | undefined {
    return this.#nodes.get(unit)?.get(key);
  }

  #node(unit: Unit<never, unknown>, key: string): UnitNode {
    let ofUnit = this.#nodes.get(unit);
    if (!ofUnit) {
      ofUnit = new Map();
      this.#nodes.set(unit, ofUnit);
    }
    let node = ofUnit.get(key);
    if (!node) {
      node = new UnitNode(this, unit as Unit<unknown, unknown>, key);
      ofUnit.set(key, node);
    }
    return node;
  }

  #mark(node: UnitNode, state: number): void {
    if (node.state >= state) return;
    const before = node.state;
    node.state = state;
    if (node.root) this.#pending.add(node);
    if (before === clean) for (const observer of node.observers) this.#mark(observer, check);
  }

  #refresh(node: UnitNode): void {
    if (node.state === check) {
      for (const cell of node.reads) {
        if (cell instanceof UnitNode) this.#refresh(cell);
        // A changed cell has marked its observers, this one included.
        if ((node.state as number) === dirty) break;
      }
      if (node.state === check) node.state = clean;
    }
    if (node.state === dirty) this.#run(node);
  }

  #run(node: UnitNode): void {
    if (node.running) throw new Error(`unit ${node.unit.name} ${node.key} reads itself`);
    const reads: Cell[] = [];
    const run = ++this.#lastRun;
    node.running = true;
    node.deadline = Number.POSITIVE_INFINITY;
    let value: unknown;
    try {
      value = node.unit.compute(
        this.#makeReader(node, (cell) => {
          if (cell.seenBy !== run) reads.push(cell);
          cell.seenBy = run;
        }),
        node.key,
      );
    } finally {
      node.running = false;
      this.#observe(node, reads);
      if (node.deadline < Number.POSITIVE_INFINITY) this.#timed.add(node);
      else this.#timed.delete(node);
    }
    this.runs.set(node.unit.name, (this.runs.get(node.unit.name) ?? 0) + 1);
    node.state = clean;
    if (node.value !== undefined || value !== undefined) {
      if (deepEqual(node.value, value)) return;
      node.value = value;
      for (const observer of node.observers) this.#mark(observer, dirty);
    }
  }

  #observe(node: UnitNode, reads: Cell[]): void {
    const before = node.reads;
    node.reads = reads;
    if (before.length === reads.length && before.every((cell, i) => cell === reads[i])) return;
    for (const cell of reads) cell.observers.add(node);
    const kept = new Set(reads);
    for (const cell of before) {
      if (kept.has(cell)) continue;
      cell.observers.delete(node);
      if (cell.observers.size === 0) cell.unobserved();
    }
  }

  #release(): void {
    while (this.#releasable.size > 0) {
      const batch = this.#releasable;
      this.#releasable = new Set();
      for (const node of batch) {
        if (node.root || node.observers.size > 0) continue;
        this.#nodes.get(node.unit)?.delete(node.key);
        this.#timed.delete(node);
        this.#observe(node, []);
      }
    }
  }
}
