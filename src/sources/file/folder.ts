import { isDeepStrictEqual } from 'node:util';
import type { Projection } from '../../api/kinds.ts';
import type { Change } from '../../model/inputs.ts';
import type { FileProblem } from './file-problem.ts';
import type { Identities } from './identity.ts';
import { type FileObject, idOf, type ObjectId, type ParsedFile } from './parse-file.ts';
import type { Place } from './yaml-documents.ts';

interface HeldObject extends FileObject {
  /** Epoch milliseconds at which this version was read. */
  readonly readAt: number;
}

/** Where an object stands. */
export interface ObjectPlace extends Place, Pick<FileObject, 'document' | 'at'> {
  readonly file: string;
}

interface HeldFile {
  readonly objects: ReadonlyMap<ObjectId, HeldObject>;
  readonly problems: readonly FileProblem[];
}

/**
 * What a folder's files say together. The last good version of a broken object, and all of a file that cannot be
 * read, stay in force; of an object that several files have, the first path's counts.
 */
export class Folder {
  readonly #files = new Map<string, HeldFile>();
  /** Which files have an object, in any order. */
  readonly #owners = new Map<ObjectId, Set<string>>();
  readonly #inForce = new Map<ObjectId, Projection>();
  readonly #touched = new Set<ObjectId>();
  readonly #identities: Identities;

  constructor(identities: Identities) {
    this.#identities = identities;
  }

  get objects(): number {
    return this.#inForce.size;
  }

  /** Something in it is broken, so that what is not found is not known to be gone. */
  get unsure(): boolean {
    return [...this.#files.values()].some((held) => held.problems.some((p) => p.severity === 'error'));
  }

  /** Of the object that is in force. */
  placeOf(id: ObjectId): ObjectPlace | undefined {
    const file = this.#firstFile(id);
    const object = file === undefined ? undefined : this.#files.get(file)?.objects.get(id);
    return file !== undefined && object
      ? { file, ...object.place, document: object.document, at: object.at }
      : undefined;
  }

  get presentIds(): ReadonlySet<ObjectId> {
    return new Set(this.#owners.keys());
  }

  /** A file was read. `now`: epoch milliseconds, for people. */
  set(file: string, parsed: ParsedFile, now: number): void {
    const before = this.#files.get(file);
    const objects = new Map<ObjectId, HeldObject>();
    for (const object of parsed.objects) objects.set(object.id, { ...object, readAt: now });
    const kept = new Set<ObjectId>();
    for (const [id, object] of before?.objects ?? []) {
      if (objects.has(id) || !(parsed.partial || parsed.broken.has(id))) continue;
      objects.set(id, object);
      kept.add(id);
    }
    const keptFrom = Math.max(0, ...[...kept].map((id) => before?.objects.get(id)?.readAt ?? 0));
    const problems = parsed.problems.map((problem): FileProblem => {
      if (problem.severity === 'note') return problem;
      const id = idOf(problem.kind, problem.namespace, problem.name);
      const own = id !== undefined && kept.has(id) ? before?.objects.get(id) : undefined;
      if (own) return { ...problem, keptFrom: own.readAt };
      return id === undefined && kept.size > 0 ? { ...problem, keptFrom } : problem;
    });
    this.#replace(file, { objects, problems });
  }

  /** A file that is there but cannot be read: what it said stays in force. */
  fail(file: string, problem: FileProblem): void {
    const before = this.#files.get(file);
    const objects = before?.objects ?? new Map<ObjectId, HeldObject>();
    const keptFrom = Math.max(0, ...[...objects.values()].map((o) => o.readAt));
    this.#replace(file, { objects, problems: [keptFrom > 0 ? { ...problem, keptFrom } : problem] });
  }

  remove(file: string): void {
    this.#replace(file, undefined);
  }

  /** What changed since the last call. `now`: epoch milliseconds, for people. */
  takeChanges(now: number): Change[] {
    const changes: Change[] = [];
    for (const id of [...this.#touched].sort()) {
      const winner = this.#winner(id);
      const before = this.#inForce.get(id);
      if (winner) {
        const projection = this.#identities.identify(winner.projection, now);
        if (before && isDeepStrictEqual(before.value, projection.value)) continue;
        this.#inForce.set(id, projection);
        changes.push(projection as Change);
      } else if (before) {
        this.#inForce.delete(id);
        this.#identities.gone(id);
        changes.push({ kind: before.kind, key: before.key, value: undefined } as Change);
      }
    }
    this.#touched.clear();
    return changes;
  }

  /** Sorted by file and line. */
  problems(): readonly FileProblem[] {
    const all = [...this.#files.values()].flatMap((held) => held.problems);
    for (const [id, files] of this.#owners) {
      if (files.size > 1) all.push(...this.#duplicates(id, [...files].sort()));
    }
    return all.sort((a, b) => compare(a.file, b.file) || a.line - b.line || compare(a.path, b.path));
  }

  #replace(file: string, held: HeldFile | undefined): void {
    for (const id of this.#files.get(file)?.objects.keys() ?? []) {
      this.#touched.add(id);
      const owners = this.#owners.get(id);
      owners?.delete(file);
      if (owners?.size === 0) this.#owners.delete(id);
    }
    if (!held) {
      this.#files.delete(file);
      return;
    }
    this.#files.set(file, held);
    for (const id of held.objects.keys()) {
      this.#touched.add(id);
      const owners = this.#owners.get(id);
      if (owners) owners.add(file);
      else this.#owners.set(id, new Set([file]));
    }
  }

  #winner(id: ObjectId): HeldObject | undefined {
    const first = this.#firstFile(id);
    return first === undefined ? undefined : this.#files.get(first)?.objects.get(id);
  }

  /** Of those that have it, the one that counts. */
  #firstFile(id: ObjectId): string | undefined {
    return [...(this.#owners.get(id) ?? [])].sort()[0];
  }

  #duplicates(id: ObjectId, [first, ...others]: readonly string[]): FileProblem[] {
    const taken = this.#files.get(first as string)?.objects.get(id);
    return others.flatMap((file) => {
      const object = this.#files.get(file)?.objects.get(id);
      if (!object || !taken) return [];
      const { namespace, name } = object.projection.value.metadata;
      return {
        severity: 'error' as const,
        file,
        ...object.place,
        kind: object.projection.kind,
        namespace,
        name,
        path: '',
        message: `expected each object in one file, found it at ${first}:${taken.place.line} as well; that one is taken`,
      };
    });
  }
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
