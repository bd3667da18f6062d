/** What a request changed. */
export interface SubscriptionChange {
  /** Names to answer, even if the client has them. */
  readonly names: readonly string[];
  /** Prefixes of globs to answer. */
  readonly globs: readonly string[];
  /** Everything is to be answered. */
  readonly all: boolean;
  /** Names that a wildcard or glob still covers: their state is to be told again. */
  readonly restated: readonly string[];
}

/**
 * What a stream wants of one type. `*` is everything; `xdstp://…/*` everything with that prefix and one more
 * segment. A first request without names is the legacy wildcard: it ends with the first name
 * (envoyproxy/envoy#16861), while an explicit `*` ends only when it is unsubscribed.
 */
export class Subscription {
  readonly #names = new Set<string>();
  readonly #globs = new Set<string>();
  #wildcard = false;
  #legacy = false;
  #started = false;

  get isWildcard(): boolean {
    return this.#wildcard || this.#legacy;
  }

  /** Only a wildcard: every stream like this one gets the same. */
  get isPlainWildcard(): boolean {
    return this.isWildcard && this.#names.size === 0;
  }

  get size(): number {
    return this.#names.size + this.#globs.size;
  }

  names(): Iterable<string> {
    return this.#names;
  }

  globs(): Iterable<string> {
    return this.#globs;
  }

  apply(subscribe: readonly string[], unsubscribe: readonly string[]): SubscriptionChange {
    const names: string[] = [];
    const globs: string[] = [];
    const restated: string[] = [];
    let all = false;
    if (!this.#started && subscribe.length === 0 && unsubscribe.length === 0) {
      this.#legacy = true;
      all = true;
    }
    this.#started = true;
    for (const name of subscribe) {
      const prefix = globPrefix(name);
      if (name === '*') {
        all = true;
        this.#wildcard = true;
        this.#legacy = false;
      } else {
        this.#legacy = false;
        if (prefix !== undefined) globs.push(prefix);
        else names.push(name);
        if (prefix !== undefined) this.#globs.add(prefix);
        else this.#names.add(name);
      }
    }
    for (const name of unsubscribe) {
      const prefix = globPrefix(name);
      if (name === '*') {
        this.#wildcard = false;
        this.#legacy = false;
      } else if (prefix !== undefined) this.#globs.delete(prefix);
      else if (this.#names.delete(name) && this.wants(name)) restated.push(name);
    }
    return { names, globs, all, restated };
  }

  wants(name: string): boolean {
    return this.isWildcard || this.#names.has(name) || this.#coveredByGlob(name);
  }

  /** Asked for by its own name: it is answered even where it does not exist. */
  asksFor(name: string): boolean {
    return this.#names.has(name);
  }

  #coveredByGlob(name: string): boolean {
    return this.#globs.size > 0 && this.#globs.has(name.slice(0, name.lastIndexOf('/') + 1));
  }
}

/** `xdstp://a/T/b/*` → `xdstp://a/T/b/`; undefined for a plain name. */
export function globPrefix(name: string): string | undefined {
  return name.startsWith('xdstp:') && name.endsWith('/*') ? name.slice(0, -1) : undefined;
}
