/** One destination of a VIP's connections and its share, in slots. */
export interface Share {
  /** `<address> . <port>`, the data of a slot. */
  readonly to: string;
  readonly slots: number;
}

/** A part of a whole, as a weight among its siblings. `children` share their parent's part. */
export interface Part {
  readonly weight: number;
  readonly of: string | readonly Part[];
}

const minimumCap = 1000;

/**
 * Slots in exact proportion to the product of weights along each path, in the smallest integers. Above the cap
 * (1,000, or the number of destinations if that is more) they are rounded by largest remainder, each
 * destination keeping at least one. Sorted by destination; the same destination twice adds up.
 */
export function spread(parts: readonly Part[]): readonly Share[] {
  const fractions = new Map<string, Fraction>();
  collect(parts, { n: 1n, d: 1n }, fractions);
  const sorted = [...fractions].sort(([a], [b]) => (a < b ? -1 : 1));
  if (sorted.length === 0) return [];
  const scale = sorted.reduce((l, [, f]) => (l / gcd(l, f.d)) * f.d, 1n);
  const units = sorted.map(([, f]) => (f.n * scale) / f.d);
  const divisor = units.reduce(gcd);
  const reduced = units.map((u) => u / divisor);
  const total = reduced.reduce((a, b) => a + b);
  const cap = Math.max(minimumCap, sorted.length);
  const slots = total <= BigInt(cap) ? reduced.map(Number) : round(reduced, total, cap);
  return sorted.map(([to], i) => ({ to, slots: slots[i] as number }));
}

interface Fraction {
  readonly n: bigint;
  readonly d: bigint;
}

function gcd(a: bigint, b: bigint): bigint {
  while (b !== 0n) [a, b] = [b, a % b];
  return a;
}

function reduce(n: bigint, d: bigint): Fraction {
  const g = gcd(n, d);
  return { n: n / g, d: d / g };
}

function collect(parts: readonly Part[], share: Fraction, into: Map<string, Fraction>): void {
  const total = parts.reduce((sum, p) => sum + p.weight, 0);
  if (total === 0) return;
  let same = 0;
  let fraction = share;
  for (const { weight, of } of parts) {
    if (weight === 0) continue;
    if (weight !== same) fraction = reduce(share.n * BigInt(weight), share.d * BigInt(total));
    same = weight;
    const { n, d } = fraction;
    if (typeof of !== 'string') {
      collect(of, { n, d }, into);
      continue;
    }
    const before = into.get(of);
    into.set(of, before ? reduce(before.n * d + n * before.d, before.d * d) : { n, d });
  }
}

/** Largest remainder with a floor of one; ties go to the first. */
function round(units: readonly bigint[], total: bigint, cap: number): number[] {
  const ideal = units.map((u) => Number((u * BigInt(cap) * 1_000_000n) / total) / 1_000_000);
  const slots = ideal.map((x) => Math.max(1, Math.floor(x)));
  const order = ideal.map((_, i) => i);
  let left = cap - slots.reduce((a, b) => a + b, 0);
  const remainder = (i: number): number => (ideal[i] as number) - (slots[i] as number);
  const add = (i: number, n: number): void => {
    slots[i] = (slots[i] as number) + n;
  };
  order.sort((a, b) => remainder(b) - remainder(a) || a - b);
  for (let i = 0; left > 0; i = (i + 1) % order.length, left--) add(order[i] as number, 1);
  // The floor of one gave too much away: the destinations that can best spare a slot return it.
  for (; left < 0; left++) {
    const from = order.reduce((best, i) => ((slots[i] as number) > (slots[best] as number) ? i : best));
    add(from, -1);
  }
  return slots;
}
