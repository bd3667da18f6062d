import { type Kind, kinds, type Projection, project } from '../../api/kinds.ts';
import type { ProjectionFailure } from '../../api/project.ts';
import type { FileProblem } from './file-problem.ts';
import { type Place, parseYaml, type YamlDocument, type YamlLimits } from './yaml-documents.ts';

/** `<kind>/<key>`: one object of the folder. */
export type ObjectId = string;

export const objectId = ({ kind, key }: { readonly kind: string; readonly key: string }): ObjectId =>
  `${kind}/${key}`;

/** The id of an object whose names are known, though it may be broken. */
export function idOf(kind: string, namespace: string, name: string): ObjectId | undefined {
  if (name === '' || !Object.hasOwn(kinds, kind)) return undefined;
  const { namespaced } = kinds[kind as Kind];
  return objectId({ kind, key: namespaced ? `${namespace || 'default'}/${name}` : name });
}

export interface FileObject {
  readonly id: ObjectId;
  readonly projection: Projection;
  readonly place: Place;
  /** Which document of the file, from 0, and where in it, with a trailing dot; empty: it is the whole document. */
  readonly document: number;
  readonly at: string;
}

export interface ParsedFile {
  /** Each id once, in the file's order. */
  readonly objects: readonly FileObject[];
  readonly problems: readonly FileProblem[];
  /** Objects that are in the file and broken: their last good version stays in force. */
  readonly broken: ReadonlySet<ObjectId>;
  /** Some of it could not be read, so an object that is not found is not known to be gone. */
  readonly partial: boolean;
}

/** The objects of one file: documents, `List`s and their items. Never throws. */
export function parseFile(file: string, source: string, limits?: YamlLimits): ParsedFile {
  const { documents, fault } = parseYaml(source, limits);
  const result = {
    objects: new Map<ObjectId, FileObject>(),
    problems: [] as FileProblem[],
    broken: new Set<ObjectId>(),
    partial: false,
  };
  for (const [index, document] of documents.entries()) {
    for (const { place, message } of document.faults) {
      result.partial = true;
      result.problems.push({ ...anonymous, severity: 'error', file, ...place, message });
    }
    const within = { file, document, index };
    if (document.faults.length === 0) readObject(within, document.value, '', undefined, result);
  }
  if (fault) {
    result.partial = true;
    const message = `${fault.message}; nothing after this was read`;
    result.problems.unshift({ ...anonymous, severity: 'error', file, ...fault.place, message });
  }
  return { ...result, objects: [...result.objects.values()], problems: shownOf(result.problems) };
}

/** Nobody reads more of one file; errors go first. */
const maxProblems = 100;

function shownOf(problems: readonly FileProblem[]): readonly FileProblem[] {
  if (problems.length <= maxProblems) return problems;
  const weight = ({ severity }: FileProblem): number => (severity === 'error' ? 0 : 1);
  const sorted = [...problems].sort((a, b) => weight(a) - weight(b));
  const shown = sorted.slice(0, maxProblems);
  const next = sorted[maxProblems] as FileProblem;
  const message = `${problems.length - maxProblems} more problems in this file are not shown, this is the first of them`;
  const { severity, file, line, column } = next;
  return [...shown, { ...anonymous, severity, file, line, column, message }];
}

const anonymous = { kind: '', namespace: '', name: '', path: '' } as const;

interface Result {
  readonly objects: Map<ObjectId, FileObject>;
  readonly problems: FileProblem[];
  readonly broken: Set<ObjectId>;
  partial: boolean;
}

const maxItems = 20_000;

interface Within {
  readonly file: string;
  readonly document: YamlDocument;
  /** Of the document in the file. */
  readonly index: number;
}

/** `at`: where in the document the object stands, with a trailing dot. */
function readObject(
  within: Within,
  value: unknown,
  at: string,
  typed: { readonly apiVersion: unknown; readonly kind: string } | undefined,
  result: Result,
): void {
  const { file, document, index } = within;
  const fields =
    typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...typed, ...value } : value;
  const list = asList(fields);
  if (list && at === '') {
    for (const [i, item] of list.items.slice(0, maxItems).entries()) {
      readObject(within, item, `items[${i}].`, list.typed, result);
    }
    if (list.items.length <= maxItems) return;
    const message = `expected at most ${maxItems} items, found ${list.items.length}`;
    result.partial = true;
    result.problems.push({
      ...anonymous,
      severity: 'error',
      file,
      ...document.locate('items'),
      path: 'items',
      message,
    });
    return;
  }
  const projection = project(fields);
  if ('errors' in projection) {
    refuse(file, document, projection, at, result);
    return;
  }
  const { namespace, name } = projection.value.metadata;
  const place = document.locate(at === '' ? 'kind' : at);
  const id = objectId(projection);
  const first = result.objects.get(id);
  if (first) {
    const message = `expected each object once, found it at line ${first.place.line} as well; that one is taken`;
    result.problems.push({
      severity: 'error',
      file,
      ...place,
      kind: projection.kind,
      namespace,
      name,
      path: '',
      message,
    });
    return;
  }
  result.objects.set(id, { id, projection, place, document: index, at });
}

function refuse(
  file: string,
  document: YamlDocument,
  failure: ProjectionFailure,
  at: string,
  result: Result,
): void {
  const { unknownKind, kind, namespace, name, errors } = failure;
  for (const error of errors) {
    const { line, column } = document.locate(at + error.path);
    result.problems.push({
      severity: unknownKind ? 'note' : 'error',
      file,
      line,
      column,
      kind,
      namespace,
      name,
      path: at + error.path,
      message: error.message,
      ...(error.hint === undefined ? {} : { hint: error.hint }),
    });
  }
  if (unknownKind) return;
  const id = idOf(kind, namespace, name);
  if (id === undefined) result.partial = true;
  else result.broken.add(id);
}

/** `kind: List`, or a list of one kind, whose items may leave out what the list says. */
function asList(value: unknown):
  | {
      readonly items: readonly unknown[];
      readonly typed: { readonly apiVersion: unknown; readonly kind: string } | undefined;
    }
  | undefined {
  const { kind, apiVersion, items } = (value ?? {}) as Record<string, unknown>;
  if (typeof kind !== 'string' || !kind.endsWith('List') || !Array.isArray(items)) return undefined;
  const of = kind.slice(0, -'List'.length);
  return { items, typed: of === '' ? undefined : { apiVersion, kind: of } };
}
