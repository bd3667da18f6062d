import type { Share } from './spread.ts';

/**
 * Lays shares out as slots, moving as little as possible: slots that still belong to their destination stay,
 * holes are filled by what must move from the end or is new, the rest is appended.
 */
export function assignSlots(shares: readonly Share[], before: readonly string[]): string[] {
  const missing = new Map(shares.map((s) => [s.to, s.slots]));
  const count = shares.reduce((sum, s) => sum + s.slots, 0);
  const slots: (string | undefined)[] = new Array(count);
  for (let i = 0; i < Math.min(count, before.length); i++) {
    const to = before[i] as string;
    const left = missing.get(to) ?? 0;
    if (left === 0) continue;
    slots[i] = to;
    missing.set(to, left - 1);
  }
  const rest = interleave(missing);
  for (let i = 0; i < count; i++) slots[i] ??= rest.pop() as string;
  return slots as string[];
}

/** Round robin, in reverse, so that `pop` takes the first destination first. */
function interleave(missing: ReadonlyMap<string, number>): string[] {
  const rest: string[] = [];
  const left = [...missing].filter(([, n]) => n > 0);
  for (let round = 0; left.some(([, n]) => n > round); round++) {
    for (const [to, n] of left) if (n > round) rest.push(to);
  }
  return rest.reverse();
}
