import { Bucket } from './bucket.ts';
import type { Cell } from './graph.ts';
import type { Inputs } from './inputs.ts';

type Pod = Inputs['Pod'];
type ByValue = Map<string, Bucket>;

/**
 * Pods by namespace, label and value. A label of a namespace is indexed from the first time a selector asks for
 * it, so that labels which no selector uses (a pod's own name, a template hash) cost nothing.
 */
export class LabelIndex {
  readonly #podsOf: (namespace: string) => Iterable<[string, unknown]>;
  readonly #namespaces = new Map<string, Map<string, ByValue>>();

  constructor(podsOf: (namespace: string) => Iterable<[string, unknown]>) {
    this.#podsOf = podsOf;
  }

  /** How many pods have the label with this value. */
  count(namespace: string, label: string, value: string): number {
    return this.#values(namespace, label).get(value)?.size ?? 0;
  }

  bucket(namespace: string, label: string, value: string): Bucket {
    return bucketOf(this.#values(namespace, label), value);
  }

  #values(namespace: string, label: string): ByValue {
    let labels = this.#namespaces.get(namespace);
    if (!labels) {
      labels = new Map();
      this.#namespaces.set(namespace, labels);
    }
    let values = labels.get(label);
    if (!values) {
      values = new Map();
      labels.set(label, values);
      for (const [key, pod] of this.#podsOf(namespace)) {
        const has = (pod as Pod).metadata.labels[label];
        if (has !== undefined) bucketOf(values, has).put(key, pod);
      }
    }
    return values;
  }

  /** Follows one pod and adds the buckets that it touches to `changed`. */
  change(key: string, before: Pod | undefined, after: Pod | undefined, changed: Set<Cell>): void {
    const labels = this.#namespaces.get((after ?? before)?.metadata.namespace ?? '');
    if (!labels) return;
    for (const [label, value] of Object.entries(before?.metadata.labels ?? {})) {
      const values = labels.get(label);
      if (!values || after?.metadata.labels[label] === value) continue;
      const left = bucketOf(values, value);
      changed.add(left);
      left.remove(key);
    }
    for (const [label, value] of Object.entries(after?.metadata.labels ?? {})) {
      const values = labels.get(label);
      if (!values) continue;
      const entered = bucketOf(values, value);
      changed.add(entered);
      entered.put(key, after);
    }
  }
}

function bucketOf(values: ByValue, value: string): Bucket {
  let bucket = values.get(value);
  if (!bucket) {
    bucket = new Bucket(() => values.delete(value));
    values.set(value, bucket);
  }
  return bucket;
}
