import { problemCodes } from '../../model/problem-codes.ts';

type Fields = Readonly<Record<string, unknown>>;

export interface MergeContext {
  /** RFC 3339, for what changes now. */
  readonly now: string;
  /** Whose entries of `parents` and `ancestors` are ours. */
  readonly controllerName: string;
}

/** Condition types that only we write on what we write to; all others are somebody else's. */
const ownTypes: ReadonlySet<string> = new Set(
  Object.values(problemCodes).flatMap((mapping) => (mapping === null ? [] : mapping.type)),
);

/**
 * The status to write: what is wanted, with the times at which conditions changed, and with what others wrote:
 * conditions of other types, and entries of other controllers. `wanted` empty leaves others' alone.
 */
export function mergeStatus(wanted: Fields, old: Fields, context: MergeContext): Fields {
  const merged: Record<string, unknown> = {};
  const fields = new Set([...Object.keys(wanted), ...Object.keys(old).filter((field) => shared.has(field))]);
  for (const field of fields) {
    const value = wanted[field];
    const before = listOf(old[field]);
    if (field === 'conditions') merged[field] = mergeConditions(listOf(value), before, context);
    else if (field === 'parents') merged[field] = mergeEntries('parentRef', listOf(value), before, context);
    else if (field === 'ancestors')
      merged[field] = mergeEntries('ancestorRef', listOf(value), before, context);
    else if (field === 'listeners') merged[field] = mergeListeners(listOf(value), before, context);
    else if (field === 'clusters') merged[field] = mergeClusters(listOf(value), before, context);
    else merged[field] = value;
    if (Array.isArray(merged[field]) && merged[field].length === 0 && value === undefined)
      delete merged[field];
  }
  return merged;
}

/** Fields that others write to as well. */
const shared: ReadonlySet<string> = new Set(['conditions', 'parents', 'ancestors']);

function mergeConditions(wanted: readonly Fields[], old: readonly Fields[], { now }: MergeContext): Fields[] {
  const types = new Set(wanted.map(({ type }) => type));
  const foreign = old.filter(
    ({ type }) => typeof type === 'string' && !types.has(type) && !ownTypes.has(type),
  );
  const own = wanted.map((condition) => {
    const before = old.find(({ type }) => type === condition.type);
    return { ...condition, lastTransitionTime: sinceWhen('status', condition, before, now) };
  });
  return [...own, ...foreign];
}

function mergeEntries(
  ref: 'parentRef' | 'ancestorRef',
  wanted: readonly Fields[],
  old: readonly Fields[],
  context: MergeContext,
): Fields[] {
  const { controllerName } = context;
  const own = wanted.map((entry) => {
    const before = old.find((o) => o.controllerName === controllerName && sameRef(o[ref], entry[ref]));
    return withConditions(entry, before, context);
  });
  return [...own, ...old.filter((entry) => entry.controllerName !== controllerName)];
}

const mergeListeners = (wanted: readonly Fields[], old: readonly Fields[], context: MergeContext): Fields[] =>
  wanted.map((listener) =>
    withConditions(
      listener,
      old.find(({ name }) => name === listener.name),
      context,
    ),
  );

const mergeClusters = (wanted: readonly Fields[], old: readonly Fields[], { now }: MergeContext): Fields[] =>
  wanted.map((cluster) => {
    const before = old.find(({ name }) => name === cluster.name);
    return { ...cluster, lastTransitionTime: sinceWhen('state', cluster, before, now) };
  });

const withConditions = (entry: Fields, before: Fields | undefined, context: MergeContext): Fields => ({
  ...entry,
  conditions: mergeConditions(listOf(entry.conditions), listOf(before?.conditions), context),
});

/** Moves only when `field` does. */
function sinceWhen(field: string, wanted: Fields, before: Fields | undefined, now: string): string {
  const since = before?.lastTransitionTime;
  return before !== undefined && before[field] === wanted[field] && typeof since === 'string' ? since : now;
}

/** Two references with the same fields, in any order. */
function sameRef(a: unknown, b: unknown): boolean {
  const text = (ref: unknown) =>
    JSON.stringify(Object.entries(ref ?? {}).sort(([x], [y]) => (x < y ? -1 : 1)));
  return text(a) === text(b);
}

const listOf = (value: unknown): readonly Fields[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === 'object' && item !== null) : [];
