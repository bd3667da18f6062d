import { createHash } from 'node:crypto';
import type { Kind, Projection } from '../../api/kinds.ts';
import { type ObjectId, objectId } from './parse-file.ts';

/** What an API server would keep of an object beside what its file says. */
export interface Identity {
  /** How often an object of this kind and name was there before. */
  readonly incarnation: number;
  readonly generation: number;
  /** RFC 3339; empty where nobody reads it. */
  readonly created: string;
  /** Of `spec`. */
  readonly hash: string;
  /** It is not there any more. */
  readonly gone?: true;
}

/** Kinds whose status we write: their generation and age matter. For the rest only the uid does. */
const tracked: ReadonlySet<Kind> = new Set<Kind>([
  'CompositeBackend',
  'Gateway',
  'GatewayClass',
  'TCPRoute',
  'UDPRoute',
  'XBackend',
  'XEndpointSelector',
]);

const maxGone = 10_000;

/**
 * Gives objects from files what they lack of metadata. A generation grows when the spec changes; a uid is the
 * same until the object goes, and another one when it comes back. With the same entries, the same answers.
 */
export class Identities {
  readonly #entries: Map<ObjectId, Identity>;
  #changed = false;

  constructor(entries: Iterable<readonly [ObjectId, Identity]> = []) {
    this.#entries = new Map(entries);
  }

  /** The record with its metadata filled in. `now`: epoch milliseconds. */
  identify(projection: Projection, now: number): Projection {
    const id = objectId(projection);
    const entry = tracked.has(projection.kind) ? this.#track(id, projection, now) : untracked;
    const given = projection.value.metadata;
    const metadata = {
      ...given,
      uid: given.uid || uidOf(id, entry.incarnation),
      generation: Math.max(given.generation, entry.generation),
      creationTimestamp: given.creationTimestamp || entry.created,
    };
    return { ...projection, value: { ...projection.value, metadata } } as Projection;
  }

  gone(id: ObjectId): void {
    const entry = this.#entries.get(id);
    if (!entry || entry.gone) return;
    // Behind all others, so that the longest gone are the first to be forgotten.
    this.#entries.delete(id);
    this.#entries.set(id, { ...entry, gone: true });
    this.#changed = true;
    this.#forget();
  }

  /** Objects that were there before, but are not among `present` now that everything was read. */
  prune(present: ReadonlySet<ObjectId>): void {
    for (const [id, entry] of [...this.#entries]) if (!entry.gone && !present.has(id)) this.gone(id);
  }

  /** An object is there, or was when it was looked last. */
  get hasAny(): boolean {
    for (const { gone } of this.#entries.values()) if (!gone) return true;
    return false;
  }

  /** Everything that must be remembered, if it changed since the last call. */
  takeChanged(): readonly (readonly [ObjectId, Identity])[] | undefined {
    if (!this.#changed) return undefined;
    this.#changed = false;
    return [...this.#entries];
  }

  #track(id: ObjectId, projection: Projection, now: number): Identity {
    const before = this.#entries.get(id);
    const hash = hashOf('spec' in projection.value ? projection.value.spec : undefined);
    if (before && !before.gone && before.hash === hash) return before;
    const given = projection.value.metadata.generation;
    const alive = before !== undefined && !before.gone;
    const entry: Identity = {
      incarnation: before === undefined ? 0 : before.incarnation + (alive ? 0 : 1),
      generation: Math.max(given, alive ? before.generation + 1 : 1),
      created: alive ? before.created : new Date(now).toISOString().replace(/\.\d+Z$/, 'Z'),
      hash,
    };
    if (!alive) this.#entries.delete(id);
    this.#entries.set(id, entry);
    this.#changed = true;
    return entry;
  }

  #forget(): void {
    const gone = [...this.#entries].filter(([, entry]) => entry.gone);
    for (const [id] of gone.slice(0, Math.max(0, gone.length - maxGone))) this.#entries.delete(id);
  }
}

const untracked: Identity = { incarnation: 0, generation: 0, created: '', hash: '' };

const hashOf = (spec: unknown): string =>
  createHash('sha256')
    .update(JSON.stringify(spec) ?? '')
    .digest('base64url')
    .slice(0, 22);

/** In the form of a UUID. */
function uidOf(id: ObjectId, incarnation: number): string {
  const hex = createHash('sha256').update(`${id}#${incarnation}`).digest('hex');
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}
