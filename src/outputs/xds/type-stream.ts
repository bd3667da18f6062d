import {
  type ChunkOptions,
  chunkRemovals,
  chunkUpserts,
  DeltaMessage,
  type Removal,
} from './delta-message.ts';
import type { Entry } from './log-entry.ts';
import type { ResourceLog } from './resource-log.ts';
import { globPrefix, Subscription } from './subscription.ts';
import type { View } from './view.ts';

export interface TypeStreamOptions {
  readonly log: ResourceLog;
  readonly view: View;
  readonly typeUrl: string;
  readonly maxBytes: number;
}

export interface TypePlan {
  readonly upserts: readonly DeltaMessage[];
  readonly removals: readonly DeltaMessage[];
}

/** What a response carried. */
export interface Told {
  readonly upserts: readonly Entry[];
  readonly removals: readonly string[];
}

interface Outstanding {
  readonly nonce: string;
  readonly told: Told;
  /** Where the client is in the log once this and all before it are acknowledged. */
  position: number;
  acknowledged: boolean;
}

/** More than these unacknowledged responses: the client is not keeping up, its cursor waits. */
const maxOutstanding = 256;

/**
 * One type on one stream: what is subscribed, how far it was told (two cursors, since additions and removals go
 * at different times), what must be told beside (`pending`), and what was acknowledged.
 */
export class TypeStream {
  readonly subscription = new Subscription();
  readonly #log: ResourceLog;
  readonly #view: View;
  readonly #chunks: Omit<ChunkOptions, 'shared'>;
  #upsertCursor: number;
  #removalCursor: number;
  /** Names, and globs that may be empty, to be answered whatever the cursors say. */
  readonly #pending = new Set<string>();
  /**
   * Asked for or claimed, but neither content nor absence is known; of a glob: not whether what is known is all.
   * Value: the version the client claimed.
   */
  readonly #unresolved = new Map<string, string>();
  /** What the client said it holds when the stream began. */
  #claimed: Map<string, string> | undefined;
  /** Names the client holds; kept only where the view can change. */
  readonly #sent: Set<string> | undefined;
  #owesAnswer = false;
  #outstanding: Outstanding[] = [];
  #acked = -1;

  constructor(options: TypeStreamOptions) {
    this.#log = options.log;
    this.#view = options.view;
    this.#chunks = options;
    this.#upsertCursor = options.log.position;
    this.#removalCursor = options.log.position;
    this.#sent = options.view.stable ? undefined : new Set();
  }

  get typeUrl(): string {
    return this.#chunks.typeUrl;
  }

  /** Position of the log that the client has acknowledged; -1 before its first acknowledgement. */
  get acked(): number {
    return this.#acked;
  }

