import { deepEqual } from './deep-equal.ts';

/** Something that a unit can read. */
export class Cell {
  /** Most cells have one observer: a set is made for the second. */
  #observers: UnitNode | Set<UnitNode> | undefined;
  /** The run that read it last: most repeated reads are noticed by it. */
  seenBy = 0;

  get observed(): boolean {
    return this.#observers !== undefined;
  }

  observe(node: UnitNode): void {
    const now = this.#observers;
    if (now === undefined) this.#observers = node;
    else if (now instanceof Set) now.add(node);
    else if (now !== node) this.#observers = new Set([now, node]);
  }

  unobserve(node: UnitNode): void {
    const now = this.#observers;
    if (now instanceof Set) {
      now.delete(node);
      if (now.size === 0) this.#observers = undefined;
    } else if (now === node) this.#observers = undefined;
    if (this.#observers === undefined) this.unobserved();
  }

  eachObserver(fn: (node: UnitNode) => void): void {
    const now = this.#observers;
    if (now instanceof Set) now.forEach(fn);
    else if (now !== undefined) fn(now);
  }

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

type AnyUnit = Unit<never, unknown>;

/**
 * Clean: the value holds. Check: something further up may have changed. Dirty: something read has changed. Running: it
 * is being computed.
 */
const clean = 0;
const check = 1;
const dirty = 2;
const running = 3;

/** One unit with one key: its last value, and what it read to get there. There are many: it has no field too much. */
export class UnitNode extends Cell {
  readonly unit: AnyUnit;
  readonly key: string;
  readonly #graph: Graph;
  state: number = dirty;
  value: unknown = undefined;
  root = false;
  /** The value that was last reported as a root's. */
  reported: unknown = undefined;
  reads: readonly Cell[] = noCells;

  constructor(graph: Graph, unit: AnyUnit, key: string) {
    super();
    this.#graph = graph;
    this.unit = unit;
    this.key = key;
  }

  override unobserved(): void {
    this.#graph.releasable(this);
  }
}

const noCells: readonly Cell[] = [];

/** A run of a unit. */
interface Run {
  readonly id: number;
  /** Where its reads begin among those of all runs under way. */
  readonly from: number;
  /** The earliest time that a read found not reached; Infinity: none. */
  deadline: number;
}

export type Report<T> = (unit: AnyUnit, key: string, about: T) => void;

/**
 * Keeps the values of units. When cells change, only the units that read them run again, and a value that comes
 * out equal stops the wave. Units that nobody reads and that are no roots are forgotten.
 */
export class Graph {
  readonly #reader: unknown;
  readonly #nodes = new Map<AnyUnit, Map<string, UnitNode>>();
  #pending = new Set<UnitNode>();
  #releasable = new Set<UnitNode>();
  /** Nodes that wait for a time. */
  readonly #timed = new Map<UnitNode, number>();
  /** Roots that threw in the last `settle`. */
  #failed = new Set<UnitNode>();
  #run: Run | undefined;
  #runs = 0;
  /** What the runs under way have read so far, the innermost one's last. */
  readonly #reads: Cell[] = [];
  /** How often a unit ran, by its name: for tests and metrics. */
  readonly runs = new Map<string, number>();

  /** `reader` is what units are given; it must call `record` for each cell that is read through it. */
  constructor(makeReader: (graph: Graph) => unknown) {
    this.#reader = makeReader(this);
  }

  /** The value of a unit is wanted from now on, or no more. */
  setRoot<R>(unit: Unit<R, unknown>, key: string, wanted: boolean): void {
    const node = wanted ? this.#node(unit, key) : this.#nodes.get(unit)?.get(key);
    if (!node || node.root === wanted) return;
    node.root = wanted;
    node.reported = undefined;
    if (wanted) this.#pending.add(node);
    else {
      this.#pending.delete(node);
      if (!node.observed) this.#releasable.add(node);
    }
  }

  invalidate(cell: Cell): void {
    cell.eachObserver((observer) => this.#mark(observer, dirty));
  }

  /** Everything that waits for a time up to `now` runs again in the next `settle`. */
  timePasses(now: number): void {
    for (const [node, deadline] of this.#timed) if (deadline <= now) this.#mark(node, dirty);
  }

  get nextDeadline(): number | undefined {
    let next = Number.POSITIVE_INFINITY;
    for (const deadline of this.#timed.values()) next = Math.min(next, deadline);
    return Number.isFinite(next) ? next : undefined;
  }

  /**
   * Brings the roots up to date and reports those with a new value, or with any after they had failed. A unit
   * that throws is a fault of the program: its roots keep their last value, and are tried again at the next call.
   */
  settle(changed: Report<unknown>, failed: Report<unknown>): void {
    const failures = new Set<UnitNode>();
    while (this.#pending.size > 0) {
      const batch = this.#pending;
      this.#pending = new Set();
      for (const node of batch) {
        if (!node.root) continue;
        try {
          this.#refresh(node);
        } catch (error) {
          failures.add(node);
          failed(node.unit, node.key, error);
          continue;
        }
        if (node.value === node.reported && !this.#failed.has(node)) continue;
        node.reported = node.value;
        changed(node.unit, node.key, node.value);
      }
    }
    this.#failed = failures;
    for (const node of failures) this.#pending.add(node);
    this.#release();
  }

  /** The value of a unit that is wanted once. Between updates only; it changes nothing. Throws what the unit throws. */
  ask<R, V>(unit: Unit<R, V>, key: string): V {
    const node = this.#node(unit, key);
    try {
      this.#refresh(node);
      return node.value as V;
    } finally {
      if (!node.root && !node.observed) this.#releasable.add(node);
      this.#release();
    }
  }

  /** How many units are kept. */
  get size(): number {
    let size = 0;
    for (const ofUnit of this.#nodes.values()) size += ofUnit.size;
    return size;
  }

  /** Reads a unit on behalf of the one that runs. */
  read<R, V>(unit: Unit<R, V>, key: string): V {
    const node = this.#node(unit, key);
    this.#refresh(node);
    this.record(node);
    return node.value as V;
  }

  /** The unit that runs has read a cell. */
  record(cell: Cell): void {
    const run = this.#run;
    if (!run || cell.seenBy === run.id) return;
    cell.seenBy = run.id;
    this.#reads.push(cell);
  }

  /** The unit that runs must run again at a time. */
  wait(deadline: number): void {
    if (this.#run) this.#run.deadline = Math.min(this.#run.deadline, deadline);
  }

  releasable(node: UnitNode): void {
    if (!node.root) this.#releasable.add(node);
  }

  #node(unit: AnyUnit, key: string): UnitNode {
    let ofUnit = this.#nodes.get(unit);
    if (!ofUnit) {
      ofUnit = new Map();
      this.#nodes.set(unit, ofUnit);
    }
    let node = ofUnit.get(key);
    if (!node) {
      node = new UnitNode(this, unit, key);
      ofUnit.set(key, node);
    }
    return node;
  }

  #mark(node: UnitNode, state: number): void {
    if (node.state >= state) return;
    const before = node.state;
    node.state = state;
    if (node.root) this.#pending.add(node);
    if (before === clean) node.eachObserver((observer) => this.#mark(observer, check));
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
    if (node.state >= dirty) this.#compute(node);
  }

  #compute(node: UnitNode): void {
    if (node.state === running) throw new Error(`unit ${node.unit.name} ${node.key} reads itself`);
    const outer = this.#run;
    const run: Run = { id: ++this.#runs, from: this.#reads.length, deadline: Number.POSITIVE_INFINITY };
    this.#run = run;
    node.state = running;
    let value: unknown;
    try {
      value = node.unit.compute(this.#reader as never, node.key);
    } finally {
      this.#run = outer;
      node.state = dirty;
      this.#observe(node, this.#reads.slice(run.from));
      this.#reads.length = run.from;
      if (run.deadline < Number.POSITIVE_INFINITY) this.#timed.set(node, run.deadline);
      else this.#timed.delete(node);
    }
    this.runs.set(node.unit.name, (this.runs.get(node.unit.name) ?? 0) + 1);
    node.state = clean;
    if (deepEqual(node.value, value)) return;
    node.value = value;
    node.eachObserver((observer) => this.#mark(observer, dirty));
  }

  #observe(node: UnitNode, reads: readonly Cell[]): void {
    const before = node.reads;
    if (before.length === reads.length && before.every((cell, i) => cell === reads[i])) return;
    node.reads = reads;
    for (const cell of reads) cell.observe(node);
    if (before.length === 0) return;
    const kept = new Set(reads);
    for (const cell of before) if (!kept.has(cell)) cell.unobserve(node);
  }

  #release(): void {
    while (this.#releasable.size > 0) {
      const batch = this.#releasable;
      this.#releasable = new Set();
      for (const node of batch) {
        if (node.root || node.observed) continue;
        this.#nodes.get(node.unit)?.delete(node.key);
        this.#timed.delete(node);
        this.#observe(node, noCells);
      }
    }
  }
}
