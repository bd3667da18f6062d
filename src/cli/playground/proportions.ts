/** z of a one-sided normal tail of one in a million: how rarely a right distribution is called wrong. */
const z = 4.75;

/** The chi-square value that a right distribution exceeds once in a million (Wilson and Hilferty, 1931). */
export function criticalChiSquare(degrees: number): number {
  const k = 2 / (9 * degrees);
  return degrees * (1 - k + z * Math.sqrt(k)) ** 3;
}

/**
 * Whether counts can come from independent draws with these shares (any unit, sum above 0; absent: 0). A share of
 * 0 admits no count at all. Counts of keys without a share are wrong.
 */
export function matchesShares(
  counts: Readonly<Record<string, number>>,
  shares: Readonly<Record<string, number>>,
): boolean {
  const positive = Object.entries(shares).filter(([, share]) => share > 0);
  const known = new Set(positive.map(([key]) => key));
  if (Object.entries(counts).some(([key, n]) => n > 0 && !known.has(key))) return false;
  const total = Object.values(counts).reduce((a, b) => a + b, 0);
  if (total === 0) return false;
  if (positive.length < 2) return true;
  const sum = positive.reduce((a, [, share]) => a + share, 0);
  const chiSquare = positive.reduce((a, [key, share]) => {
    const expected = (total * share) / sum;
    return a + ((counts[key] ?? 0) - expected) ** 2 / expected;
  }, 0);
  return chiSquare <= criticalChiSquare(positive.length - 1);
}

/** `{ 'east/a': 3, 'east/b': 1, 'west/a': 4 }` → `{ east: 4, west: 4 }`. */
export function byCluster(counts: Readonly<Record<string, number>>): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const [who, n] of Object.entries(counts)) {
    const cluster = who.split('/', 1)[0] as string;
    sums[cluster] = (sums[cluster] ?? 0) + n;
  }
  return sums;
}

/** Shares in whole percent that add up to 100 (largest remainder). */
export function percentages(counts: Readonly<Record<string, number>>): Record<string, number> {
  const total = Object.values(counts).reduce((a, b) => a + b, 0);
  if (total === 0) return {};
  const parts = Object.entries(counts).map(([key, n]) => ({ key, exact: (100 * n) / total }));
  const floors: Record<string, number> = Object.fromEntries(parts.map((p) => [p.key, Math.floor(p.exact)]));
  const rest = 100 - Object.values(floors).reduce((a, b) => a + b, 0);
  const byRemainder = [...parts].sort((a, b) => (b.exact % 1) - (a.exact % 1));
  for (const { key } of byRemainder.slice(0, rest)) floors[key] = (floors[key] ?? 0) + 1;
  return floors;
}
