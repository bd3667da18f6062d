import type { NftRunner } from './runner.ts';
import { tableName } from './schema.ts';
import type { Table } from './table.ts';
import type { Counter } from './transaction.ts';

/** What is told of a table, in the order of its text. */
export interface ListingVisitor {
  /** A set or map. Its elements have been told. */
  declaration(set: string, lines: readonly string[]): void;
  chain(name: string, rules: readonly string[]): void;
  element(set: string, key: string, data: string, counter: Counter | undefined): void;
}

/** What `nft -y list table` prints of our table; undefined when the text holds no such table. */
export function parseTable(text: string): Table | undefined {
  const builder = new TableBuilder();
  const parser = new ListingParser(tableName, builder);
  for (const line of text.split('\n')) parser.line(line);
  return parser.found ? builder : undefined;
}

/** Our table as the kernel lists it; undefined: there is none. `terse` leaves elements out. */
export async function readTable(runner: NftRunner, terse = false): Promise<Table | undefined> {
  const builder = new TableBuilder();
  const parser = new ListingParser(tableName, builder);
  await runner.read((line) => parser.line(line), { terse });
  return parser.found ? builder : undefined;
}

class TableBuilder implements Table, ListingVisitor {
  readonly declarations = new Map<string, readonly string[]>();
  readonly elements = new Map<string, Map<string, string>>();
  readonly chains = new Map<string, readonly string[]>();
  readonly counters = new Map<string, Counter>();

  declaration(set: string, lines: readonly string[]): void {
    this.declarations.set(set, lines);
  }

  chain(name: string, rules: readonly string[]): void {
    this.chains.set(name, rules);
  }

  element(set: string, key: string, data: string, counter: Counter | undefined): void {
    const elements = this.elements.get(set) ?? new Map<string, string>();
    this.elements.set(set, elements.set(key, data));
    if (counter && counter.packets > 0) this.counters.set(`${set} ${key}`, counter);
  }
}

/** Takes a listing line by line and tells a visitor of one table in it. */
export class ListingParser {
  readonly #opening: string;
  readonly #visitor: ListingVisitor;
  #state: 'before' | 'table' | 'block' | 'elements' | 'after' = 'before';
  #kind = '';
  #name = '';
  #body: string[] = [];

  constructor(table: string, visitor: ListingVisitor) {
    this.#opening = `table ${table} {`;
    this.#visitor = visitor;
  }

  /** The table has begun. */
  get found(): boolean {
    return this.#state !== 'before';
  }

  /** The table has ended. */
  get ended(): boolean {
    return this.#state === 'after';
  }

  line(text: string): void {
    const line = text.trim();
    if (this.#state === 'elements') this.#elements(line);
    else if (this.#state === 'block') this.#inBlock(line);
    else if (this.#state === 'table') this.#inTable(line);
    else if (this.#state === 'before' && line === this.#opening) this.#state = 'table';
  }

  #inTable(line: string): void {
    if (line === '}') this.#state = 'after';
    const head = /^(map|set|chain) (\S+) \{/.exec(line);
    if (!head) return;
    [, this.#kind = '', this.#name = ''] = head;
    this.#body = [];
    this.#state = 'block';
  }

  #inBlock(line: string): void {
    const opening = /^elements = \{\s*/.exec(line);
    if (opening) {
      this.#state = 'elements';
      this.#elements(line.slice(opening[0].length));
    } else if (line === '}') {
      if (this.#kind === 'chain') this.#visitor.chain(this.#name, this.#body);
      else this.#visitor.declaration(this.#name, this.#body);
      this.#state = 'table';
    } else if (line !== '') this.#body.push(line);
  }

  #elements(line: string): void {
    eachElement(line, (key, data, counter) => this.#visitor.element(this.#name, key, data, counter));
    if (line.endsWith('}')) this.#state = 'block';
  }
}

/** A line of elements, as `a . b counter packets 1 bytes 60 : goto c, a . d : drop }`. */
export function eachElement(
  line: string,
  take: (key: string, data: string, counter: Counter | undefined) => void,
): void {
  for (const part of line.split(',')) {
    const text = (part.endsWith('}') ? part.slice(0, -1) : part).trim();
    if (text === '') continue;
    const colon = text.lastIndexOf(' : ');
    const key = colon < 0 ? text : text.slice(0, colon);
    const data = colon < 0 ? '' : text.slice(colon + 3);
    const count = key.indexOf(' counter packets ');
    if (count < 0) take(key, data, undefined);
    else take(key.slice(0, count), data, counterOf(key.slice(count)));
  }
}

function counterOf(text: string): Counter {
  const [, packets, bytes] = /packets (\d+) bytes (\d+)/.exec(text) ?? [];
  return { packets: Number(packets), bytes: Number(bytes) };
}
