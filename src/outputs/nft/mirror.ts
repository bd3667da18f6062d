import { Comparison } from './comparison.ts';
import { Leftovers } from './leftovers.ts';
import type { Wanted, WantedPort } from './render.ts';
import {
  baseChains,
  dispatchChain,
  dispatchRules,
  families,
  fixedElements,
  setDeclarations,
  slotMap,
  slotMaps,
} from './schema.ts';
import { SlotMap, slotKey } from './slot-map.ts';
import { assignSlots } from './slots.ts';
import { emptyTable, type Table } from './table.ts';
import type { Counter, ElementOperation, Step } from './transaction.ts';
import type { PortChange } from './udp-changes.ts';

/**
 * What the kernel's table holds as far as we know, and the steps that bring it to what is wanted, in two
 * parts: `advance` adds and switches verdicts; `sweep` removes, at least `graceMs` later. A packet in flight may
 * see two generations of the table across its two look-ups, so what an old verdict leads to must outlive it.
 *
 * Steps are taken as done and must be committed in order; after a failure the mirror is worthless until `adopt`
 * or `clear`.
 */
export class Mirror {
  readonly #slots = new Map<string, SlotMap>();
  /** All but the slots. */
  #sets = new Map<string, Map<string, string>>();
  #chains = new Set<string>();
  /** Counters of verdicts when they were last read. */
  #counters: ReadonlyMap<string, Counter> = new Map();
  /** What was last advanced to. */
  readonly #ports = new Map<string, WantedPort>();
  #pods: Wanted['pods'] | undefined;
  /** `#ports` says nothing of what is in the table. */
  #stale = true;
  #changes: PortChange[] = [];
  /** Set or `chain` → key → how many wanted ports need it. */
  #uses = new Map<string, Map<string, number>>();
  readonly #leftovers: Leftovers;
  #steps: Step[] = [];

  constructor(options: { graceMs: number }) {
    this.#leftovers = new Leftovers(options.graceMs);
    this.clear();
  }

