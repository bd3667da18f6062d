import { eachElement, ListingParser } from './parse.ts';
import { NftError, type NftRunner, type ReadOptions } from './runner.ts';
import { tableName } from './schema.ts';
import { emptyTable, type Table, tableText } from './table.ts';

interface State {
  readonly declarations: Map<string, readonly string[]>;
  readonly elements: Map<string, Map<string, string>>;
  readonly chains: Map<string, readonly string[]>;
  /** Chains that the transaction under way adds to a table that was there. */
  readonly added: Set<string>;
}

/** A kernel's tables; it refuses what the real one refuses, for the commands we send. */
export class FakeKernel implements NftRunner {
  #tables = new Map<string, State>();
  /** Texts given to `run` that were committed. */
  readonly committed: string[] = [];
  lists = 0;
  /** Elements in one transaction; more is "Message too long". */
  maxElements = Number.POSITIVE_INFINITY;
  /** Takes a verdict that leads to a chain of the same transaction, as the real one does. */
  takesNewChains = false;
  /** Refuses a transaction for a reason of its own. */
  refuse: (text: string) => string | undefined = () => undefined;

  async run(text: string): Promise<void> {
    const reason = this.refuse(text);
    if (reason !== undefined) throw new NftError(reason);
    this.#tables = this.#transact(text);
    this.committed.push(text);
  }

  async check(text: string): Promise<void> {
    this.#transact(text);
  }

  async read(take: (line: string) => void, { terse = false }: ReadOptions = {}): Promise<void> {
    this.lists += 1;
    if (!this.#tables.has(tableName)) return;
    const listed = tableText({ ...this.table, ...(terse ? { elements: new Map() } : {}) }, tableName);
    for (const line of listed.split('\n')) take(line);
  }

  get table(): Table {
    const state = this.#tables.get(tableName);
    return state ? { ...state, counters: new Map() } : emptyTable;
  }

  /** Changes the table behind the agent's back. */
  tamper(change: (state: State) => void): void {
    const state = this.#tables.get(tableName);
    if (state) change(state);
  }

  /** Somebody deletes the table. */
  drop(): void {
    this.#tables.delete(tableName);
  }

  #transact(text: string): Map<string, State> {
    const tables = new Map([...this.#tables].map(([name, state]) => [name, copy(state)]));
    const fresh = new Set<string>();
    let count = 0;
    const lines = text.split('\n').map((l) => l.trim());
    for (let i = 0; i < lines.length; i++) {
      const line = lines[i] as string;
      if (line === '') continue;
      const [, verb, name = '', rest = ''] =
        /^(add table|delete table|table|add element|delete element|delete chain) (inet [\w-]+) ?(.*)$/.exec(
          line,
        ) ?? [];
      const state = tables.get(name);
      if (verb === 'add table' || verb === 'table') {
        const made = state ?? {
          declarations: new Map(),
          elements: new Map(),
          chains: new Map(),
          added: new Set<string>(),
        };
        tables.set(name, made);
        if (!state) fresh.add(name);
        if (verb === 'add table') continue;
        const parser = new ListingParser(name, {
          declaration: (set, body) => made.declarations.set(set, body),
          chain: (chain, rules) => {
            made.chains.set(chain, [...(made.chains.get(chain) ?? []), ...rules]);
            if (!fresh.has(name) && !this.takesNewChains) made.added.add(chain);
          },
          element: () => {},
        });
        for (parser.line(line); !parser.ended && i + 1 < lines.length; ) parser.line(lines[++i] as string);
      } else if (!verb) {
        throw new NftError(`syntax error, in ${JSON.stringify(line)}`);
      } else if (!state) {
        throw missing(line);
      } else if (verb === 'delete table') {
        tables.delete(name);
      } else if (verb === 'delete chain') {
        deleteChain(state, rest);
      } else {
        for (i++; i < lines.length && lines[i] !== '}'; i++) {
          const elements = new Map<string, string>();
          eachElement(lines[i] as string, (key, data) => elements.set(key, data));
          count += elements.size;
          change(state, verb === 'add element', rest.replace(/ \{$/, ''), elements);
        }
      }
    }
    if (count > this.maxElements) throw new NftError('Message too long', { tooLong: true });
    return tables;
  }
}

const missing = (what: string): NftError =>
  new NftError(`No such file or directory, in ${JSON.stringify(what)}`);

function copy(state: State): State {
  return {
    declarations: new Map(state.declarations),
    elements: new Map([...state.elements].map(([k, v]) => [k, new Map(v)])),
    chains: new Map(state.chains),
    added: new Set(),
  };
}

/** EBUSY while a verdict or a rule leads to it. */
function deleteChain(state: State, chain: string): void {
  if (!state.chains.has(chain)) throw missing(chain);
  const target = new RegExp(`(goto|jump) ${chain}$`);
  const used =
    [...state.elements.values()].some((map) => [...map.values()].some((data) => target.test(data))) ||
    [...state.chains.values()].some((rules) => rules.some((r) => target.test(r)));
  if (used) throw new NftError(`Device or resource busy, in ${JSON.stringify(chain)}`);
  state.chains.delete(chain);
}

function change(state: State, add: boolean, set: string, elements: ReadonlyMap<string, string>): void {
  if (!state.declarations.has(set)) throw missing(set);
  const map = state.elements.get(set) ?? new Map<string, string>();
  state.elements.set(set, map);
  for (const [key, data] of elements) {
    const there = map.get(key);
    if (!add) {
      if (!map.delete(key)) throw missing(key);
      continue;
    }
    if (there !== undefined && there !== data) throw new NftError(`File exists, in ${JSON.stringify(key)}`);
    const chain = /^goto (\S+)$/.exec(data)?.[1];
    if (chain !== undefined && !state.chains.has(chain)) throw missing(data);
    // The kernel takes it, but packets under way would find the chain empty.
    if (chain !== undefined && state.added.has(chain))
      throw new NftError(`${chain} is as new as its verdict`);
    map.set(key, data);
  }
  if (map.size === 0) state.elements.delete(set);
}
