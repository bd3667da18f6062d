import type { NftRunner } from './runner.ts';
import type { Table } from './table.ts';
import { type TraceEnd, type TraceQuery, trace } from './trace.ts';

/** A table from one commit to the next. */
export interface Generation {
  /** When it came into force, in ms. */
  readonly at: number;
  readonly table: Table;
}

/** A kernel that also notes every generation of its table. */
export function recording(
  kernel: NftRunner & { readonly table: Table },
  now: () => number,
): { readonly runner: NftRunner; readonly generations: Generation[] } {
  const generations: Generation[] = [];
  const runner: NftRunner = {
    run: async (text) => {
      await kernel.run(text);
      generations.push({ at: now(), table: kernel.table });
    },
    check: (text) => kernel.check(text),
    read: (take, options) => kernel.read(take, options),
  };
  return { runner, generations };
}

/**
 * Every end that a new connection can have while the table changes, for packets that are under way for less than
 * `longestMs`. `rejected` and `untouched` ends are connections that fail.
 *
 * When a hook begins the kernel notes which of two sets of rules is in force; a commit writes the other one, and the
 * next commit brings this one up to date before it shows its elements. Elements are looked up in the generation of
 * the moment. So the verdict is of the first or a later generation, the slot of the verdict's or a later one, and
 * the chain has the rules of the verdict's generation or of the one before.
 */
export function endsInFlight(
  generations: readonly Generation[],
  query: TraceQuery,
  longestMs: number,
): readonly TraceEnd[] {
  const ends: TraceEnd[] = [];
  for (const [first, begin] of generations.entries()) {
    // A generation is in force until the next one.
    const until = generations[first + 1]?.at ?? begin.at;
    const reach = generations.slice(first).filter((g, i) => i === 0 || g.at - until < longestMs);
    for (const [i, verdicts] of reach.entries()) {
      const rules = (i % 2 === 0 ? verdicts : reach[i - 1]) ?? verdicts;
      for (const slots of reach.slice(i)) {
        const table = seen(begin.table, verdicts.table, slots.table);
        ends.push(...trace({ ...table, chains: rules.table.chains }, query));
      }
    }
  }
  return ends;
}

/** A table with each kind of element as of its own time. */
function seen(begin: Table, verdicts: Table, slots: Table): Table {
  const elements = new Map<string, ReadonlyMap<string, string>>();
  for (const [table, kind] of [
    [begin, /^noep/],
    [verdicts, /^vip/],
    [slots, /^(?!noep|vip)/],
  ] as const) {
    for (const [set, content] of table.elements) if (kind.test(set)) elements.set(set, content);
  }
  return { ...slots, elements };
}
