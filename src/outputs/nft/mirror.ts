import { nothingWanted, type Wanted, type WantedPort } from './render.ts';
import {
  baseChains,
  dispatchChain,
  dispatchRules,
  families,
  fixedElements,
  setDeclarations,
  slotMap,
} from './schema.ts';
import { assignSlots } from './slots.ts';
import { emptyTable, type Table } from './table.ts';
import type { Counter, ElementOperation, Step } from './transaction.ts';

/**
 * What the kernel's table holds as far as we know, and the steps that bring it to what is wanted, in two
 * parts: `advance` adds and switches verdicts; `sweep` removes, at least `graceMs` later. A packet in flight may
 * see two generations of the table across its two look-ups, so what an old verdict leads to must outlive it.
 *
 * Steps are taken as done and must be committed in order; after a failure the mirror is worthless until `adopt`
 * or `clear`.
 */
export class Mirror {
  readonly #graceMs: number;
  #sets = new Map<string, Map<string, string>>();
  #chains = new Set<string>();
  /** Counters of verdicts when they were last read. */
  #counters: ReadonlyMap<string, Counter> = new Map();
  #wanted = nothingWanted;
  /** Set or `chain` → key → how many wanted ports need it. */
  #uses = new Map<string, Map<string, number>>();
  /** Set or `chain` → key → when it was last needed. */
  #leftover = new Map<string, Map<string, number>>();
  #steps: Step[] = [];

  constructor(options: { graceMs: number }) {
    this.#graceMs = options.graceMs;
  }

