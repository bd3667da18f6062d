import { hash } from 'node:crypto';
import { BorrowedEntry, type Entry, encodedEntry, entryAt, type Resource } from './log-entry.ts';
import { TypeLog } from './type-log.ts';

/** Somebody who follows the log. */
export interface LogReader {
  /** Entries became visible: something may be waiting. */
  changed(): void;
  /** Names whose absence was no fact may be absent now. */
  settled(): void;
  /** Everything of this type up to here has been read. */
  floor(typeUrl: string): number;
  /** It is too far behind: what it has not read was dropped. */
  overflow(): void;
}

export interface ResourceLogOptions {
  /**
   * Is it a fact that this name, which the log does not hold, does not exist? Where it is not (its origin has not
   * told everything yet), the name is answered neither with a body nor with a removal. Default: always a fact.
   */
  readonly absent?: (typeUrl: string, name: string) => boolean;
  /** Removed names kept for readers that are behind; beyond it the slowest are cut off. */
  readonly maxTombstones?: number;
  /** Superseded entries of a type that are kept before they are cleared away. */
  readonly slack?: number;
  /** Somebody else holds the bodies anyway: they are not held encoded as well. */
  readonly borrows?: boolean;
}

const nothing = Buffer.alloc(0);

/** Names a content: 16 characters of its SHA-256. */
export const contentVersion = (body: Uint8Array): string =>
  // Not a part of a longer text, which it would hold for as long as it is there.
  hash('sha256', body, 'buffer').toString('base64url', 0, 12);

/**
 * All resources of one server, and in which order they changed. Streams hold cursors into it; `flush` tells them
 * that there is something to read. Until `open`, nothing is answered: an incomplete log must not lead to removals.
 */
export class ResourceLog {
  readonly #types = new Map<string, TypeLog>();
  readonly #readers = new Set<LogReader>();
  readonly #absent: (typeUrl: string, name: string) => boolean;
  readonly #maxTombstones: number;
  readonly #slack: number;
  readonly #borrows: boolean;
  readonly #shared = new Map<string, unknown>();
  #position = 0;
  #nonce = 0;
  #open = false;

  constructor(options: ResourceLogOptions = {}) {
    this.#absent = options.absent ?? (() => true);
    this.#maxTombstones = options.maxTombstones ?? 100_000;
    this.#slack = options.slack ?? 256;
    this.#borrows = options.borrows ?? false;
  }

  /** Of the newest entry. */
  get position(): number {
    return this.#position;
  }

  get isOpen(): boolean {
    return this.#open;
  }

  /** The log holds a complete state: streams may be answered. */
  open(): void {
    this.#open = true;
    this.flush();
  }

  /** False: nothing changed (the name already has this version and metadata). */
  set(typeUrl: string, resource: Resource): boolean {
    const { name, facts } = resource;
    const version = resource.version ?? contentVersion(resource.body);
    const type = this.#type(typeUrl);
    const old = type.get(name);
    if (old?.state === 'set' && old.version === version) {
      if (old.facts === facts && !resource.metadata) return false;
      const same = this.#entry(typeUrl, resource, version, old.seq);
      if (same.fragment.equals(old.fragment)) {
        type.replace(same);
        return false;
      }
    }
    type.put(this.#entry(typeUrl, resource, version, this.#next()));
    return true;
  }

  /** Readers are told it again, as it is. */
  tellAgain(typeUrl: string, name: string): void {
    const type = this.#type(typeUrl);
    const old = type.get(name);
    if (old?.state === 'set') type.put(entryAt(old, this.#next()));
  }

  remove(typeUrl: string, name: string): boolean {
    const type = this.#type(typeUrl);
    const old = type.get(name);
    if (!old || old.state === 'removed') return false;
    const { facts } = old;
    type.put({ name, state: 'removed', version: '', seq: this.#next(), fragment: nothing, facts });
    return true;
  }

  /** The content of the name is unknown for now: clients keep what they have, new ones get no answer. */
  withhold(typeUrl: string, name: string, facts?: unknown): boolean {
    const type = this.#type(typeUrl);
    const old = type.get(name);
    if (old?.state === 'withheld') return false;
    const seq = this.#next();
    type.put({ name, state: 'withheld', version: '', seq, fragment: nothing, facts: facts ?? old?.facts });
    return true;
  }

  /** To be called after a set of changes that belong together. */
  flush(): void {
    for (const [typeUrl, type] of this.#types) {
      if (type.superseded > this.#slack) this.#compact(typeUrl, type);
    }
    if (this.#open) for (const reader of [...this.#readers]) reader.changed();
  }

  /** The answer of `absent` may have changed. */
  settle(): void {
    this.#shared.clear();
    if (this.#open) for (const reader of [...this.#readers]) reader.settled();
  }

  /** Returns how to detach. */
  attach(reader: LogReader): () => void {
    this.#readers.add(reader);
    return () => this.#readers.delete(reader);
  }

  get(typeUrl: string, name: string): Entry | undefined {
    return this.#types.get(typeUrl)?.get(name);
  }

  /** Entries that are set, by name. */
  *entries(typeUrl: string): IterableIterator<Entry> {
    for (const entry of this.#types.get(typeUrl)?.all() ?? []) if (entry.state === 'set') yield entry;
  }

  /** Entries of any state that became so after `cursor`, in the order of the log. */
  since(typeUrl: string, cursor: number): Iterable<Entry> {
    return this.#types.get(typeUrl)?.since(cursor) ?? [];
  }

  /** Entries of any state whose name is `prefix` and a last segment. */
  under(typeUrl: string, prefix: string): Iterable<Entry> {
    return this.#types.get(typeUrl)?.under(prefix) ?? [];
  }

  /** Position of the newest entry of a type. */
  last(typeUrl: string): number {
    return this.#types.get(typeUrl)?.last ?? 0;
  }

  /** Whether it is a fact that `name`, of which the log has no entry, does not exist. */
  isAbsent(typeUrl: string, name: string): boolean {
    return this.#absent(typeUrl, name);
  }

  /** Unique among all streams of this log. */
  nextNonce(): string {
    this.#nonce += 1;
    return this.#nonce.toString(36);
  }

  /** What several streams need between two flushes, made once. */
  shared<T>(key: string, make: () => T): T {
    const known = this.#shared.get(key);
    if (known !== undefined) return known as T;
    const made = make();
    this.#shared.set(key, made);
    return made;
  }

  #entry(typeUrl: string, resource: Resource, version: string, seq: number): Entry {
    return this.#borrows
      ? new BorrowedEntry(typeUrl, resource, version, seq)
      : encodedEntry(typeUrl, resource, version, seq);
  }

  #type(typeUrl: string): TypeLog {
    const known = this.#types.get(typeUrl);
    if (known) return known;
    const made = new TypeLog();
    this.#types.set(typeUrl, made);
    return made;
  }

  #next(): number {
    this.#shared.clear();
    this.#position += 1;
    return this.#position;
  }

  #compact(typeUrl: string, type: TypeLog): void {
    const floor = () => Math.min(this.#position, ...[...this.#readers].map((r) => r.floor(typeUrl)));
    type.compact(floor());
    if (type.tombstones <= this.#maxTombstones) return;
    for (const reader of [...this.#readers]) {
      if (reader.floor(typeUrl) < this.#position - type.tombstones / 2) reader.overflow();
    }
    type.compact(floor());
  }
}
