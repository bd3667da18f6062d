import type { Export, ProbeTarget, Status, Touched, WantedClaim } from './compiled.ts';
import { Counted } from './counted.ts';
import { deepEqual } from './deep-equal.ts';
import type { Backend, Frontend, NodeFacts } from './ir.ts';
import type { ObjectRef, Problem } from './problem.ts';
import { byText, SortedMap } from './sorted-map.ts';
import type { StatusResult } from './units/gateway-class.ts';

interface Rows {
  readonly frontends: Frontend;
  readonly backends: Backend;
  readonly nodes: NodeFacts;
  readonly statuses: Status;
  readonly claims: WantedClaim;
  readonly exports: Export;
  readonly probes: ProbeTarget;
}

/** The tables of `Compiled`, and which of their keys changed since they were last asked. */
export class Tables {
  readonly frontends = new SortedMap<Frontend>();
  readonly backends = new SortedMap<Backend>();
  readonly nodes = new SortedMap<NodeFacts>();
  readonly statuses = new SortedMap<Status>();
  readonly claims = new SortedMap<WantedClaim>();
  readonly exports = new SortedMap<Export>();
  readonly probes = new SortedMap<ProbeTarget>();
  readonly imports = new Counted();
  /** Back ends that front ends refer to. */
  readonly referred = new Counted();
  readonly #problems = new SortedMap<readonly Problem[]>();
  readonly #exportsOf = new Map<string, readonly string[]>();
  #touched = newTouched();
  #flat: readonly Problem[] | undefined;

  get problems(): readonly Problem[] {
    this.#flat ??= [...this.#problems.values()].flat().sort(byPlace);
    return this.#flat;
  }

  setRow<T extends keyof Rows>(table: T, key: string, row: Rows[T] | undefined): void {
    const rows = this[table] as SortedMap<Rows[T]>;
    if (row === undefined ? !rows.has(key) : deepEqual(rows.get(key), row)) return;
    if (row === undefined) rows.delete(key);
    else rows.set(key, row);
    this.#touched[table].add(key);
  }

  /** The back ends that are referred to now, or no more. */
  setFrontend(key: string, row: Frontend | undefined): readonly string[] {
    this.setRow('frontends', key, row);
    const targets = row?.ports.flatMap((port) => port.targets) ?? [];
    return this.referred.set(key, [...new Set(targets.flatMap(({ backend }) => backend ?? []))]);
  }

  setStatus(key: string, result: StatusResult | undefined): void {
    this.setRow('statuses', key, result?.status);
    this.setProblems(key, result?.problems ?? []);
  }

  setProblems(source: string, problems: readonly Problem[]): void {
    if (problems.length > 0) this.#problems.set(source, problems);
    else if (!this.#problems.delete(source)) return;
    this.#flat = undefined;
  }

  setImports(source: string, keys: readonly string[] | undefined): void {
    // A key that goes from one source to another in one update comes by twice, and is not touched.
    const { imports } = this.#touched;
    for (const key of this.imports.set(source, keys ?? [])) if (!imports.delete(key)) imports.add(key);
  }

  setExports(composite: string, rows: ReadonlyMap<string, Export> | undefined): void {
    for (const key of this.#exportsOf.get(composite) ?? []) {
      if (!rows?.has(key)) this.setRow('exports', key, undefined);
    }
    for (const [key, row] of rows ?? []) this.setRow('exports', key, row);
    if (rows && rows.size > 0) this.#exportsOf.set(composite, [...rows.keys()]);
    else this.#exportsOf.delete(composite);
  }

  /** The keys that changed since the last call. */
  takeTouched(): Touched {
    const touched = this.#touched;
    this.#touched = newTouched();
    return touched;
  }
}

function newTouched() {
  const none = () => new Set<string>();
  return {
    frontends: none(),
    backends: none(),
    nodes: none(),
    statuses: none(),
    claims: none(),
    exports: none(),
    imports: none(),
    probes: none(),
  };
}

function byPlace(a: Problem, b: Problem): number {
  const place = (ref: ObjectRef) => `${ref.kind}/${ref.namespace}/${ref.name}`;
  return (
    byText(place(a.ref), place(b.ref)) ||
    byText(a.path, b.path) ||
    byText(a.code, b.code) ||
    byText(a.message, b.message)
  );
}
