import {
  type Alias,
  Composer,
  type Document,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  Lexer,
  type Node,
  type ParsedNode,
  Parser,
  type Scalar,
} from 'yaml';
import { yamlFault } from '../../wire/yaml-fault.ts';

/** One-based, as editors count. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

export interface Fault {
  readonly place: Place;
  /** What was expected and found, without a trailing period. */
  readonly message: string;
}

export interface YamlDocument {
  /** Plain data; objects have no prototype. Undefined when there are faults. */
  readonly value: unknown;
  readonly faults: readonly Fault[];
  /** Where a field stands, as `spec.rules[0].backendRefs`; the nearest thing above it when it is not there. */
  locate(path: string): Place;
}

export interface YamlLimits {
  /** UTF-16 code units of the whole text. */
  readonly length: number;
  readonly documents: number;
  /** Tokens of one document: what parsing it costs. */
  readonly tokens: number;
  readonly depth: number;
  /** How many more values aliases may stand for than are written. */
  readonly aliasedValues: number;
  /** Documents with faults, after which the rest is not looked at. */
  readonly faultyDocuments: number;
}

export const defaultLimits: YamlLimits = {
  length: 8 * 1024 * 1024,
  documents: 20_000,
  tokens: 400_000,
  depth: 64,
  aliasedValues: 10_000,
  faultyDocuments: 20,
};

/**
 * A stream of YAML (or JSON) documents, each usable by itself. What exceeds a limit ends the stream with `fault`:
 * what comes after it was not looked at. Empty documents are left out. Its work is linear in the text.
 */
export function parseYaml(
  source: string,
  limits: YamlLimits = defaultLimits,
): { documents: YamlDocument[]; fault?: Fault } {
  const documents: YamlDocument[] = [];
  const lines = new Lines(source);
  if (source.length > limits.length) {
    const message = `expected at most ${limits.length} characters in a file, found ${source.length}`;
    return { documents, fault: { place: { line: 1, column: 1 }, message } };
  }
  const parser = new Parser();
  // Duplicate keys are looked for here: the composer's own check is quadratic.
  const composer = new Composer({ uniqueKeys: false, prettyErrors: false, logLevel: 'silent' });
  const end = (message: string) => {
    for (const document of composer.end()) take(document);
    return { documents, fault: { place: lines.place(parser.offset), message } };
  };
  let faulty = 0;
  const take = (document: Document.Parsed): string | undefined => {
    const read = readDocument(document, lines, limits);
    if (read) documents.push(read);
    if (documents.length > limits.documents)
      return `expected at most ${limits.documents} documents in a file`;
    if (read && read.faults.length > 0) faulty += 1;
    return faulty > limits.faultyDocuments
      ? `found more than ${limits.faultyDocuments} broken documents`
      : undefined;
  };

  let tokens = 0;
  for (const lexeme of new Lexer().lex(source)) {
    tokens += 1;
    if (depthOf(parser) > limits.depth) return end(`expected at most ${limits.depth} levels of nesting`);
    if (tokens > limits.tokens) return end(`expected a document of at most ${limits.tokens} tokens`);
    for (const token of parser.next(lexeme)) {
      if (token.type === 'document') tokens = 0;
      for (const document of composer.next(token)) {
        const stop = take(document);
        if (stop !== undefined) return end(stop);
      }
    }
  }
  for (const token of parser.end()) {
    for (const document of composer.next(token)) {
      const stop = take(document);
      if (stop !== undefined) return end(stop);
    }
  }
  for (const document of composer.end()) {
    const stop = take(document);
    if (stop !== undefined) return end(stop);
  }
  return { documents };
}

function depthOf({ stack }: Parser): number {
  // The document and an unfinished scalar are in the stack as well; counting is for deep ones only.
  return stack.length < 16
    ? stack.length
    : stack.filter(({ type }) => /^(block-(map|seq)|flow-collection)$/.test(type)).length;
}

const maxFaults = 5;

function readDocument(document: Document.Parsed, lines: Lines, limits: YamlLimits): YamlDocument | undefined {
  const root = document.contents as ParsedNode | null;
  const faults = syntaxFaults(document, lines);
  if (faults.length === 0 && (root === null || (isScalar(root) && root.value === null))) return undefined;
  const reader = new Reader(lines, limits);
  const value = faults.length === 0 ? reader.read(root) : undefined;
  faults.push(...reader.faults.slice(0, maxFaults));
  return {
    value: faults.length === 0 ? value : undefined,
    faults,
    locate: (path) => lines.place(locate(root, path, reader.anchors)),
  };
}

/** One for a line: what the parser says of the rest of it only follows. */
function syntaxFaults({ errors }: Document.Parsed, lines: Lines): Fault[] {
  const byLine = new Map<number, Fault>();
  for (const error of errors.slice(0, 4 * maxFaults)) {
    const { offset, message } = yamlFault(error, lines.source);
    const place = lines.place(offset);
    if (!byLine.has(place.line)) byLine.set(place.line, { place, message });
  }
  return [...byLine.values()].slice(0, maxFaults);
}

