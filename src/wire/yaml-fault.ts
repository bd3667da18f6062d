import type { ErrorCode } from 'yaml';

/** What the parser says of a place that is not YAML. */
export interface ParserError {
  readonly code: ErrorCode;
  readonly message: string;
  /** Offset in the text. */
  readonly pos: readonly [number, number];
}

/** What was expected, by the parser's message where its code has several, else by its code. */
const byMessage: readonly (readonly [RegExp, string])[] = [
  [/^Missing closing (["'])/, 'the closing $1 of a text'],
  [/followed by map values/, '": " and a value after a key'],
  [/^Missing , /, 'a comma between the items of {…} or […]'],
  [/^Missing space after/, 'a space after ":"'],
  [/without - indicator/, '"- " before the item of a list'],
  [/^Each pair must have/, '"- " before each pair'],
  [/white ?space/, 'a space before this'],
  [/directives-end/, '"---" alone on a line before the document'],
  [/end with a [}\]]/, 'the closing } or ]'],
  [/mapping items must start|sequence items must start/, 'the indentation of the lines of the same level'],
];

const byCode: Readonly<Partial<Record<ErrorCode, string>>> = {
  ALIAS_PROPS: 'an alias (*name) alone, without an anchor or a tag',
  BAD_ALIAS: 'a name after "&" or "*"',
  BAD_COLLECTION_TYPE: 'a tag that goes with the value',
  BAD_DIRECTIVE: 'a directive of YAML',
  BAD_DQ_ESCAPE: 'an escape sequence of YAML after "\\" in a text in double quotes',
  BAD_INDENT: 'more or less indentation, as the lines around have it',
  BAD_PROP_ORDER: 'an anchor or tag after the indicator',
  BAD_SCALAR_START: 'quotes around a text that begins so',
  BLOCK_AS_IMPLICIT_KEY: 'one key on a line, or quotes around a text with ": " in it',
  BLOCK_IN_FLOW: '{…} or […] within {…} or […]',
  DUPLICATE_KEY: 'each key once',
  KEY_OVER_1024_CHARS: 'a key of at most 1024 characters',
  MISSING_CHAR: 'the rest of a value',
  MULTILINE_IMPLICIT_KEY: 'a key and its ":" on one line',
  MULTIPLE_DOCS: 'one document',
  MULTIPLE_ANCHORS: 'one anchor for a value',
  MULTIPLE_TAGS: 'one tag for a value',
  RESOURCE_EXHAUSTION: 'fewer levels of nesting',
  TAB_AS_INDENT: 'spaces as indentation',
  TAG_RESOLVE_FAILED: 'a value without a tag, or with one of YAML’s own',
  UNEXPECTED_TOKEN: 'the next key or item, or the end of the document',
};

/** A place that is not YAML, in the words of all other problems: what was expected and what was found. */
export function yamlFault(
  error: ParserError,
  source: string,
): { readonly offset: number; readonly message: string } {
  const [form, text] = byMessage.find(([m]) => m.test(error.message)) ?? [];
  const quote = form?.exec(error.message)?.[1] ?? '';
  const misplaced = misplacedLine(error, source);
  const offset = misplaced ?? error.pos[0];
  const expected =
    misplaced === undefined ? (text?.replace('$1', quote) ?? byCode[error.code] ?? 'YAML') : sameIndentation;
  return { offset, message: `not YAML: expected ${expected}, found ${foundAt(source, offset)}` };
}

/** The first of a text's faults, with its line; undefined: there is none. */
export function firstYamlFault(errors: readonly ParserError[], source: string): string | undefined {
  const [first] = errors;
  if (!first) return undefined;
  const { offset, message } = yamlFault(first, source);
  return `line ${source.slice(0, offset).split('\n').length} is ${message}`;
}

const sameIndentation = 'the indentation of the lines of the same level';
const ofLines: ReadonlySet<ErrorCode> = new Set(['BLOCK_AS_IMPLICIT_KEY', 'MULTILINE_IMPLICIT_KEY']);

/**
 * A line with more or less indentation than its neighbours reads as the rest of the value above it, and the parser
 * complains there. Undefined: it means what it says.
 */
function misplacedLine({ code, pos: [offset] }: ParserError, source: string): number | undefined {
  if (!ofLines.has(code)) return undefined;
  const start = source.lastIndexOf('\n', offset - 1) + 1;
  const end = source.indexOf('\n', offset);
  const rest = source.slice(offset, end < 0 ? source.length : end);
  if (source.slice(start, offset).trim() === '') return /^\s*(- |.*:(\s|$))/.test(rest) ? offset : undefined;
  if (end < 0 || rest.includes(': ')) return undefined;
  const next = /\S/.exec(source.slice(end));
  return next ? end + next.index : undefined;
}

const maxShown = 40;

/** The rest of the line. */
function foundAt(source: string, offset: number): string {
  if (source.slice(offset).trim() === '') return 'the end of the file';
  if (source[offset] === '\t') return 'a tab';
  const end = source.indexOf('\n', offset);
  const rest = source.slice(offset, end < 0 ? source.length : end).trim();
  if (rest === '') return 'the end of the line';
  return JSON.stringify(rest.length > maxShown ? `${rest.slice(0, maxShown)}…` : rest);
}
