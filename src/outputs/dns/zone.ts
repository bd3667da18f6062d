import ipaddr from 'ipaddr.js';
import type { Frontend, FrontendKey } from '../../model/ir.ts';
import { AppError } from '../../runtime/errors.ts';
import { recordTypes } from '../../wire/dns/codes.ts';
import {
  formatName,
  maxNameBytes,
  type NameKey,
  nameKey,
  parentKey,
  parseName,
} from '../../wire/dns/name.ts';
import { type Contribution, frontendNames } from './frontend-names.ts';
import { addressSet, apexNsSet, type RecordSet, soaSet, srvSet } from './record-set.ts';

export interface ZoneOptions {
  /** The zone's name, such as `gw.cluster.local`. */
  readonly zone: string;
  /** Seconds that "no such name" and "no such data" are kept by resolvers; default 5. */
  readonly negativeTtl?: number;
}

/** A name that exists. Without sets it has no data of its own: names below it, or a front end without address. */
export interface ZoneNode {
  /** At most one per type; sorted by type. */
  readonly sets: readonly RecordSet[];
}

/** Owner names, SRV's included. */
export interface ZoneChange {
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  /** Names and addresses of these front ends that are not served: not of this zone, or without a form in DNS. */
  readonly skipped: readonly string[];
}

/**
 * The zone's data, made from front ends and updated by the ones that changed. A name's records are the union over
 * the front ends that carry it; the result is the same in whatever order and steps they came.
 */
export class Zone {
  readonly name: string;
  readonly apex: NameKey;
  readonly negativeTtl: number;
  readonly #nodes = new Map<NameKey, Node>();
  readonly #owners = new Map<FrontendKey, ReadonlyMap<NameKey, Contribution>>();
  #serial = 0;
  #soa: RecordSet;
  #complete = false;

  /** Throws E_USAGE when the zone's name cannot be one. */
  constructor(options: ZoneOptions) {
    const wire = parseName(options.zone);
    if (!wire || 'hostmaster'.length + 1 + wire.length > maxNameBytes) {
      throw new AppError(
        'E_USAGE',
        `--zone: expected a domain name such as gw.cluster.local, found ${options.zone}`,
      );
    }
    this.apex = nameKey(wire);
    this.name = formatName(Buffer.from(this.apex, 'latin1'));
    this.negativeTtl = options.negativeTtl ?? 5;
    this.#soa = soaSet(0, this.negativeTtl);
    this.#nodes.set(this.apex, new Node());
    this.#exist(this.nameServer).pinned = true;
    this.#rebuild(this.apex);
  }

  /** Whether `complete` was called: before that, what is missing here may exist. */
  get isComplete(): boolean {
    return this.#complete;
  }

  get serial(): number {
    return this.#serial;
  }

  /** For authority sections; its pointers are to be set as `soaPointers` says. */
  get soa(): RecordSet {
    return this.#soa;
  }

  /** `ns.<zone>`: what SOA and NS name. It exists and has no address: nothing delegates to it by name. */
  get nameServer(): NameKey {
    return `\x02ns${this.apex}`;
  }

