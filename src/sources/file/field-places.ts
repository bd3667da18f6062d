import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ObjectPlace } from './folder.ts';
import { idOf, type ObjectId } from './parse-file.ts';
import { defaultLimits, type Place, parseYaml, type YamlDocument } from './yaml-documents.ts';

export interface FilePlace extends Place {
  /** Relative to the folder, with `/`. */
  readonly file: string;
}

interface NamedObject {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** Nobody reads so many problems at once; the places of further fields are those of their objects. */
const maxFiles = 100;

/**
 * Where objects of a folder and their fields stand. Files are read again, each once, because keeping the places of all
 * fields would cost more than the objects: make one for a page or a command. A file that has changed since gives
 * the place of the object.
 */
export class FieldPlaces {
  readonly #folder: string;
  readonly #placeOf: (id: ObjectId) => ObjectPlace | undefined;
  readonly #documents = new Map<string, readonly YamlDocument[]>();

  constructor(folder: string, placeOf: (id: ObjectId) => ObjectPlace | undefined) {
    this.#folder = folder;
    this.#placeOf = placeOf;
  }

  /** Of a field, as `spec.rules[0]`; empty: of the object. Undefined: no file has this object. */
  of({ kind, namespace, name }: NamedObject, path: string): FilePlace | undefined {
    const id = idOf(kind, namespace, name);
    const object = id === undefined ? undefined : this.#placeOf(id);
    if (!object) return undefined;
    const { file, line, column, document, at } = object;
    const own = { file, line, column };
    if (path === '') return own;
    const text = this.#read(file)[document];
    // Another object may stand there by now.
    const begin = text?.locate(at === '' ? 'kind' : at);
    if (!text || begin?.line !== line) return own;
    return { file, ...text.locate(at + path) };
  }

  #read(file: string): readonly YamlDocument[] {
    const known = this.#documents.get(file);
    if (known) return known;
    if (this.#documents.size >= maxFiles) return [];
    const documents = parse(join(this.#folder, file));
    this.#documents.set(file, documents);
    return documents;
  }
}

function parse(path: string): readonly YamlDocument[] {
  try {
    const text = readFileSync(path, 'utf8');
    return text.length > defaultLimits.length ? [] : parseYaml(text).documents;
  } catch {
    return [];
  }
}
