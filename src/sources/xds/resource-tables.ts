import type { Backend, Frontend, Group, Ir, NodeFacts } from '../../model/ir.ts';
import type { Refusal } from '../../wire/proto/discovery.ts';
import { typeUrls } from '../../wire/proto/type-urls.ts';
import { decodeAssignment, decodeCluster, decodeListener, decodeNodes, type Refused } from './decode.ts';
import type { ClientUpdate, Upsert } from './delta-client-stream.ts';

/** Keys of the tables of `Ir` that changed. */
export interface TouchedKeys {
  readonly frontends: ReadonlySet<string>;
  readonly backends: ReadonlySet<string>;
  readonly nodes: ReadonlySet<string>;
}

/** Name of the assignment that tells of a cluster's nodes. */
const nodesName = 'nodes';

const isRefused = (value: object): value is Refused => 'refused' in value;

/** What the server told, put together as an intermediate representation. A refused resource keeps its last value. */
export class ResourceTables {
  readonly #frontends = new Map<string, Frontend>();
  readonly #backends = new Map<string, Backend>();
  readonly #clusters = new Map<string, Pick<Backend, 'key' | 'policy'>>();
  /** null: it was removed; absent: it has not come. */
  readonly #assignments = new Map<string, readonly Group[] | null>();
  /** Clusters whose assignment has not come. */
  readonly #waiting = new Set<string>();
  #nodes: ReadonlyMap<string, NodeFacts> = new Map();
  #touched = newTouched();
  #snapshot: Ir = { frontends: new Map(), backends: new Map(), nodes: new Map() };

  /** Every assignment that a Cluster names has come or been removed. */
  get hasAssignments(): boolean {
    return this.#waiting.size === 0;
  }

  /** A copy, which does not change any more, and what changed since the last call. */
  take(): { readonly ir: Ir; readonly touched: TouchedKeys } {
    const touched = this.#touched;
    this.#touched = newTouched();
    const { frontends, backends } = this.#snapshot;
    this.#snapshot = {
      frontends: touched.frontends.size > 0 ? new Map(this.#frontends) : frontends,
      backends: touched.backends.size > 0 ? new Map(this.#backends) : backends,
      nodes: this.#nodes,
    };
    return { ir: this.#snapshot, touched };
  }

  /** What was taken is not done yet: the next call gives it again. */
  touchAgain(touched: TouchedKeys): void {
    for (const table of ['frontends', 'backends', 'nodes'] as const) {
      for (const key of touched[table]) this.#touched[table].add(key);
    }
  }

  apply(update: ClientUpdate): Refusal[] {
    const refusals: Refusal[] = [];
    for (const upsert of update.upserts) {
      const refused = this.#upsert(update.typeUrl, upsert);
      if (refused !== undefined) refusals.push({ name: upsert.name, message: refused });
    }
    for (const name of update.removals) this.#remove(update.typeUrl, name);
    return refusals;
  }

  #upsert(typeUrl: string, { name, body }: Upsert): string | undefined {
    if (typeUrl === typeUrls.listener) {
      const frontend = decodeListener(name, body);
      if (isRefused(frontend)) return frontend.refused;
      this.#frontends.set(name, frontend);
      this.#touched.frontends.add(name);
    } else if (typeUrl === typeUrls.cluster) {
      const cluster = decodeCluster(name, body);
      if (isRefused(cluster)) return cluster.refused;
      this.#clusters.set(name, cluster);
      this.#compose(name);
    } else if (typeUrl === typeUrls.assignment && name === nodesName) {
      const nodes = decodeNodes(name, body);
      if (isRefused(nodes)) return nodes.refused;
      this.#setNodes(nodes as ReadonlyMap<string, NodeFacts>);
    } else if (typeUrl === typeUrls.assignment) {
      const groups = decodeAssignment(name, body);
      if (isRefused(groups)) return groups.refused;
      this.#assignments.set(name, groups as readonly Group[]);
      this.#compose(name);
    }
    return undefined;
  }

  #remove(typeUrl: string, name: string): void {
    if (typeUrl === typeUrls.listener) {
      if (this.#frontends.delete(name)) this.#touched.frontends.add(name);
    } else if (typeUrl === typeUrls.cluster) {
      this.#clusters.delete(name);
      if (this.#assignments.get(name) === null) this.#assignments.delete(name);
      this.#compose(name);
    } else if (typeUrl === typeUrls.assignment && name === nodesName) {
      this.#setNodes(new Map());
    } else if (typeUrl === typeUrls.assignment) {
      if (this.#clusters.has(name)) this.#assignments.set(name, null);
      else this.#assignments.delete(name);
      this.#compose(name);
    }
  }

  /** A back end is a Cluster and its assignment; what has only an assignment is not used by anything yet. */
  #compose(name: string): void {
    const cluster = this.#clusters.get(name);
    const groups = this.#assignments.get(name);
    this.#waiting.delete(name);
    if (!cluster) {
      if (this.#backends.delete(name)) this.#touched.backends.add(name);
      return;
    }
    if (groups === undefined) this.#waiting.add(name);
    const backend = { ...cluster, groups: groups ?? [], ...(groups === undefined ? { withheld: true } : {}) };
    this.#backends.set(name, backend);
    this.#touched.backends.add(name);
  }

  #setNodes(nodes: ReadonlyMap<string, NodeFacts>): void {
    for (const name of [...this.#nodes.keys(), ...nodes.keys()]) this.#touched.nodes.add(name);
    this.#nodes = nodes;
  }
}

const newTouched = () => ({
  frontends: new Set<string>(),
  backends: new Set<string>(),
  nodes: new Set<string>(),
});
