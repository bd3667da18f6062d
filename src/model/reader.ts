import type { Graph, Unit as GraphUnit } from './graph.ts';
import type { IndexedKind, IndexName } from './indexes.ts';
import type { InputKind, Inputs } from './inputs.ts';
import { type LabelSelector, requiredValues, selects, without } from './label-selector.ts';
import type { ModelConfig } from './model-config.ts';
import type { PodFacts } from './pod-facts.ts';
import { byText } from './sorted-map.ts';
import type { Store } from './store.ts';

export type Unit<V> = GraphUnit<Reader, V>;

/** What units see of the world. Whatever one reads is recorded: when that changes, it runs again. */
export class Reader {
  readonly config: ModelConfig;
  readonly #graph: Graph;
  readonly #store: Store;
  readonly #now: () => number;

  constructor(config: ModelConfig, graph: Graph, store: Store, now: () => number) {
    this.config = config;
    this.#graph = graph;
    this.#store = store;
    this.#now = now;
  }

  get<K extends InputKind>(kind: K, key: string): Inputs[K] | undefined {
    this.#graph.record(this.#store.cell(kind, key));
    return this.#store.get(kind, key);
  }

  /** The records in a bucket of an index, in the order of their keys. */
  list<K extends IndexedKind>(kind: K, index: IndexName<K>, bucket: string): readonly Inputs[K][] {
    const cell = this.#store.list(kind, index, bucket);
    this.#graph.record(cell);
    return cell.list() as readonly Inputs[K][];
  }

  /**
   * The pods of a namespace that a selector matches, by name, ended ones left out. Only pods with the rarest of
   * the labels that it requires are looked at, and only their changes are waited for.
   */
  pods(namespace: string, selector: LabelSelector): readonly PodFacts[] {
    const index = this.#store.pods;
    let rarest: readonly [string, readonly string[]] | undefined;
    let fewest = Number.POSITIVE_INFINITY;
    for (const [label, values] of requiredValues(selector)) {
      const size = values.reduce((sum, value) => sum + index.count(namespace, label, value), 0);
      if (size < fewest) {
        rarest = [label, values];
        fewest = size;
      }
    }
    const buckets = rarest
      ? rarest[1].map((value) => index.bucket(namespace, rarest[0], value))
      : [index.all(namespace)];
    // What the bucket stands for need not be asked of each pod.
    const rest = rarest ? without(selector, rarest[0]) : selector;
    const pods: PodFacts[] = [];
    for (const bucket of buckets) {
      this.#graph.record(bucket);
      for (const pod of bucket.list() as readonly PodFacts[]) {
        if (rest === undefined || selects(rest, pod.labels)) pods.push(pod);
      }
    }
    return buckets.length === 1 ? pods : pods.sort((a, b) => byText(a.name, b.name));
  }

  unit<V>(unit: Unit<V>, key: string): V {
    return this.#graph.read(unit, key);
  }

  /** Whether a time (epoch milliseconds) has come. If not, the unit runs again when it has. */
  reached(deadline: number): boolean {
    if (this.#now() >= deadline) return true;
    this.#graph.wait(deadline);
    return false;
  }
}
