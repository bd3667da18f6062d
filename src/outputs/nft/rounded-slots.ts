import { isLive, type Part } from './part.ts';

/**
 * `slots` divided from the top: those of a part are rounded by largest remainder among its siblings, each
 * destination keeping at least one, and then divided among its children. So a route's weights and the shares of
 * clusters are within a slot of what they should be, however many endpoints there are. `slots` are at least as many
 * as paths to destinations.
 */
export function rounded(parts: readonly Part[], slots: number): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  divide(parts.filter(isLive).map(branch), slots, found);
  return found;
}

interface Branch {
  readonly weight: number;
  /** Paths to destinations. */
  readonly leaves: number;
  /** Orders branches with the same remainder, whatever order they came in. */
  readonly name: string;
  readonly to: string | readonly Branch[];
}

function branch({ weight, of }: Part): Branch {
  if (typeof of === 'string') return { weight, leaves: 1, name: of, to: of };
  const to = of.filter(isLive).map(branch).sort(byName);
  const leaves = to.reduce((sum, b) => sum + b.leaves, 0);
  return { weight, leaves, name: to.map((b) => `${b.weight} ${b.name}`).join(), to };
}

const byName = (a: Branch, b: Branch): number =>
  a.name < b.name ? -1 : a.name > b.name ? 1 : b.weight - a.weight;

function divide(branches: readonly Branch[], slots: number, into: Map<string, number>): void {
  const counts = proportional(branches, slots);
  for (const [i, { to }] of branches.entries()) {
    const count = counts[i] as number;
    if (typeof to === 'string') into.set(to, (into.get(to) ?? 0) + count);
    else divide(to, count, into);
  }
}

/** Who would get less than a slot for each of its leaves gets that; the rest is in proportion among the others. */
function proportional(branches: readonly Branch[], slots: number): readonly number[] {
  const ideal = branches.map(() => 0);
  let open = branches.map((_, i) => i);
  let left = slots;
  for (;;) {
    const weight = open.reduce((sum, i) => sum + at(branches, i).weight, 0);
    for (const i of open) ideal[i] = (left * at(branches, i).weight) / weight;
    const short = new Set(open.filter((i) => at(ideal, i) < at(branches, i).leaves));
    if (short.size === 0) break;
    for (const i of short) {
      ideal[i] = at(branches, i).leaves;
      left -= at(branches, i).leaves;
    }
    open = open.filter((i) => !short.has(i));
  }
  const counts = ideal.map(Math.floor);
  const remainder = (i: number) => at(ideal, i) - at(counts, i);
  const order = branches.map((_, i) => i);
  order.sort((a, b) => remainder(b) - remainder(a) || byName(at(branches, a), at(branches, b)));
  const over = slots - counts.reduce((a, b) => a + b, 0);
  for (const i of order.slice(0, over)) counts[i] = at(counts, i) + 1;
  return counts;
}

const at = <T>(list: readonly T[], i: number): T => list[i] as T;
