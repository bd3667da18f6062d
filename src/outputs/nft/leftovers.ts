interface Slots {
  /** The first that is left over. */
  readonly from: number;
  readonly since: number;
}

export interface LeftSlots {
  readonly map: string;
  /** `<address> . <port>` */
  readonly port: string;
  readonly from: number;
}

/** What nothing leads to any more, and since when: it stays for `graceMs`, since packets may be under way to it. */
export class Leftovers {
  readonly #graceMs: number;
  /** Set or `chain` → key → since when. */
  readonly #keys = new Map<string, Map<string, number>>();
  /** Slot map → `<address> . <port>` → its last slots. */
  readonly #slots = new Map<string, Map<string, Slots>>();

  constructor(graceMs: number) {
    this.#graceMs = graceMs;
  }

  clear(): void {
    this.#keys.clear();
    this.#slots.clear();
  }

  leave(set: string, key: string, now: number): void {
    into(this.#keys, set).set(key, now);
  }

  keep(set: string, key: string): void {
    this.#keys.get(set)?.delete(key);
  }

  /** The slots of a VIP's port from `from` on. Those that were left before stay as long as these. */
  leaveSlots(map: string, port: string, from: number, now: number): void {
    into(this.#slots, map).set(port, { from, since: now });
  }

  keepSlots(map: string, port: string): void {
    this.#slots.get(map)?.delete(port);
  }

  /** Keys of a set that are left over. */
  of(set: string): readonly string[] {
    return [...(this.#keys.get(set)?.keys() ?? [])];
  }

  /** Milliseconds until `take` gives something; undefined: nothing is left over. */
  wait(now: number): number | undefined {
    let first = Number.POSITIVE_INFINITY;
    for (const keys of this.#keys.values()) for (const since of keys.values()) first = Math.min(first, since);
    for (const ports of this.#slots.values()) {
      for (const { since } of ports.values()) first = Math.min(first, since);
    }
    return first === Number.POSITIVE_INFINITY ? undefined : Math.max(0, first + this.#graceMs - now);
  }

  /** What has been left over for long enough; it is forgotten here. */
  take(now: number): { readonly slots: readonly LeftSlots[]; readonly keys: readonly [string, string][] } {
    const slots: LeftSlots[] = [];
    const keys: [string, string][] = [];
    for (const [map, ports] of this.#slots) {
      for (const [port, { from, since }] of ports) {
        if (now - since < this.#graceMs) continue;
        slots.push({ map, port, from });
        ports.delete(port);
      }
    }
    for (const [set, ofSet] of this.#keys) {
      for (const [key, since] of ofSet) {
        if (now - since < this.#graceMs) continue;
        keys.push([set, key]);
        ofSet.delete(key);
      }
    }
    return { slots, keys };
  }
}

function into<V>(maps: Map<string, Map<string, V>>, name: string): Map<string, V> {
  const known = maps.get(name);
  if (known) return known;
  const made = new Map<string, V>();
  maps.set(name, made);
  return made;
}
