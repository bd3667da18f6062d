/** metav1.LabelSelector after projection. */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    /** In, NotIn, Exists or DoesNotExist. */
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

export type Labels = Readonly<Record<string, string>>;

const labelOf = (labels: Labels, key: string): string | undefined =>
  Object.hasOwn(labels, key) ? labels[key] : undefined;

/**
 * Kubernetes semantics: NotIn and DoesNotExist hold for objects without the label. Empty: everything. An operator
 * that is not known selects nothing: what a newer peer means must not widen here.
 */
export function selects(selector: LabelSelector, labels: Labels): boolean {
  for (const [key, value] of Object.entries(selector.matchLabels ?? {})) {
    if (labelOf(labels, key) !== value) return false;
  }
  for (const { key, operator, values = [] } of selector.matchExpressions ?? []) {
    if (!holds(operator, labelOf(labels, key), values)) return false;
  }
  return true;
}

function holds(operator: string, value: string | undefined, values: readonly string[]): boolean {
  const listed = value !== undefined && values.includes(value);
  if (operator === 'In') return listed;
  if (operator === 'NotIn') return !listed;
  if (operator === 'Exists') return value !== undefined;
  return operator === 'DoesNotExist' && value === undefined;
}

export function isEmptySelector({ matchLabels = {}, matchExpressions = [] }: LabelSelector): boolean {
  return Object.keys(matchLabels).length === 0 && matchExpressions.length === 0;
}

/** Pairs of label and possible values that everything selected has one of: what an index can be asked for. */
export function requiredValues(
  selector: LabelSelector,
): (readonly [label: string, values: readonly string[]])[] {
  return [
    ...Object.entries(selector.matchLabels ?? {}).map(([label, value]) => [label, [value]] as const),
    ...(selector.matchExpressions ?? [])
      .filter(({ operator }) => operator === 'In')
      .map(({ key, values = [] }) => [key, [...new Set(values)]] as const),
  ];
}

/**
 * What is left to check of objects that have a required value of `label`. Undefined: nothing. What else is said
 * of the same label is kept.
 */
export function without(selector: LabelSelector, label: string): LabelSelector | undefined {
  const { matchLabels = {}, matchExpressions = [] } = selector;
  const said =
    matchExpressions.filter(({ key }) => key === label).length + (Object.hasOwn(matchLabels, label) ? 1 : 0);
  if (said > 1) return selector;
  const rest = {
    matchLabels: Object.fromEntries(Object.entries(matchLabels).filter(([key]) => key !== label)),
    matchExpressions: matchExpressions.filter(({ key }) => key !== label),
  };
  return isEmptySelector(rest) ? undefined : rest;
}
