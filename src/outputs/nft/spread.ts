import { isLive, type Part } from './part.ts';
import { rounded } from './rounded-slots.ts';

/** One destination of a VIP's connections and its share, in slots. */
export interface Share {
  /** `<address> . <port>`, the data of a slot. */
  readonly to: string;
  readonly slots: number;
}

/**
 * Slots in exact proportion to the product of weights along each path, in the smallest integers, as long as these
 * fit; else rounded. Sorted by destination; the same destination twice adds up.
 */
export function spread(parts: readonly Part[]): readonly Share[] {
  return one(parts) ?? weighted(parts);
}

/** A slot each, where all are siblings of one weight: most VIPs are so, and there is nothing to calculate. */
function one(parts: readonly Part[]): readonly Share[] | undefined {
  let siblings = parts.filter(isLive);
  for (let [only] = siblings; siblings.length === 1 && typeof only?.of === 'object'; [only] = siblings) {
    siblings = only.of.filter(isLive);
  }
  const destinations = siblings.flatMap(({ weight, of }) =>
    weight === siblings[0]?.weight && typeof of === 'string' ? [of] : [],
  );
  if (new Set(destinations).size !== siblings.length) return undefined;
  return destinations.sort().map((to) => ({ to, slots: 1 }));
}

function weighted(parts: readonly Part[]): readonly Share[] {
  const fractions = new Map<string, Fraction>();
  const leaves = collect(parts, { n: 1n, d: 1n }, fractions);
  const sorted = [...fractions].sort(([a], [b]) => (a < b ? -1 : 1));
  if (sorted.length === 0) return [];
  const scale = sorted.reduce((l, [, f]) => (l / gcd(l, f.d)) * f.d, 1n);
  const units = sorted.map(([, f]) => (f.n * scale) / f.d);
  const divisor = units.reduce(gcd);
  const exact = units.map((u) => u / divisor);
  const total = exact.reduce((a, b) => a + b);
  const smallest = exact.reduce(lesser);
  const cap = slotCap(leaves, Number((total + smallest - 1n) / smallest));
  if (total <= BigInt(cap)) return sorted.map(([to], i) => ({ to, slots: Number(exact[i]) }));
  const slots = rounded(parts, cap);
  return sorted.map(([to]) => ({ to, slots: slots.get(to) ?? 0 }));
}

// Math.min takes no bigint.
function lesser(a: bigint, b: bigint): bigint {
  if (a < b) return a;
  return b;
}

const enough = 1000;
const most = 16_384;

/**
 * 1,000 slots. More for many destinations, each of which has at least one; and as many as the smallest share needs
 * to be worth a slot, so that it does not take from the others, up to 16 for each destination.
 */
function slotCap(leaves: number, wantedBySmallest: number): number {
  return Math.max(enough, leaves, Math.min(wantedBySmallest, 16 * leaves, most));
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

/** Adds the shares of destinations to `into`; returns how many paths lead to them. */
function collect(parts: readonly Part[], share: Fraction, into: Map<string, Fraction>): number {
  const live = parts.filter(isLive);
  const total = live.reduce((sum, p) => sum + p.weight, 0);
  let leaves = 0;
  let same = 0;
  let fraction = share;
  for (const { weight, of } of live) {
    if (weight !== same) fraction = reduce(share.n * BigInt(weight), share.d * BigInt(total));
    same = weight;
    const { n, d } = fraction;
    if (typeof of !== 'string') {
      leaves += collect(of, { n, d }, into);
      continue;
    }
    leaves += 1;
    const before = into.get(of);
    into.set(of, before ? reduce(before.n * d + n * before.d, before.d * d) : { n, d });
  }
  return leaves;
}
