import { parseRelayName } from '../../model/relay/names.ts';
import { typeUrls } from '../../wire/proto/type-urls.ts';
import type { ClientUpdate, DeltaClientStream } from '../xds/delta-client-stream.ts';

/** Names that are under way, and names that are known to be absent; more are not asked. */
const maxNames = 50_000;

/**
 * Which names a relay says do not exist. That it has answered a port does not say so: it may have waited in vain for the
 * cluster that has the name. Asked for by name it answers when it knows.
 */
export class NameQuestions {
  readonly #stream: DeltaClientStream;
  readonly #asked = new Set<string>();
  readonly #absent = new Set<string>();
  #waiting: string[] = [];

  constructor(stream: DeltaClientStream) {
    this.#stream = stream;
  }

  /** False: it exists, or the relay has not answered yet; it is asked. */
  isAbsent(name: string): boolean {
    if (this.#absent.has(name)) return true;
    if (this.#asked.has(name) || this.#asked.size + this.#absent.size >= maxNames) return false;
    this.#asked.add(name);
    this.#waiting.push(name);
    if (this.#waiting.length === 1) queueMicrotask(() => this.#ask());
    return false;
  }

  /** True: some names are known to be absent now. */
  answered({ typeUrl, upserts, removals }: ClientUpdate): boolean {
    for (const { name } of upserts) this.#absent.delete(name);
    const gone = removals.filter((name) => this.#asked.has(name));
    const found = upserts.flatMap(({ name }) => (this.#asked.has(name) ? [name] : []));
    for (const name of gone) this.#absent.add(name);
    this.#giveUp(typeUrl, [...gone, ...found]);
    return gone.length > 0;
  }

  /** The link is gone, and with it what was asked and answered. */
  clear(): void {
    for (const [typeUrl, names] of byType(this.#asked)) this.#giveUp(typeUrl, names);
    this.#absent.clear();
    this.#waiting = [];
  }

  #ask(): void {
    const names = this.#waiting.filter((name) => this.#asked.has(name));
    this.#waiting = [];
    for (const [typeUrl, of] of byType(names)) this.#stream.subscribe(typeUrl, of);
  }

  #giveUp(typeUrl: string, names: readonly string[]): void {
    for (const name of names) this.#asked.delete(name);
    if (names.length > 0) this.#stream.unsubscribe(typeUrl, names);
  }
}

function byType(names: Iterable<string>): ReadonlyMap<string, readonly string[]> {
  const types = new Map<string, string[]>();
  for (const text of names) {
    const name = parseRelayName(text);
    if (name?.kind !== 'contribution') continue;
    const typeUrl = typeUrls[name.type];
    types.set(typeUrl, [...(types.get(typeUrl) ?? []), text]);
  }
  return types;
}
