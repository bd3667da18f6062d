import { tableName } from './schema.ts';
import type { Table } from './table.ts';
import type { Counter } from './transaction.ts';

/** What `nft -y list table` prints of our table; undefined when the text holds no such table. */
export function parseTable(text: string): Table | undefined {
  const lines = text.split('\n').map((l) => l.trim());
  const start = lines.indexOf(`table ${tableName} {`);
  if (start < 0) return undefined;
  return parseBlock(lines, start + 1).table;
}

/** The content of a table block from the line after its opening brace; `end` is the line of its closing brace. */
export function parseBlock(lines: readonly string[], from: number): { table: Table; end: number } {
  const declarations = new Map<string, readonly string[]>();
  const elements = new Map<string, Map<string, string>>();
  const chains = new Map<string, readonly string[]>();
  const counters = new Map<string, Counter>();
  let i = from;
  for (; i < lines.length && lines[i] !== '}'; i++) {
    const head = /^(map|set|chain) (\S+) \{/.exec(lines[i] as string);
    if (!head) continue;
    const name = head[2] as string;
    const body: string[] = [];
    for (i++; i < lines.length && lines[i] !== '}'; i++) {
      let line = lines[i] as string;
      const opening = /^elements = \{\s*/.exec(line);
      if (!opening) {
        if (line !== '') body.push(line);
        continue;
      }
      const map = new Map<string, string>();
      for (line = line.slice(opening[0].length); ; line = lines[++i] ?? '}') {
        parseElements(line, name, map, counters);
        if (line.endsWith('}')) break;
      }
      elements.set(name, map);
    }
    if (head[1] === 'chain') chains.set(name, body);
    else declarations.set(name, body);
  }
  return { table: { declarations, elements, chains, counters }, end: i };
}

/** A line of elements, as `a . b counter packets 1 bytes 60 : goto c, a . d : drop }`. */
export function parseElements(
  line: string,
  set: string,
  into: Map<string, string>,
  counters: Map<string, Counter>,
): void {
  for (const part of line.replace(/\}$/, '').split(',')) {
    const text = part.trim();
    if (text === '') continue;
    const colon = text.lastIndexOf(' : ');
    let key = colon < 0 ? text : text.slice(0, colon);
    const count = key.indexOf(' counter packets ');
    if (count >= 0) {
      const [, packets, bytes] = /packets (\d+) bytes (\d+)/.exec(key.slice(count)) ?? [];
      key = key.slice(0, count);
      counters.set(`${set} ${key}`, { packets: Number(packets), bytes: Number(bytes) });
    }
    into.set(key, colon < 0 ? '' : text.slice(colon + 3));
  }
}
