/** A greater slot is none of ours: no VIP has as many. */
const maxSlot = 65_535;

/**
 * What a slot map holds, `<address> . <port> . <slot>` → destination, as one list for each VIP and port: at a hundred
 * thousand slots their keys would be most of what an agent keeps.
 */
export class SlotMap {
  readonly #ports = new Map<string, string[]>();
  /** Of a listed table: what no list can hold, because a slot before it is missing. */
  readonly #strays: Map<string, string> = new Map();
  #size = 0;

  constructor(elements: ReadonlyMap<string, string> = new Map()) {
    for (const [key, to] of elements) {
      const { port, slot } = parts(key);
      if (slot === undefined) this.#strays.set(key, to);
      else this.#list(port)[slot] = to;
    }
    for (const [port, slots] of this.#ports) this.#cut(port, slots);
  }

  get size(): number {
    return this.#size + this.#strays.size;
  }

  ports(): Iterable<string> {
    return this.#ports.keys();
  }

  strays(): Iterable<string> {
    return this.#strays.keys();
  }

  /** Slots from 0 on. */
  of(port: string): readonly string[] {
    return this.#ports.get(port) ?? [];
  }

  get(key: string): string | undefined {
    const { port, slot } = parts(key);
    return (slot === undefined ? undefined : this.#ports.get(port)?.[slot]) ?? this.#strays.get(key);
  }

  at(port: string, slot: number): string | undefined {
    const listed = this.#ports.get(port)?.[slot];
    return listed === undefined && this.#strays.size > 0 ? this.#strays.get(slotKey(port, slot)) : listed;
  }

  /** A slot that is there, or the one after the last. */
  set(port: string, slot: number, to: string): void {
    if (this.#strays.size > 0) this.#strays.delete(slotKey(port, slot));
    const slots = this.#list(port);
    if (slot === slots.length) this.#size += 1;
    slots[slot] = to;
  }

  /** Keeps the slots below `length`. */
  truncate(port: string, length: number): void {
    const slots = this.#ports.get(port);
    if (!slots || slots.length <= length) return;
    this.#size -= slots.length - length;
    slots.length = length;
    if (length === 0) this.#ports.delete(port);
  }

  /** False: there is no such stray. */
  deleteStray(key: string): boolean {
    return this.#strays.delete(key);
  }

  *entries(): Generator<[key: string, to: string]> {
    for (const [port, slots] of this.#ports) {
      for (const [slot, to] of slots.entries()) yield [slotKey(port, slot), to];
    }
    yield* this.#strays;
  }

  #list(port: string): string[] {
    const known = this.#ports.get(port);
    if (known) return known;
    const made: string[] = [];
    this.#ports.set(port, made);
    return made;
  }

  /** The list ends at its first gap. */
  #cut(port: string, listed: readonly (string | undefined)[]): void {
    const slots: string[] = [];
    for (const to of listed) {
      if (to === undefined) break;
      slots.push(to);
    }
    if (slots.length > 0) this.#ports.set(port, slots);
    else this.#ports.delete(port);
    this.#size += slots.length;
    if (slots.length === listed.length) return;
    listed.forEach((to, slot) => {
      if (slot > slots.length && to !== undefined) this.#strays.set(slotKey(port, slot), to);
    });
  }
}

/** `port`: `<address> . <port>`. */
export const slotKey = (port: string, slot: number): string => `${port} . ${slot}`;

function parts(key: string): { readonly port: string; readonly slot: number | undefined } {
  const at = key.lastIndexOf(' . ');
  const slot = Number(key.slice(at + 3));
  const usable = at > 0 && Number.isInteger(slot) && slot >= 0 && slot <= maxSlot;
  return { port: key.slice(0, Math.max(0, at)), slot: usable ? slot : undefined };
}
