import type { Counter } from './transaction.ts';

/** A table's content: what was rendered, what we think the kernel holds, or what it lists. */
export interface Table {
  /** Set or map → the lines that declare it. */
  readonly declarations: ReadonlyMap<string, readonly string[]>;
  /** Set or map → key → data (empty in sets). A name that is missing has no elements. */
  readonly elements: ReadonlyMap<string, ReadonlyMap<string, string>>;
  /** Chain → rules, a base chain's hook line first. */
  readonly chains: ReadonlyMap<string, readonly string[]>;
  /** `<map> <key>` → counter, where the kernel counts. */
  readonly counters: ReadonlyMap<string, Counter>;
}

export const emptyTable: Table = {
  declarations: new Map(),
  elements: new Map(),
  chains: new Map(),
  counters: new Map(),
};

export interface Drift {
  /** Elements, chains, rules and sets that differ. */
  readonly count: number;
  /** Chains or sets that do not depend on what is wanted differ: only a replacement repairs that. */
  readonly schema: boolean;
  /** One of them, for the log. */
  readonly example: string;
}

/** What differs between two tables; undefined: nothing. Counters do not matter. */
export function drift(expected: Table, found: Table, isBase: (chain: string) => boolean): Drift | undefined {
  let count = 0;
  let schema = false;
  let example = '';
  const differs = (what: string, inSchema = false): void => {
    count += 1;
    schema ||= inSchema;
    example ||= what;
  };
  compare(expected.declarations, found.declarations, sameLines, (name) => differs(`set ${name}`, true));
  compare(expected.chains, found.chains, sameLines, (name) => {
    differs(`chain ${name}`, isBase(name) || (expected.chains.has(name) && found.chains.has(name)));
  });
  for (const set of new Set([...expected.elements.keys(), ...found.elements.keys()])) {
    const [e, f] = [expected.elements.get(set) ?? new Map(), found.elements.get(set) ?? new Map()];
    compare(
      e,
      f,
      (a, b) => a === b,
      (key) => differs(`${set} { ${key} }`),
    );
  }
  return count === 0 ? undefined : { count, schema, example };
}

export const sameLines = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((line, i) => line === b[i]);

function compare<T>(
  a: ReadonlyMap<string, T>,
  b: ReadonlyMap<string, T>,
  same: (a: T, b: T) => boolean,
  differs: (key: string) => void,
): void {
  for (const [key, value] of a) {
    const other = b.get(key);
    if (other === undefined || !same(value, other)) differs(key);
  }
  for (const key of b.keys()) if (!a.has(key)) differs(key);
}

/** The table as `nft` lists it, without counters. */
export function tableText(table: Table, name: string): string {
  const lines = [`table ${name} {`];
  for (const [set, declaration] of table.declarations) {
    lines.push(`\t${/ : /.test(declaration[0] ?? '') ? 'map' : 'set'} ${set} {`);
    lines.push(...declaration.map((l) => `\t\t${l}`));
    const elements = [...(table.elements.get(set) ?? [])].map(([k, data]) => (data ? `${k} : ${data}` : k));
    if (elements.length > 0) lines.push(`\t\telements = { ${elements.join(',\n\t\t\t     ')} }`);
    lines.push('\t}', '');
  }
  for (const [chain, rules] of table.chains) {
    lines.push(`\tchain ${chain} {`, ...rules.map((r) => `\t\t${r}`), '\t}', '');
  }
  if (lines.at(-1) === '') lines.pop();
  return `${[...lines, '}'].join('\n')}\n`;
}