/** A node tree as plain data. An alias becomes the very value of its anchor, so that nothing multiplies. */
class Reader {
  readonly faults: Fault[] = [];
  readonly anchors = new Map<string, { node: Node; value: unknown; size: number }>();
  readonly #lines: Lines;
  readonly #limits: YamlLimits;
  #aliased = 0;

  constructor(lines: Lines, limits: YamlLimits) {
    this.#lines = lines;
    this.#limits = limits;
  }

  read(node: unknown): unknown {
    return this.#read(node).value;
  }

  /** `size`: how many values it stands for, those behind aliases included. */
  #read(node: unknown): { value: unknown; size: number } {
    if (isAlias(node)) return this.#alias(node);
    let read: { value: unknown; size: number };
    if (isMap(node)) read = this.#map(node.items);
    else if (isSeq(node)) read = this.#list(node.items);
    else read = { value: isScalar(node) ? scalar(node) : null, size: 1 };
    const anchor = (node as { anchor?: string } | null)?.anchor;
    if (anchor !== undefined) this.anchors.set(anchor, { node: node as Node, ...read });
    return read;
  }

  #map(items: readonly unknown[]): { value: unknown; size: number } {
    const value: Record<string, unknown> = Object.create(null);
    let size = 1;
    for (const pair of items) {
      if (!isPair(pair)) continue;
      const key = isScalar(pair.key) ? keyText(pair.key) : undefined;
      if (key === undefined)
        this.#fault(pair.key, 'expected a word as the key of a map, found a list, a map or an alias');
      else if (key === '<<')
        this.#fault(pair.key, 'expected plain keys, found a merge key "<<", which is not read');
      else if (Object.hasOwn(value, key))
        this.#fault(pair.key, `expected each key once, found ${JSON.stringify(key)} again`);
      const read = this.#read(pair.value);
      size += read.size;
      if (key !== undefined) value[key] = read.value;
    }
    return { value, size };
  }

  #list(items: readonly unknown[]): { value: unknown; size: number } {
    let size = 1;
    const value = items.map((item) => {
      const read = this.#read(item);
      size += read.size;
      return read.value;
    });
    return { value, size };
  }

  #alias(alias: Alias): { value: unknown; size: number } {
    const anchor = this.anchors.get(alias.source);
    if (!anchor) {
      this.#fault(alias, `expected an anchor &${alias.source} that ends before this alias, found none`);
      return { value: null, size: 1 };
    }
    const within = this.#aliased <= this.#limits.aliasedValues;
    this.#aliased += anchor.size;
    if (this.#aliased > this.#limits.aliasedValues) {
      if (within)
        this.#fault(alias, `expected aliases for at most ${this.#limits.aliasedValues} values, found more`);
      return { value: null, size: 1 };
    }
    return anchor;
  }

  #fault(node: unknown, message: string): void {
    if (this.faults.length < maxFaults) this.faults.push({ place: this.#lines.place(start(node)), message });
  }
}

/** What JSON can hold: text for everything that YAML 1.1 would make a date, a big number or bytes. */
function scalar(node: Scalar): string | number | boolean | null {
  const { value } = node;
  if (value === null || value === undefined) return null;
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  return node.source ?? '';
}

const keyText = (node: Scalar): string =>
  typeof node.value === 'string' ? node.value : (node.source ?? String(scalar(node)));

const start = (node: unknown): number => (node as { range?: readonly number[] } | null)?.range?.[0] ?? 0;

const segment = /\.?(?:([^.[\]]+)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\])/gy;

/** The offset of the key or list item that `path` names, or of the last one on the way to it. */
function locate(root: unknown, path: string, anchors: ReadonlyMap<string, { node: Node }>): number {
  let node: unknown = root;
  let at = start(root);
  for (const [, name, index, quoted] of path.matchAll(segment)) {
    if (isAlias(node)) node = anchors.get(node.source)?.node;
    if (index !== undefined) {
      if (!isSeq(node) || node.items[Number(index)] === undefined) break;
      node = node.items[Number(index)];
      at = start(node);
      continue;
    }
    const key = name ?? unquote(quoted ?? '');
    const pair = isMap(node) ? node.items.find((p) => isScalar(p.key) && keyText(p.key) === key) : undefined;
    if (!pair) break;
    at = start(pair.key);
    node = pair.value;
  }
  return at;
}

function unquote(text: string): string {
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    return text;
  }
}

/** Offsets to places. */
class Lines {
  readonly source: string;
  readonly #starts: number[] = [0];

  constructor(source: string) {
    this.source = source;
    for (let at = source.indexOf('\n'); at >= 0; at = source.indexOf('\n', at + 1)) this.#starts.push(at + 1);
  }

  place(offset: number): Place {
    let low = 0;
    let high = this.#starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#starts[middle] as number) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (this.#starts[low] as number) + 1 };
  }
}
