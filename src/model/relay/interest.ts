/** Who asks: a cluster, or a relay, by the name in its certificate. */
export interface Asker {
  readonly name: string;
  readonly isRelay: boolean;
}

export interface InterestLimits {
  /** How long a port that nobody asks for any more is kept, for who comes back. */
  readonly lingerMs: number;
  /** Ports of one cluster by all of its streams, those that it gave up included. */
  readonly perCluster: number;
  /** The same of one relay. More than `total`, which is what a relay asks of another. */
  readonly perRelay: number;
  /** Ports that are asked of one relay. */
  readonly total: number;
}

export const interestLimits: InterestLimits = {
  lingerMs: 60_000,
  perCluster: 15_000,
  perRelay: 40_000,
  total: 30_000,
};

interface Asked {
  readonly since: number;
  /** Stream → names. Empty: it was given up. */
  readonly by: Map<object, Set<string>>;
  /** Set while it is given up. */
  until: number | undefined;
}

interface Asking {
  readonly relay: string | undefined;
  readonly most: number;
  /** Ports that are asked for. */
  readonly held: Map<string, Asked>;
  /** Ports that were given up, the earliest first. */
  readonly given: Map<string, Asked>;
}

/**
 * Which ports are asked for, and by whom: a relay is not asked for what only it asks for itself. What one asker may add
 * is bounded, and where all together want more than may be asked, those asked for the longest count.
 */
export class Interest {
  readonly #limits: InterestLimits;
  readonly #askers = new Map<string, Asking>();
  /** Port → who asks for it, or did. */
  readonly #ports = new Map<string, Set<Asking>>();
  readonly #streams = new Map<object, { readonly asker: Asker; readonly ports: Set<string> }>();

  constructor(limits: InterestLimits = interestLimits) {
    this.#limits = limits;
  }

  /** Ports that others than `relay` ask for, the longest asked first; more than the limit are left out. */
  portsFor(relay: string): ReadonlySet<string> {
    const ports = new Set<string>();
    for (const port of this.allFor(relay)) {
      if (ports.size >= this.#limits.total) break;
      ports.add(port);
    }
    return ports;
  }

  /** As `portsFor`, those that are left out too. */
  *allFor(relay: string): Generator<string> {
    for (const [port, askers] of this.#ports) {
      for (const asking of askers) {
        if (asking.relay === relay) continue;
        yield port;
        break;
      }
    }
  }

  /** Since when others than `relay` ask for it, epoch milliseconds; undefined: nobody does. */
  since(port: string, relay: string): number | undefined {
    let first: number | undefined;
    for (const asking of this.#ports.get(port) ?? []) {
      const asked = asking.held.get(port) ?? asking.given.get(port);
      if (asking.relay !== relay && asked) first = Math.min(first ?? asked.since, asked.since);
    }
    return first;
  }

  /** When `expire` is to be called next. */
  get nextDeadline(): number | undefined {
    let next: number | undefined;
    for (const { given } of this.#askers.values()) {
      const [first] = given.values();
      if (first?.until !== undefined) next = Math.min(next ?? first.until, first.until);
    }
    return next;
  }

  /** How many ports more than it may have `asker` would ask for with these; 0: it may. */
  excess(asker: Asker, ports: Iterable<string>): number {
    const { held, most } = this.#asking(asker);
    const added = new Set<string>();
    for (const port of ports) if (!held.has(port)) added.add(port);
    return Math.max(0, held.size + added.size - most);
  }

  /** True: the ports are other ones than before. */
  ask(
    stream: object,
    asker: Asker,
    names: Iterable<readonly [name: string, port: string]>,
    now: number,
  ): boolean {
    const asking = this.#asking(asker);
    const { ports } = this.#streams.get(stream) ?? { ports: new Set<string>() };
    this.#streams.set(stream, { asker, ports });
    let isNew = false;
    for (const [name, port] of names) {
      const known = asking.held.get(port) ?? asking.given.get(port);
      const asked = known ?? { since: now, by: new Map<object, Set<string>>(), until: undefined };
      asked.until = undefined;
      asked.by.set(stream, (asked.by.get(stream) ?? new Set()).add(name));
      asking.given.delete(port);
      asking.held.set(port, asked);
      ports.add(port);
      this.#ports.set(port, (this.#ports.get(port) ?? new Set()).add(asking));
      isNew ||= known === undefined;
    }
    return this.#trim(asking) || isNew;
  }

  giveUp(stream: object, names: Iterable<readonly [name: string, port: string]>, now: number): void {
    const known = this.#streams.get(stream);
    if (!known) return;
    const asking = this.#asking(known.asker);
    for (const [name, port] of names) {
      const held = asking.held.get(port)?.by.get(stream);
      if (!held?.delete(name) || held.size > 0) continue;
      known.ports.delete(port);
      this.#release(asking, stream, port, now);
    }
  }

  /** A stream has ended. */
  end(stream: object, now: number): void {
    const known = this.#streams.get(stream);
    this.#streams.delete(stream);
    if (!known) return;
    const asking = this.#asking(known.asker);
    for (const port of known.ports) this.#release(asking, stream, port, now);
  }

  /** True: there are fewer ports than before. */
  expire(now: number): boolean {
    let fewer = false;
    for (const [key, asking] of this.#askers) {
      for (const [port, { until }] of asking.given) {
        if (until === undefined || until > now) break;
        this.#forget(asking, port);
        fewer = true;
      }
      if (asking.given.size + asking.held.size === 0) this.#askers.delete(key);
    }
    return fewer;
  }

  /** What was given up makes room for what is asked. */
  #trim(asking: Asking): boolean {
    const { given, held, most } = asking;
    let fewer = false;
    for (const port of given.keys()) {
      if (given.size + held.size <= most) break;
      this.#forget(asking, port);
      fewer = true;
    }
    return fewer;
  }

  #release(asking: Asking, stream: object, port: string, now: number): void {
    const asked = asking.held.get(port);
    asked?.by.delete(stream);
    if (!asked || asked.by.size > 0) return;
    asked.until = now + this.#limits.lingerMs;
    asking.held.delete(port);
    asking.given.set(port, asked);
  }

  #forget(asking: Asking, port: string): void {
    asking.given.delete(port);
    const askers = this.#ports.get(port);
    askers?.delete(asking);
    if (askers?.size === 0) this.#ports.delete(port);
  }

  #asking({ name, isRelay }: Asker): Asking {
    const key = `${isRelay ? 'relay' : 'cluster'} ${name}`;
    const known = this.#askers.get(key);
    if (known) return known;
    const made: Asking = {
      relay: isRelay ? name : undefined,
      most: isRelay ? this.#limits.perRelay : this.#limits.perCluster,
      held: new Map(),
      given: new Map(),
    };
    this.#askers.set(key, made);
    return made;
  }
}
