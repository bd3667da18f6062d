import { Bucket } from './bucket.ts';
import { deepEqual } from './deep-equal.ts';
import type { Cell } from './graph.ts';
import type { Inputs } from './inputs.ts';
import { type PodFacts, podFacts } from './pod-facts.ts';

/** Buckets by value of a label. */
class ByValue extends Map<string, Bucket> {
  readonly #shrunk: () => void;

  constructor(shrunk: () => void) {
    super();
    this.#shrunk = shrunk;
  }

  /** Made where there is none. */
  at(value: string): Bucket {
    const known = this.get(value);
    if (known) return known;
    const made = new Bucket(this, value);
    this.set(value, made);
    return made;
  }

  override delete(value: string): boolean {
    const gone = super.delete(value);
    if (gone) this.#shrunk();
    return gone;
  }
}

interface Namespace {
  readonly pods: Bucket;
  readonly labels: Map<string, ByValue>;
}

/**
 * The facts of pods by namespace, label and value. A label of a namespace is indexed from the first time a
 * selector asks for it, so that labels which no selector uses (a pod's own name, a template hash) cost nothing.
 */
export class PodIndex {
  readonly #facts = new Map<string, PodFacts>();
  readonly #namespaces = new Map<string, Namespace>();

  /** How many namespaces and buckets are kept. */
  get size(): number {
    let size = this.#namespaces.size;
    for (const { labels } of this.#namespaces.values()) {
      for (const values of labels.values()) size += values.size;
    }
    return size;
  }

  /** Every pod of a namespace. */
  all(namespace: string): Bucket {
    return this.#namespace(namespace).pods;
  }

  /** How many pods have the label with this value. */
  count(namespace: string, label: string, value: string): number {
    return this.#values(namespace, label).get(value)?.size ?? 0;
  }

  bucket(namespace: string, label: string, value: string): Bucket {
    return this.#values(namespace, label).at(value);
  }

  /** Follows one pod and adds the buckets that it touches to `changed`; none where traffic sees no difference. */
  change(key: string, namespace: string, pod: Inputs['Pod'] | undefined, changed: Set<Cell>): void {
    const before = this.#facts.get(key);
    const after = pod && podFacts(pod);
    if (deepEqual(before, after)) return;
    const { pods, labels } = this.#namespace(namespace);
    changed.add(pods);
    if (after) {
      this.#facts.set(key, after);
      pods.put(key, after);
    } else {
      this.#facts.delete(key);
      pods.remove(key);
    }
    for (const [label, values] of touched(labels, before)) {
      const value = before?.labels[label] ?? '';
      if (after?.labels[label] === value) continue;
      const left = values.at(value);
      changed.add(left);
      left.remove(key);
    }
    for (const [label, values] of touched(labels, after)) {
      const entered = values.at(after?.labels[label] ?? '');
      changed.add(entered);
      entered.put(key, after);
    }
  }

  /** Forgets a namespace without pods that nobody reads. */
  #tidy(name: string): void {
    const namespace = this.#namespaces.get(name);
    if (!namespace || namespace.pods.size > 0 || namespace.pods.observed) return;
    for (const values of namespace.labels.values()) if (values.size > 0) return;
    this.#namespaces.delete(name);
  }

  #namespace(name: string): Namespace {
    let namespace = this.#namespaces.get(name);
    if (!namespace) {
      namespace = { pods: new Bucket({ delete: () => this.#tidy(name) }, name), labels: new Map() };
      this.#namespaces.set(name, namespace);
    }
    return namespace;
  }

  #values(namespace: string, label: string): ByValue {
    const { pods, labels } = this.#namespace(namespace);
    let values = labels.get(label);
    if (!values) {
      values = new ByValue(() => this.#tidy(namespace));
      labels.set(label, values);
      for (const [key, pod] of pods.entries()) {
        const { labels: own } = pod as PodFacts;
        if (Object.hasOwn(own, label)) values.at(own[label] ?? '').put(key, pod);
      }
    }
    return values;
  }
}

/** The indexed labels that a pod has. */
function* touched(
  labels: ReadonlyMap<string, ByValue>,
  pod: PodFacts | undefined,
): Generator<readonly [label: string, values: ByValue]> {
  if (!pod || labels.size === 0) return;
  for (const label of Object.keys(pod.labels)) {
    const values = labels.get(label);
    if (values) yield [label, values];
  }
}
