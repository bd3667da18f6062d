import type { Compiled, Export, ProbeTarget, Touched, WantedClaim } from './compiled.ts';
import { Graph, type Unit as GraphUnit } from './graph.ts';
import type { Change, InputKind, Inputs } from './inputs.ts';
import type { Backend, Frontend, NodeFacts } from './ir.ts';
import type { ModelConfig } from './model-config.ts';
import type { Problem } from './problem.ts';
import { Reader, type Unit } from './reader.ts';
import { type Root, roots } from './roots.ts';
import { Store } from './store.ts';
import { Tables } from './tables.ts';
import { backend } from './units/backend.ts';
import type { StatusResult } from './units/gateway-class.ts';
import { parseKey } from './units/object-key.ts';

type AnyUnit = GraphUnit<never, unknown>;

/**
 * The pure model: input records in, `Compiled` out. What an update costs depends on what it touches, not on how
 * much there is. The result depends on the records and the time alone, not on the order in which they came.
 */
export class Model {
  readonly config: ModelConfig;
  readonly #store = new Store();
  readonly #tables = new Tables();
  readonly #graph: Graph;
  /** Back ends that came into use or went out of it. */
  readonly #backends = new Set<string>();
  readonly #faults = new Set<string>();
  #now = 0;

  constructor(config: ModelConfig) {
    this.config = config;
    this.#graph = new Graph((graph) => new Reader(config, graph, this.#store, () => this.#now));
  }

  /**
   * All that the model says. Live: its tables change with the next call of `update` or `advance`; the values in
   * them never do.
   */
  get compiled(): Compiled {
    const { frontends, backends, nodes, statuses, claims, exports, imports, probes, problems } = this.#tables;
    return { frontends, backends, nodes, statuses, claims, exports, imports: imports.keys, probes, problems };
  }

  /** Every input record, by kind and then key, sorted. */
  get inputs(): Iterable<readonly [kind: InputKind, key: string, value: unknown]> {
    return this.#store.records();
  }

  /** Of the last update, epoch milliseconds. */
  get now(): number {
    return this.#now;
  }

  /** The time (epoch milliseconds) at which something changes by itself; call `advance` then. */
  get nextDeadline(): number | undefined {
    return this.#graph.nextDeadline;
  }

  /** The input records of a kind, in no order. */
  all<K extends InputKind>(kind: K): Iterable<Inputs[K]> {
    return this.#store.all(kind);
  }

  /** What a unit says of the last update's state; it is not kept, and nothing waits for it. */
  ask<V>(unit: Unit<V>, key: string): V {
    return this.#graph.ask(unit, key);
  }

  /** How often each unit ran since the model was made. */
  get runs(): ReadonlyMap<string, number> {
    return this.#graph.runs;
  }

  /** What is kept beside the records: it must shrink with them. */
  get size(): { readonly units: number; readonly cells: number } {
    return { units: this.#graph.size, cells: this.#store.size };
  }

  /** Applies changes as one. `now`: epoch milliseconds, never less than before. */
  update(changes: readonly Change[], now: number): Touched {
    for (const change of changes) {
      for (const cell of this.#store.apply(change)) this.#graph.invalidate(cell);
    }
    // A key may be named twice: what counts is what is there in the end.
    for (const { kind, key } of changes) this.#setRoots(kind, key, this.#store.has(kind, key));
    return this.advance(now);
  }

  /** Lets time pass: origins expire. */
  advance(now: number): Touched {
    this.#now = Math.max(this.#now, now);
    this.#graph.timePasses(this.#now);
    this.#settle();
    // What back ends hold has no say in which are referred to: one more round is enough.
    for (const key of this.#backends) this.#setBackend(key, this.#tables.referred.has(key));
    this.#backends.clear();
    this.#settle();
    return this.#tables.takeTouched();
  }

  #setRoots(kind: InputKind, key: string, present: boolean): void {
    for (const root of rootsByKind.get(kind) ?? []) {
      const unitKey = root.unitKey(key);
      this.#graph.setRoot(root.unit, unitKey, present);
      if (present) continue;
      this.#setRow(root, unitKey, undefined);
      this.#setFault(root.unit, unitKey, undefined);
    }
  }

  #setBackend(key: string, present: boolean): void {
    this.#graph.setRoot(backend, key, present);
    if (!present) this.#tables.setRow('backends', key, undefined);
  }

  #settle(): void {
    this.#graph.settle(
      (unit, unitKey, value) => {
        const root = rootByUnit.get(unit);
        if (root) this.#setRow(root, unitKey, value);
        else this.#tables.setRow('backends', unitKey, value as Backend);
        this.#setFault(unit, unitKey, undefined);
      },
      (unit, unitKey, error) => this.#setFault(unit, unitKey, fault(unit, unitKey, error)),
    );
  }

  #setFault(unit: AnyUnit, unitKey: string, problem: Problem | undefined): void {
    if (!problem && this.#faults.size === 0) return;
    const key = `fault ${unit.name} ${unitKey}`;
    if (problem) this.#faults.add(key);
    else this.#faults.delete(key);
    this.#tables.setProblems(key, problem ? [problem] : []);
  }

  #setRow({ table, rowKey }: Root, unitKey: string, value: unknown): void {
    const key = rowKey(unitKey);
    const tables = this.#tables;
    if (table === 'frontends') {
      for (const changed of tables.setFrontend(key, value as Frontend | undefined))
        this.#backends.add(changed);
    } else if (table === 'statuses') tables.setStatus(key, value as StatusResult | undefined);
    else if (table === 'imports') tables.setImports(key, value as readonly string[] | undefined);
    else if (table === 'exports') tables.setExports(key, value as ReadonlyMap<string, Export> | undefined);
    else if (table === 'claims') tables.setRow(table, key, value as WantedClaim | undefined);
    else if (table === 'probes') tables.setRow(table, key, value as ProbeTarget | undefined);
    else tables.setRow(table, key, value as NodeFacts | undefined);
  }
}

const rootByUnit: ReadonlyMap<AnyUnit, Root> = new Map(roots.map((root) => [root.unit, root]));
const rootsByKind = Map.groupBy(roots, ({ kind }) => kind);

/** A unit that throws is our fault, not the user's: it says so, keeps its last value, and stops nobody else. */
function fault(unit: AnyUnit, unitKey: string, error: unknown): Problem {
  const message = error instanceof Error ? error.message : String(error);
  return {
    code: 'Internal',
    ref: { kind: unit.name, ...parseKey(unitKey) },
    path: '',
    message: `the program failed here, the last good state stays in force: ${message}`,
  };
}
