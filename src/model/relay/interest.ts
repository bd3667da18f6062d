interface Asked {
  readonly since: number;
  /** Undefined: somebody asks. */
  until: number | undefined;
}

/**
 * Which ports are asked for, and by whom: by a relay, or by clusters (the empty name). So a relay is not asked for what
 * only it asks for itself. A port that nobody asks for any more is kept for `lingerMs`, for who comes back.
 */
export class Interest {
  readonly #lingerMs: number;
  /** Port → relay. */
  readonly #ports = new Map<string, Map<string, Asked>>();
  /** Stream → port → names. */
  readonly #streams = new Map<object, { readonly relay: string; readonly ports: Map<string, Set<string>> }>();

  constructor(lingerMs = 60_000) {
    this.#lingerMs = lingerMs;
  }

  /** Ports that others than `relay` ask for. */
  portsFor(relay: string): ReadonlySet<string> {
    const ports = [...this.#ports].filter(([, asked]) => [...asked.keys()].some((by) => by !== relay));
    return new Set(ports.map(([port]) => port));
  }

  /** Since when others than `relay` ask for it, epoch milliseconds; undefined: nobody does. */
  since(port: string, relay: string): number | undefined {
    const asked = [...(this.#ports.get(port) ?? [])].filter(([by]) => by !== relay);
    return asked.length === 0 ? undefined : Math.min(...asked.map(([, { since }]) => since));
  }

  /** When `expire` is to be called next. */
  get nextDeadline(): number | undefined {
    const all = [...this.#ports.values()].flatMap((asked) => [...asked.values()]);
    const ends = all.flatMap(({ until }) => (until === undefined ? [] : [until]));
    return ends.length === 0 ? undefined : Math.min(...ends);
  }

  /** True: it asks for ports that it did not ask for before. */
  ask(
    stream: object,
    relay: string,
    names: Iterable<readonly [name: string, port: string]>,
    now: number,
  ): boolean {
    const { ports } = this.#streams.get(stream) ?? { ports: new Map<string, Set<string>>() };
    this.#streams.set(stream, { relay, ports });
    let isNew = false;
    for (const [name, port] of names) {
      ports.set(port, (ports.get(port) ?? new Set()).add(name));
      const by = this.#ports.get(port) ?? new Map<string, Asked>();
      this.#ports.set(port, by);
      const known = by.get(relay);
      if (known) known.until = undefined;
      else by.set(relay, { since: now, until: undefined });
      isNew ||= known === undefined;
    }
    return isNew;
  }

  giveUp(stream: object, names: Iterable<readonly [name: string, port: string]>, now: number): void {
    const asking = this.#streams.get(stream);
    for (const [name, port] of names) {
      const held = asking?.ports.get(port);
      if (!asking || !held?.delete(name) || held.size > 0) continue;
      asking.ports.delete(port);
      this.#release(port, asking.relay, now);
    }
  }

  /** A stream has ended. */
  end(stream: object, now: number): void {
    const asking = this.#streams.get(stream);
    this.#streams.delete(stream);
    for (const port of asking?.ports.keys() ?? []) this.#release(port, asking?.relay ?? '', now);
  }

  /** True: there are fewer ports than before. */
  expire(now: number): boolean {
    let fewer = false;
    for (const [port, asked] of this.#ports) {
      for (const [relay, { until }] of asked) {
        if (until === undefined || until > now) continue;
        asked.delete(relay);
        fewer = true;
      }
      if (asked.size === 0) this.#ports.delete(port);
    }
    return fewer;
  }

  #release(port: string, relay: string, now: number): void {
    for (const asking of this.#streams.values()) {
      if (asking.relay === relay && asking.ports.has(port)) return;
    }
    const asked = this.#ports.get(port)?.get(relay);
    if (asked) asked.until = now + this.#lingerMs;
  }
}