  /** Owner names that front ends gave, and SRV owner names. */
  get size(): number {
    let size = 0;
    for (const node of this.#nodes.values()) if (node.contributions.size > 0) size += 1;
    return size;
  }

  /** Everything that exists before the first complete state has been applied. */
  complete(): void {
    this.#complete = true;
  }

  /** Within the zone by construction; undefined: no such name (or not of this zone). */
  lookup(name: NameKey): ZoneNode | undefined {
    return this.#nodes.get(name);
  }

  /** Applies front ends that came or changed, and those that are gone (undefined). `serial`: of SOA if it did change. */
  update(changes: Iterable<readonly [FrontendKey, Frontend | undefined]>, serial: number): ZoneChange {
    const dirty = new Map<NameKey, { existed: boolean }>();
    const skipped: string[] = [];
    for (const [key, frontend] of changes) {
      const before = this.#owners.get(key) ?? none;
      const after = frontend ? frontendNames(frontend, this.apex) : undefined;
      if (after) skipped.push(...after.skipped);
      for (const [name, contribution] of after?.owners ?? none) {
        if (sameContribution(before.get(name), contribution)) continue;
        const node = this.#exist(name);
        if (!dirty.has(name)) dirty.set(name, { existed: node.contributions.size > 0 });
        node.contributions.set(key, contribution);
      }
      for (const name of before.keys()) {
        if (after?.owners.has(name)) continue;
        if (!dirty.has(name)) dirty.set(name, { existed: true });
        this.#nodes.get(name)?.contributions.delete(key);
      }
      if (after && after.owners.size > 0) this.#owners.set(key, after.owners);
      else this.#owners.delete(key);
    }
    let [added, changed, removed] = [0, 0, 0];
    for (const [name, { existed }] of dirty) {
      const exists = this.#rebuild(name);
      if (existed && exists) changed += 1;
      else if (exists) added += 1;
      else if (existed) removed += 1;
    }
    if (dirty.size > 0) {
      this.#serial = serial >>> 0;
      this.#soa = soaSet(this.#serial, this.negativeTtl);
      this.#rebuild(this.apex);
    }
    return { added, changed, removed, skipped };
  }

  /** What front ends gave, merged by owner name. */
  *owners(): Generator<readonly [NameKey, OwnerData]> {
    for (const [name, node] of this.#nodes) {
      if (node.contributions.size > 0) yield [name, merge(node.contributions)];
    }
  }

  /** The name's node, made with those of the names above it when it is new. */
  #exist(name: NameKey): Node {
    const had = this.#nodes.get(name);
    if (had) return had;
    const node = new Node();
    this.#nodes.set(name, node);
    this.#exist(parentKey(name)).children += 1;
    return node;
  }

  /** Makes the sets of a name from its contributions, or lets it go; whether front ends give it any. */
  #rebuild(name: NameKey): boolean {
    const node = this.#nodes.get(name);
    if (!node) return false;
    node.sets = setsOf(merge(node.contributions));
    if (name === this.apex) {
      node.sets = [...node.sets, apexNsSet(this.negativeTtl), this.#soa].sort((a, b) => a.type - b.type);
    }
    const given = node.contributions.size > 0;
    for (let key = name, n = node; n.isUnused && key !== this.apex; ) {
      this.#nodes.delete(key);
      key = parentKey(key);
      n = this.#nodes.get(key) as Node;
      n.children -= 1;
    }
    return given;
  }
}

class Node implements ZoneNode {
  sets: readonly RecordSet[] = [];
  readonly contributions = new Map<FrontendKey, Contribution>();
  /** Existing names directly below. */
  children = 0;
  /** Exists whatever front ends there are. */
  pinned = false;

  get isUnused(): boolean {
    return this.contributions.size === 0 && this.children === 0 && !this.pinned;
  }
}

export interface OwnerData {
  readonly ttl: number;
  readonly v4: readonly string[];
  readonly v6: readonly string[];
  readonly ports: readonly number[];
  readonly target: NameKey;
}

function merge(contributions: ReadonlyMap<FrontendKey, Contribution>): OwnerData {
  const v4 = new Set<string>();
  const v6 = new Set<string>();
  const ports = new Set<number>();
  let ttl = 0x7fffffff;
  let target = '';
  for (const c of contributions.values()) {
    ttl = Math.min(ttl, c.ttl);
    if (c.ports.length > 0) target = c.target;
    for (const address of c.addresses) (address.includes(':') ? v6 : v4).add(address);
    for (const port of c.ports) ports.add(port);
  }
  return { ttl, v4: sorted(v4), v6: sorted(v6), ports: [...ports].sort((a, b) => a - b), target };
}

const sorted = (addresses: ReadonlySet<string>): string[] =>
  addresses.size < 2 ? [...addresses] : [...addresses].sort((a, b) => Buffer.compare(octets(a), octets(b)));
const octets = (address: string): Buffer => Buffer.from(ipaddr.parse(address).toByteArray());

function setsOf(data: OwnerData): RecordSet[] {
  const sets: RecordSet[] = [];
  if (data.v4.length > 0) sets.push(addressSet(recordTypes.A, data.v4, data.ttl));
  if (data.v6.length > 0) sets.push(addressSet(recordTypes.AAAA, data.v6, data.ttl));
  if (data.ports.length > 0) sets.push(srvSet(data.ports, data.target, data.ttl));
  return sets;
}

const none: ReadonlyMap<NameKey, Contribution> = new Map();

function sameContribution(a: Contribution | undefined, b: Contribution): boolean {
  return (
    a !== undefined &&
    a.ttl === b.ttl &&
    a.target === b.target &&
    same(a.addresses, b.addresses) &&
    same(a.ports, b.ports)
  );
}

const same = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((x, i) => x === b[i]);