  /** Takes what is in the kernel as the truth. All of `wanted` is compared at the next `advance`. */
  adopt(table: Table, now: number): void {
    this.#leftovers.clear();
    for (const map of slotMaps) {
      const slots = new SlotMap(table.elements.get(map));
      this.#slots.set(map, slots);
      for (const port of slots.ports()) this.#leftovers.leaveSlots(map, port, 0, now);
      for (const key of slots.strays()) this.#leftovers.leave(map, key, now);
    }
    this.#sets = new Map();
    for (const [set, elements] of table.elements) {
      if (this.#slots.has(set)) continue;
      this.#sets.set(set, new Map(elements));
      for (const key of elements.keys()) this.#leftovers.leave(set, key, now);
    }
    this.#chains = new Set([...table.chains.keys()].filter((c) => !baseChains.has(c)));
    for (const chain of this.#chains) this.#leftovers.leave('chain', chain, now);
    this.#uses = new Map();
    this.#pods = undefined;
    this.#stale = true;
  }

  /** Forgets the table: the next `advance` gives what a new one needs. Counters are carried over. */
  clear(): void {
    this.adopt(emptyTable, 0);
  }

  /** A verdict that is switched or made again goes on counting from here. */
  setCounters(counters: ReadonlyMap<string, Counter>): void {
    this.#counters = counters;
  }

  /** What the kernel should list now; made anew each time. */
  table(): Table {
    const elements = new Map<string, ReadonlyMap<string, string>>(this.#sets);
    for (const [map, slots] of this.#slots) if (slots.size > 0) elements.set(map, new Map(slots.entries()));
    return { ...this.rules(), elements, counters: this.#counters };
  }

  /** The table without elements. */
  rules(): Table {
    const dispatch = [...this.#chains].map((c): [string, readonly string[]] => [c, dispatchRules(c)]);
    return { ...emptyTable, declarations: setDeclarations, chains: new Map([...baseChains, ...dispatch]) };
  }

  /** To be told what the kernel lists. The mirror must not change until it has been. */
  comparison(): Comparison {
    return new Comparison({
      chains: this.rules().chains,
      size: [...this.#slots.values(), ...this.#sets.values()].reduce((sum, { size }) => sum + size, 0),
      data: (set, key) => this.#slots.get(set)?.get(key) ?? this.#sets.get(set)?.get(key),
    });
  }

  /** Ports that changed since the last call. */
  takeChanges(): readonly PortChange[] {
    const changes = this.#changes;
    this.#changes = [];
    return changes;
  }

  /** Steps that add and switch. `keys`: ports that changed since the last call; without it, all are compared. */
  advance(wanted: Wanted, now: number, keys?: Iterable<string>): Step[] {
    this.#steps = [];
    for (const [set, key, data] of fixedElements) this.#put(set, key, data);
    this.#setPods(wanted.pods);
    const stale = this.#stale;
    this.#stale = false;
    const all = stale || !keys ? new Set([...wanted.ports.keys(), ...this.#ports.keys()]) : keys;
    for (const key of all) {
      const old = this.#ports.get(key);
      const port = wanted.ports.get(key);
      if (port) {
        this.#ports.set(key, port);
        if (stale || old !== port) this.#port(port, stale ? undefined : old, now);
      } else if (old) {
        this.#ports.delete(key);
        if (!stale) this.#gone(old, now);
      }
      if (old !== port) this.#changes.push({ before: old, after: port });
    }
    this.#strayVerdicts();
    return this.#steps;
  }

  /** Steps that remove what has not been needed for `graceMs`. */
  sweep(now: number): Step[] {
    this.#steps = [];
    const { keys, slots } = this.#leftovers.take(now);
    const deleteChains: string[] = [];
    for (const { map, port, from } of slots) {
      const known = this.#slots.get(map) as SlotMap;
      for (let i = known.of(port).length - 1; i >= from; i--) {
        this.#step([{ op: 'delete', set: map, key: slotKey(port, i) }]);
      }
      known.truncate(port, from);
    }
    for (const [set, key] of keys) {
      if (set !== 'chain') this.#step(this.#removal(set, key));
      else if (this.#chains.delete(key)) deleteChains.push(key);
    }
    if (deleteChains.length > 0) this.#steps.push({ elements: [], deleteChains: deleteChains.sort() });
    return this.#steps;
  }

  /** Milliseconds until `sweep` has something to do; undefined: nothing is left over. */
  untilSweep(now: number): number | undefined {
    return this.#leftovers.wait(now);
  }

  #port(port: WantedPort, old: WantedPort | undefined, now: number): void {
    const count = this.#setSlots(port, now);
    this.#share(port, old, now);
    const verdict = count > 0 ? `goto ${dispatchChain(port.family, port.protocol, count)}` : 'goto rej';
    const [on, off] = count > 0 ? ['vip', 'noep'] : ['noep', 'vip'];
    this.#step([
      ...this.#removal(`${off}${port.family}`, port.key),
      ...this.#placement(`${on}${port.family}`, port.key, verdict),
    ]);
  }

  #gone(old: WantedPort, now: number): void {
    this.#step(['vip', 'noep'].flatMap((map) => this.#removal(`${map}${old.family}`, old.key)));
    const map = slotMap(old.family, old.protocol);
    const port = vipPort(old);
    if (this.#slots.get(map)?.of(port).length) this.#leftovers.leaveSlots(map, port, 0, now);
    this.#share(undefined, old, now);
  }

  /** How many slots there are now; more may be left over. */
  #setSlots(wanted: WantedPort, now: number): number {
    const map = slotMap(wanted.family, wanted.protocol);
    const known = this.#slots.get(map) as SlotMap;
    const port = vipPort(wanted);
    const current = known.of(port);
    const { length } = current;
    const slots = assignSlots(wanted.shares, current);
    for (const [i, to] of slots.entries()) {
      const there = known.at(port, i);
      if (there !== to) {
        const key = slotKey(port, i);
        const add = { op: 'add' as const, set: map, key, data: to };
        this.#step(there === undefined ? [add] : [{ op: 'delete', set: map, key }, add]);
      }
      // Also where it is the same: of equal texts that of `wanted` is kept, and kept once.
      known.set(port, i, to);
    }
    if (length > slots.length) this.#leftovers.leaveSlots(map, port, slots.length, now);
    else this.#leftovers.keepSlots(map, port);
    return slots.length;
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
      this.#leftovers.keep(set, key);
    }
    for (const [set, key] of old ? sharedBy(old) : []) {
      const uses = this.#uses.get(set);
      const left = (uses?.get(key) ?? 0) - 1;
      if (left > 0) {
        uses?.set(key, left);
      } else {
        uses?.delete(key);
        this.#leftovers.leave(set, key, now);
      }
    }
  }

  /** Ranges may overlap those that were there, so they are switched at once, all in one step. */
  #setPods(pods: Wanted['pods']): void {
    if (this.#pods === pods) return;
    this.#pods = pods;
    const elements: ElementOperation[] = [];
    for (const family of families) {
      const set = `pods${family}`;
      const want = new Set(pods[family]);
      for (const key of [...(this.#sets.get(set)?.keys() ?? [])]) {
        if (!want.has(key)) elements.push(...this.#removal(set, key));
      }
      for (const key of want) elements.push(...this.#placement(set, key, ''));
    }
    this.#step(elements);
  }

  /** After `adopt`: verdicts that nobody wants go at once; what they led to is swept later. */
  #strayVerdicts(): void {
    for (const map of families.flatMap((f) => [`vip${f}`, `noep${f}`])) {
      for (const key of this.#leftovers.of(map)) this.#step(this.#removal(map, key));
    }
  }

  #put(set: string, key: string, data: string): void {
    this.#step(this.#placement(set, key, data));
  }

  #step(elements: readonly ElementOperation[]): void {
    if (elements.length > 0) this.#steps.push({ elements });
  }

  #placement(set: string, key: string, data: string): ElementOperation[] {
    this.#leftovers.keep(set, key);
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
    this.#leftovers.keep(set, key);
    const gone = this.#slots.get(set)?.deleteStray(key) ?? this.#sets.get(set)?.delete(key);
    return gone ? [{ op: 'delete', set, key }] : [];
  }
}

const vipPort = ({ address, port }: WantedPort): string => `${address} . ${port}`;

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