  get floor(): number {
    return Math.min(this.#upsertCursor, this.#removalCursor);
  }

  /** Names remembered for this type, for limits. */
  get size(): number {
    return this.subscription.size + this.#unresolved.size;
  }

  subscribe(request: {
    subscribe: readonly string[];
    unsubscribe: readonly string[];
    initialVersions: ReadonlyMap<string, string>;
    first: boolean;
  }): void {
    const change = this.subscription.apply(request.subscribe, request.unsubscribe);
    if (request.first) this.#claim(request.initialVersions);
    if (change.all) {
      this.#upsertCursor = 0;
      this.#owesAnswer = true;
    }
    for (const name of [...change.names, ...change.restated]) {
      if (!request.first) this.#claimed?.delete(name);
      this.#unresolved.delete(name);
      this.#pending.add(name);
    }
    for (const prefix of change.globs) this.#askGlob(prefix);
    if (change.all || change.globs.length > 0) this.#recheckInFlight();
    for (const name of request.unsubscribe) {
      if (this.subscription.wants(name)) continue;
      this.#pending.delete(name);
      this.#unresolved.delete(name);
      this.#sent?.delete(name);
    }
  }

  /** The view sees other things than before. Returns what is to be told for that. */
  refresh(): readonly Entry[] {
    if (!this.#sent) return [];
    const found: Entry[] = [];
    for (const entry of this.#log.entries(this.typeUrl)) {
      const wanted = this.subscription.wants(entry.name) && !this.#sent.has(entry.name);
      if (wanted && this.#view.sees(this.typeUrl, entry)) found.push(entry);
    }
    for (const name of this.#sent) {
      const entry = this.#log.get(this.typeUrl, name);
      if (entry && !this.#view.sees(this.typeUrl, entry)) found.push(entry);
    }
    for (const { name } of found) this.#pending.add(name);
    return found;
  }

  /** Those of these names that the client holds are told again, as they are. */
  tellAgain(names: Iterable<string>): void {
    for (const name of names) if (this.#sent?.has(name)) this.#pending.add(name);
  }

  /** Absences may be facts now. */
  settle(): void {
    for (const name of this.#unresolved.keys()) this.#pending.add(name);
  }

  /** Some glob is not answered yet: what lies under it is not all known. */
  get hasOpenGlob(): boolean {
    for (const name of this.#unresolved.keys()) if (globPrefix(name) !== undefined) return true;
    if (this.#outstanding.length < maxOutstanding) return false;
    for (const name of this.#pending) if (globPrefix(name) !== undefined) return true;
    return false;
  }

  /**
   * What is to be sent now. Empty lists: the client was told everything up to the log's position. `holdAbsent`: that
   * a plain name does not exist is not said yet.
   */
  plan(holdAbsent = false): TypePlan {
    const { typeUrl } = this;
    if (this.#outstanding.length >= maxOutstanding) return { upserts: [], removals: [] };
    const untouched = this.#pending.size === 0 && this.#unresolved.size === 0 && !this.#claimed?.size;
    if (untouched && this.#log.last(typeUrl) <= this.floor && !this.#owesAnswer) {
      return { upserts: [], removals: [] };
    }
    if (untouched && this.#view.stable && this.subscription.isPlainWildcard) {
      const key = `${typeUrl} ${this.#view.key} ${this.#upsertCursor} ${this.#removalCursor}`;
      return this.#answered(this.#log.shared(key, () => this.#chunk({ pending: [], gone: [] }, true)));
    }
    return this.#answered(this.#chunk(this.#resolvePending(holdAbsent), false));
  }

  sent(message: DeltaMessage): void {
    for (const entry of message.upserts) {
      this.#pending.delete(entry.name);
      this.#unresolved.delete(entry.name);
      this.#claimed?.delete(entry.name);
      this.#sent?.add(entry.name);
    }
    for (const name of message.removals) {
      this.#pending.delete(name);
      this.#unresolved.delete(name);
      this.#claimed?.delete(name);
      this.#sent?.delete(name);
    }
    this.#upsertCursor = message.upsertCursor ?? this.#upsertCursor;
    this.#removalCursor = message.removalCursor ?? this.#removalCursor;
    this.#owesAnswer = false;
    const { nonce, upserts, removals } = message;
    this.#outstanding.push({ nonce, told: { upserts, removals }, position: -1, acknowledged: false });
  }

  /** Everything of a plan was sent: nothing up to `position` is left. False: the client is not keeping up. */
  told(position: number): boolean {
    if (this.#outstanding.length >= maxOutstanding) return false;
    this.#upsertCursor = position;
    this.#removalCursor = position;
    this.#claimed = undefined;
    for (const name of this.#unresolved.keys()) {
      if (this.#log.get(this.typeUrl, name)?.state === 'set') this.#unresolved.delete(name);
    }
    const last = this.#outstanding.at(-1);
    if (last) last.position = position;
    else this.#acked = position;
    return true;
  }

  /** The response with this nonce, if it is one of ours that was not acknowledged yet. */
  acknowledge(nonce: string): Told | undefined {
    const found = this.#outstanding.find((o) => o.nonce === nonce && !o.acknowledged);
    if (!found) return undefined;
    found.acknowledged = true;
    const open = this.#outstanding.findIndex((o) => !o.acknowledged);
    const done = this.#outstanding.splice(0, open === -1 ? this.#outstanding.length : open);
    for (const { position } of done) this.#acked = Math.max(this.#acked, position);
    return found.told;
  }

  #claim(versions: ReadonlyMap<string, string>): void {
    if (versions.size === 0) return;
    this.#claimed = new Map([...versions].filter(([name]) => this.subscription.wants(name)));
    for (const name of this.#claimed.keys()) {
      this.#pending.add(name);
      this.#sent?.add(name);
    }
  }

  #askGlob(prefix: string): void {
    for (const entry of this.#log.under(this.typeUrl, prefix)) {
      if (entry.state === 'set') this.#pending.add(entry.name);
    }
    this.#pending.add(`${prefix}*`);
  }

  /**
   * What was sent before an earlier unsubscription may reach the client after this subscription: if it is gone by
   * now, the client must be told.
   */
  #recheckInFlight(): void {
    for (const { told } of this.#outstanding) {
      for (const { name } of told.upserts) {
        const isSet = this.#log.get(this.typeUrl, name)?.state === 'set';
        if (!isSet && this.subscription.wants(name)) this.#pending.add(name);
      }
    }
  }

  #resolvePending(holdAbsent: boolean): { pending: Entry[]; gone: Removal[] } {
    const pending: Entry[] = [];
    const gone: Removal[] = [];
    this.#rememberUnseen();
    for (const name of this.#pending) {
      const prefix = globPrefix(name);
      const entry = prefix === undefined ? this.#log.get(this.typeUrl, name) : this.#anyUnder(prefix);
      if (prefix !== undefined && !this.#isAbsent(name)) {
        this.#unresolved.set(name, '');
        this.#pending.delete(name);
      } else if (prefix === undefined && !entry && holdAbsent) {
        // It stays pending.
      } else if (entry?.state === 'set' && this.#view.sees(this.typeUrl, entry)) {
        const known = this.#claimed?.get(name) ?? this.#unresolved.get(name);
        if (prefix !== undefined) this.#resolved(name);
        else if (known === entry.version) this.#pending.delete(name);
        else pending.push(entry);
      } else if (this.#isGone(name, entry)) {
        if (this.#mayTellRemoval(name)) gone.push({ name });
        else this.#resolved(name);
      } else {
        this.#unresolved.set(name, this.#claimed?.get(name) ?? this.#unresolved.get(name) ?? '');
        this.#pending.delete(name);
        this.#claimed?.delete(name);
      }
    }
    return { pending, gone };
  }

  /** Entries that changed into something this stream may no longer see. */
  #rememberUnseen(): void {
    if (!this.#sent) return;
    for (const entry of this.#log.since(this.typeUrl, this.#upsertCursor)) {
      const unseen = entry.state !== 'removed' && !this.#view.sees(this.typeUrl, entry);
      if (unseen && this.#sent.has(entry.name)) this.#pending.add(entry.name);
    }
  }

  #resolved(name: string): void {
    this.#pending.delete(name);
    this.#unresolved.delete(name);
    this.#claimed?.delete(name);
  }

  /** An entry that this stream may see and that is not removed; one that is set, if there is one. */
  #anyUnder(prefix: string): Entry | undefined {
    let withheld: Entry | undefined;
    for (const entry of this.#log.under(this.typeUrl, prefix)) {
      if (entry.state === 'removed' || !this.#view.sees(this.typeUrl, entry)) continue;
      if (entry.state === 'set') return entry;
      withheld = entry;
    }
    return withheld;
  }

  #isGone(name: string, entry: Entry | undefined): boolean {
    if (!entry) return this.#isAbsent(name);
    return entry.state === 'removed' || !this.#view.sees(this.typeUrl, entry);
  }

  #isAbsent(name: string): boolean {
    return this.#view.isAbsent?.(this.typeUrl, name) ?? this.#log.isAbsent(this.typeUrl, name);
  }

  #mayTellRemoval(name: string): boolean {
    if (globPrefix(name) !== undefined || this.subscription.asksFor(name)) return true;
    return this.#sent?.has(name) ?? true;
  }

  #answered(plan: TypePlan): TypePlan {
    if (!this.#owesAnswer || plan.upserts.length + plan.removals.length > 0) return plan;
    return { upserts: [emptyMessage(this.#log, this.typeUrl)], removals: [] };
  }

  #chunk(first: { pending: readonly Entry[]; gone: readonly Removal[] }, shared: boolean): TypePlan {
    const options = { ...this.#chunks, shared };
    return {
      upserts: [
        ...chunkUpserts(options, first.pending, false),
        ...chunkUpserts(options, [...this.#changedEntries()], true),
      ],
      removals: chunkRemovals(options, [...first.gone, ...this.#newTombstones()]),
    };
  }

  *#changedEntries(): IterableIterator<Entry> {
    for (const entry of this.#log.since(this.typeUrl, this.#upsertCursor)) {
      const { name } = entry;
      if (entry.state !== 'set' || !this.subscription.wants(name) || this.#pending.has(name)) continue;
      if (!this.#view.sees(this.typeUrl, entry)) continue;
      if (this.#claimed?.get(name) === entry.version || this.#unresolved.get(name) === entry.version)
        continue;
      yield entry;
    }
  }

  *#newTombstones(): IterableIterator<Removal> {
    for (const entry of this.#log.since(this.typeUrl, this.#removalCursor)) {
      const { name, seq } = entry;
      if (entry.state !== 'removed' || !this.subscription.wants(name) || this.#pending.has(name)) continue;
      const mayTell = this.#sent ? this.#mayTellRemoval(name) : this.#view.sees(this.typeUrl, entry);
      if (mayTell || this.subscription.asksFor(name)) yield { name, seq };
    }
  }
}

function emptyMessage(log: ResourceLog, typeUrl: string): DeltaMessage {
  const nonce = log.nextNonce();
  return new DeltaMessage({ typeUrl, nonce, upserts: [], fragments: [], removals: [], keep: false });
}
