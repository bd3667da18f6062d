import { responseTail } from '../../wire/proto/discovery.ts';
import type { Entry } from './log-entry.ts';
import type { ResourceLog } from './resource-log.ts';

/** One DeltaDiscoveryResponse, encoded when it is sent. Streams in the same state share it. */
export class DeltaMessage {
  readonly typeUrl: string;
  readonly nonce: string;
  readonly upserts: readonly Entry[];
  readonly removals: readonly string[];
  /** Cursors of the stream once this is sent; undefined: unchanged. */
  readonly upsertCursor: number | undefined;
  readonly removalCursor: number | undefined;
  readonly #fragments: readonly Buffer[];
  readonly #keep: boolean;
  #bytes: Buffer | undefined;

  constructor(options: {
    typeUrl: string;
    nonce: string;
    upserts: readonly Entry[];
    fragments: readonly Buffer[];
    removals: readonly string[];
    upsertCursor?: number | undefined;
    removalCursor?: number | undefined;
    keep: boolean;
  }) {
    this.typeUrl = options.typeUrl;
    this.nonce = options.nonce;
    this.upserts = options.upserts;
    this.removals = options.removals;
    this.upsertCursor = options.upsertCursor;
    this.removalCursor = options.removalCursor;
    this.#fragments = options.fragments;
    this.#keep = options.keep;
  }

  bytes(): Buffer {
    if (this.#bytes) return this.#bytes;
    const bytes = Buffer.concat([...this.#fragments, responseTail(this.typeUrl, this.nonce, this.removals)]);
    if (this.#keep) this.#bytes = bytes;
    return bytes;
  }
}

export interface ChunkOptions {
  readonly log: ResourceLog;
  readonly typeUrl: string;
  readonly maxBytes: number;
  /** Several streams will send these. */
  readonly shared: boolean;
}

/** What is to be sent, in pieces of at most `maxBytes` (a bigger resource goes alone). */
export function chunkUpserts(options: ChunkOptions, entries: readonly Entry[], byCursor: boolean) {
  const { log, typeUrl, maxBytes } = options;
  return chunks(entries, maxBytes, (entry) => entry.fragment).map(
    ({ items, fragments }) =>
      new DeltaMessage({
        typeUrl,
        nonce: log.nextNonce(),
        upserts: items,
        fragments,
        removals: [],
        upsertCursor: byCursor ? items.at(-1)?.seq : undefined,
        keep: options.shared,
      }),
  );
}

export interface Removal {
  readonly name: string;
  /** Of the tombstone; absent where the log has no entry. */
  readonly seq?: number;
}

export function chunkRemovals(options: ChunkOptions, removals: readonly Removal[]): DeltaMessage[] {
  const { log, typeUrl, maxBytes } = options;
  const sizeOf = (removal: Removal) => ({ length: Buffer.byteLength(removal.name) + 4 });
  return chunks(removals, maxBytes, sizeOf).map(
    ({ items }) =>
      new DeltaMessage({
        typeUrl,
        nonce: log.nextNonce(),
        upserts: [],
        fragments: [],
        removals: items.map((r) => r.name),
        removalCursor: items.at(-1)?.seq,
        keep: options.shared,
      }),
  );
}

function chunks<T, F extends { length: number }>(items: readonly T[], maxBytes: number, of: (item: T) => F) {
  const made: { items: T[]; fragments: F[] }[] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const item of items) {
    const fragment = of(item);
    if (size + fragment.length > maxBytes) {
      made.push({ items: [], fragments: [] });
      size = 0;
    }
    const last = made.at(-1);
    last?.items.push(item);
    last?.fragments.push(fragment);
    size += fragment.length;
  }
  return made;
}
