/** A figure over repetitions. `value` is the one that stands in the table. */
export interface Spread {
  readonly value: number;
  readonly min: number;
  readonly median: number;
  readonly max: number;
  readonly count: number;
}

/** The smallest value with at least the share `q` of all values at or below it (nearest rank). Throws on none. */
export function percentile(values: readonly number[], q: number): number {
  if (values.length === 0) throw new Error('expected at least one value, found none');
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)] as number;
}

/** `q`: which percentile stands in the table. */
export function spreadOf(values: readonly number[], q = 0.5): Spread {
  return {
    value: percentile(values, q),
    min: percentile(values, 0),
    median: percentile(values, 0.5),
    max: percentile(values, 1),
    count: values.length,
  };
}

/** A figure that was taken once. */
export const once = (value: number): Spread => spreadOf([value]);