  /** Takes what is in the kernel as the truth. All of `wanted` is compared at the next `advance`. */
  adopt(table: Table, now: number): void {
    this.#sets = new Map([...table.elements].map(([set, elements]) => [set, new Map(elements)]));
    this.#chains = new Set([...table.chains.keys()].filter((c) => !baseChains.has(c)));
    this.#wanted = nothingWanted;
    this.#uses = new Map();
    this.#leftover = new Map();
    for (const [set, elements] of this.#sets) for (const key of elements.keys()) this.#leave(set, key, now);
    for (const chain of this.#chains) this.#leave('chain', chain, now);
  }

  /** Forgets the table: the next `advance` gives what a new one needs. Counters are carried over. */
  clear(): void {
    this.adopt(emptyTable, 0);
  }

  /** A verdict that is switched or made again goes on counting from here. */
  setCounters(counters: ReadonlyMap<string, Counter>): void {
    this.#counters = counters;
  }

  /** What the kernel should list now. */
  table(): Table {
    const dispatch = [...this.#chains].map((c): [string, readonly string[]] => [c, dispatchRules(c)]);
    return {
      declarations: setDeclarations,
      elements: this.#sets,
      chains: new Map([...baseChains, ...dispatch]),
      counters: this.#counters,
    };
  }

  /** Steps that add and switch. */
  advance(wanted: Wanted, now: number): Step[] {
    this.#steps = [];
    const before = this.#wanted;
    this.#wanted = wanted;
    for (const [set, key, data] of fixedElements) this.#put(set, key, data);
    this.#pods(wanted);
    for (const port of wanted.ports.values()) {
      const old = before.ports.get(port.key);
      if (old !== port) this.#port(port, old, now);
    }
    for (const [key, old] of before.ports) if (!wanted.ports.has(key)) this.#gone(old, now);
    this.#strayVerdicts();
    return this.#steps;
  }

  /** Steps that remove what has not been needed for `graceMs`. */
  sweep(now: number): Step[] {
    this.#steps = [];
    const deleteChains: string[] = [];
    for (const [set, keys] of this.#leftover) {
      for (const [key, since] of keys) {
        if (now - since < this.#graceMs) continue;
        if (set !== 'chain') this.#delete(set, key);
        else if (this.#chains.delete(key)) deleteChains.push(key);
        keys.delete(key);
      }
    }
    if (deleteChains.length > 0) this.#steps.push({ elements: [], deleteChains: deleteChains.sort() });
    return this.#steps;
  }

  /** Milliseconds until `sweep` has something to do; undefined: nothing is left over. */
  untilSweep(now: number): number | undefined {
    let first: number | undefined;
    for (const keys of this.#leftover.values()) {
      for (const since of keys.values()) first = Math.min(first ?? since, since);
    }
    return first === undefined ? undefined : Math.max(0, first + this.#graceMs - now);
  }

  #port(port: WantedPort, old: WantedPort | undefined, now: number): void {
    const set = slotMap(port.family, port.protocol);
    const current = this.#slots(set, port);
    const slots = assignSlots(port.shares, current);
    for (const [i, to] of slots.entries()) this.#put(set, slotKey(port, i), to);
    for (let i = slots.length; i < current.length; i++) this.#leave(set, slotKey(port, i), now);
    this.#share(port, old, now);
    const answered = slots.length > 0;
    const verdict = answered ? `goto ${dispatchChain(port.family, port.protocol, slots.length)}` : 'goto rej';
    const [on, off] = answered ? ['vip', 'noep'] : ['noep', 'vip'];
    const elements = [
      ...this.#removal(`${off}${port.family}`, port.key),
      ...this.#placement(`${on}${port.family}`, port.key, verdict),
    ];
    if (elements.length > 0) this.#steps.push({ elements });
  }

  #gone(old: WantedPort, now: number): void {
    const elements = ['vip', 'noep'].flatMap((map) => this.#removal(`${map}${old.family}`, old.key));
    this.#steps.push({ elements });
    const set = slotMap(old.family, old.protocol);
    for (let i = 0; i < this.#slots(set, old).length; i++) this.#leave(set, slotKey(old, i), now);
    this.#share(undefined, old, now);
  }

  /** Slots that are in the kernel, from 0 to the first gap. */
  #slots(set: string, port: WantedPort): string[] {
    const map = this.#sets.get(set);
    const slots: string[] = [];
    for (;;) {
      const to = map?.get(slotKey(port, slots.length));
      if (to === undefined) return slots;
      slots.push(to);
    }
  }

  /** Elements of sets, and chains, that several ports may need. */
  #share(port: WantedPort | undefined, old: WantedPort | undefined, now: number): void {
    for (const [set, key] of port ? sharedBy(port) : []) {
      const uses = this.#uses.get(set) ?? new Map<string, number>();
      this.#uses.set(set, uses);
      uses.set(key, (uses.get(key) ?? 0) + 1);
      if (set !== 'chain') this.#put(set, key, '');
      else if (!this.#chains.has(key)) this.#steps.push({ addChains: [key], elements: [] });
      if (set === 'chain') this.#chains.add(key);
      this.#leftover.get(set)?.delete(key);
    }
    for (const [set, key] of old ? sharedBy(old) : []) {
      const uses = this.#uses.get(set);
      const left = (uses?.get(key) ?? 0) - 1;
      if (left > 0) {
        uses?.set(key, left);
      } else {
        uses?.delete(key);
        this.#leave(set, key, now);
      }
    }
  }

  /** Ranges may overlap those that were there, so they are switched at once, all in one step. */
  #pods(wanted: Wanted): void {
    const elements: ElementOperation[] = [];
    for (const family of families) {
      const set = `pods${family}`;
      const want = new Set(wanted.pods[family]);
      for (const key of [...(this.#sets.get(set)?.keys() ?? [])]) {
        if (!want.has(key)) elements.push(...this.#removal(set, key));
      }
      for (const key of want) elements.push(...this.#placement(set, key, ''));
    }
    if (elements.length > 0) this.#steps.push({ elements });
  }

  /** After `adopt`: verdicts that nobody wants go at once; what they led to is swept later. */
  #strayVerdicts(): void {
    for (const map of families.flatMap((f) => [`vip${f}`, `noep${f}`])) {
      for (const key of [...(this.#leftover.get(map)?.keys() ?? [])]) this.#delete(map, key);
    }
  }

  #put(set: string, key: string, data: string): void {
    const elements = this.#placement(set, key, data);
    if (elements.length > 0) this.#steps.push({ elements });
  }

  #delete(set: string, key: string): void {
    const elements = this.#removal(set, key);
    if (elements.length > 0) this.#steps.push({ elements });
  }

  #placement(set: string, key: string, data: string): ElementOperation[] {
    this.#leftover.get(set)?.delete(key);
    const map = this.#sets.get(set) ?? new Map<string, string>();
    this.#sets.set(set, map);
    const there = map.get(key);
    if (there === data) return [];
    map.set(key, data);
    const counter = this.#counters.get(`${set} ${key}`);
    const add = { op: 'add' as const, set, key, ...(data ? { data } : {}), ...(counter ? { counter } : {}) };
    return there === undefined ? [add] : [{ op: 'delete', set, key }, add];
  }

  #removal(set: string, key: string): ElementOperation[] {
    this.#leftover.get(set)?.delete(key);
    return this.#sets.get(set)?.delete(key) ? [{ op: 'delete', set, key }] : [];
  }

  #leave(set: string, key: string, now: number): void {
    const keys = this.#leftover.get(set) ?? new Map<string, number>();
    this.#leftover.set(set, keys);
    keys.set(key, now);
  }
}

const slotKey = (port: WantedPort, slot: number): string => `${port.address} . ${port.port} . ${slot}`;

/** What a port needs of sets and chains that others may need too; chains first. */
function sharedBy(port: WantedPort): [set: string, key: string][] {
  const { family, address } = port;
  const shared: [string, string][] = [];
  if (port.slots > 0) shared.push(['chain', dispatchChain(family, port.protocol, port.slots)]);
  shared.push([`any${family}`, address]);
  if (port.owned) shared.push([`own${family}`, address]);
  for (const local of port.local) shared.push([`hair${family}`, `${local} . ${local}`]);
  for (const key of port.snat) shared.push([`snat${family}`, key]);
  return shared;
}
