import type { Backend, BackendKey, Frontend, FrontendKey, Ir, Port } from '../../model/ir.ts';
import { type Address, type Family, parsePort, reserved } from './address.ts';
import { activeGroups, groupParts, parseBackend, type UsableBackend, weightFault } from './backend-parts.ts';
import { type NodeRanges, nodeRanges } from './node-ranges.ts';
import type { Part } from './part.ts';
import { type Share, spread } from './spread.ts';
import { ownerOf, VipClaims } from './vip-claims.ts';

/** One VIP and port of one family, and where its connections go. */
export interface WantedPort {
  /** `<address> . <tcp|udp> . <port>`, the key of the verdict maps. */
  readonly key: string;
  readonly frontend: FrontendKey;
  readonly family: Family;
  readonly protocol: 'tcp' | 'udp';
  readonly address: string;
  readonly port: number;
  /** Empty: rejected. */
  readonly shares: readonly Share[];
  readonly slots: number;
  /** The address is wholly ours: its other ports are rejected. */
  readonly owned: boolean;
  /** Endpoint addresses on this node: a pod that reaches itself is masqueraded. */
  readonly local: readonly string[];
  /** `<address> . <protocol> . <port>` of endpoints that must see this node's address. */
  readonly snat: readonly string[];
}

/** What this node's table should say; slots are laid out when it is compared with what is there. */
export interface Wanted {
  /** What did not change is the same object. Of a Renderer: the map changes with its next call. */
  readonly ports: ReadonlyMap<string, WantedPort>;
  /** Keys of ports that came, went or changed since the Renderer's call before. */
  readonly changed: ReadonlySet<string>;
  /** Ranges whose source address is kept. */
  readonly pods: Readonly<Record<Family, readonly string[]>>;
  /** Front ends and back ends that are not, or not wholly, programmed, and why. */
  readonly refused: ReadonlyMap<string, string>;
}

export const nothingWanted: Wanted = {
  ports: new Map(),
  changed: new Set(),
  pods: { 4: [], 6: [] },
  refused: new Map(),
};

export interface RenderOptions {
  readonly node: string;
  readonly cluster: string;
  /** Addresses of this machine: never a VIP of a Gateway. */
  readonly hostAddresses?: ReadonlySet<string>;
}

/** Keys that changed since the last call; others are not looked at. */
export interface TouchedKeys {
  readonly frontends: ReadonlySet<FrontendKey>;
  readonly backends: ReadonlySet<BackendKey>;
  readonly nodes: ReadonlySet<string>;
}

/** The table that a node should have. Same input, same output. */
export function render(ir: Ir, options: RenderOptions): Wanted {
  return new Renderer(options).render(ir);
}

interface Rendered {
  readonly frontend: Frontend;
  readonly backends: readonly (Backend | undefined)[];
  readonly vips: string;
  readonly digest: string;
  readonly ports: readonly WantedPort[];
}

interface Vip {
  readonly address: Address;
  readonly owned: boolean;
}

/** Renders again only what changed. */
export class Renderer {
  readonly #options: RenderOptions;
  readonly #claims = new VipClaims();
  readonly #rendered = new Map<FrontendKey, Rendered>();
  readonly #ports = new Map<string, WantedPort>();
  /** Front ends that name a back end, whether it exists or not. */
  readonly #users = new Map<BackendKey, Set<FrontendKey>>();
  readonly #faults = new Map<string, string>();
  #ranges: NodeRanges | undefined;
  #nodes: Ir['nodes'] | undefined;
  #hostAddresses: ReadonlySet<string>;
  /** Of one call only. */
  #changed = new Set<string>();
  #usable = new Map<Backend, UsableBackend>();

  constructor(options: RenderOptions) {
    this.#options = options;
    this.#hostAddresses = options.hostAddresses ?? new Set();
  }

  /** Without `touched` everything is looked at. */
  render(ir: Ir, touched?: TouchedKeys, hostAddresses?: ReadonlySet<string>): Wanted {
    this.#usable = new Map();
    this.#changed = new Set();
    const all = !touched || this.#look(ir.nodes) || this.#moved(hostAddresses);
    const ranges = this.#rangesOf(ir.nodes);
    const frontends = all ? new Set([...ir.frontends.keys(), ...this.#rendered.keys()]) : touched.frontends;
    const backends = all ? new Set([...ir.backends.keys(), ...this.#faults.keys()]) : touched.backends;
    for (const key of backends) this.#judge(key, ir.backends.get(key));
    const dirty = new Set(frontends);
    for (const key of frontends) {
      const frontend = ir.frontends.get(key);
      if (frontend === undefined || frontend !== this.#rendered.get(key)?.frontend) {
        for (const other of this.#claims.set(key, frontend)) dirty.add(other);
        this.#index(key, frontend);
      }
    }
    for (const key of backends) for (const user of this.#users.get(key) ?? []) dirty.add(user);
    for (const key of dirty) this.#refresh(key, ir, ranges);
    this.#usable = new Map();
    return {
      ports: this.#ports,
      changed: this.#changed,
      pods: ranges.podTexts,
      refused: new Map([...ranges.refused, ...this.#faults]),
    };
  }

  /** Whether front ends must be rendered again because of the nodes. */
  #look(nodes: Ir['nodes']): boolean {
    const before = this.#ranges;
    const after = this.#rangesOf(nodes);
    return (
      before?.digest !== after.digest ||
      before.placeDigest !== after.placeDigest ||
      before.podDigest !== after.podDigest
    );
  }

  #rangesOf(nodes: Ir['nodes']): NodeRanges {
    if (this.#ranges && this.#nodes === nodes) return this.#ranges;
    this.#nodes = nodes;
    this.#ranges = nodeRanges(nodes, this.#options);
    return this.#ranges;
  }

  #moved(hostAddresses: ReadonlySet<string> | undefined): boolean {
    if (!hostAddresses || sameSet(hostAddresses, this.#hostAddresses)) return false;
    this.#hostAddresses = hostAddresses;
    return true;
  }

  #judge(key: BackendKey, backend: Backend | undefined): void {
    const fault = backend && this.#backend(backend).refused;
    if (fault === undefined) this.#faults.delete(key);
    else this.#faults.set(key, fault);
  }

  #index(key: FrontendKey, frontend: Frontend | undefined): void {
    for (const backend of namesOf(this.#rendered.get(key)?.frontend)) this.#users.get(backend)?.delete(key);
    for (const backend of namesOf(frontend)) {
      const users = this.#users.get(backend) ?? new Set();
      this.#users.set(backend, users.add(key));
    }
  }

  #refresh(key: FrontendKey, ir: Ir, ranges: NodeRanges): void {
    const before = this.#rendered.get(key);
    const frontend = ir.frontends.get(key);
    this.#faults.delete(key);
    const after = frontend && this.#frontend(frontend, before, ir, ranges);
    if (after) this.#rendered.set(key, after);
    else this.#rendered.delete(key);
    if (after?.ports === before?.ports) return;
    const keys = new Set(after?.ports.map((p) => p.key));
    for (const port of before?.ports ?? []) {
      if (keys.has(port.key) || this.#ports.get(port.key)?.frontend !== key) continue;
      this.#ports.delete(port.key);
      this.#changed.add(port.key);
    }
    for (const port of after?.ports ?? []) {
      this.#ports.set(port.key, port);
      this.#changed.add(port.key);
    }
  }

  #frontend(frontend: Frontend, before: Rendered | undefined, ir: Ir, ranges: NodeRanges): Rendered {
    const backends = frontend.ports.flatMap((p) =>
      p.targets.map((t) => (t.backend === null ? undefined : ir.backends.get(t.backend))),
    );
    const accepted = this.#accept(frontend, ranges);
    const vips = accepted.map((v) => v.address.text).join();
    const prefersZone = backends.some((b) => b?.policy === 'PreferLocal');
    const digest = prefersZone ? `${ranges.digest} ${ranges.placeDigest}` : ranges.digest;
    const now = { frontend, backends, vips, digest };
    if (before?.vips === vips) {
      const same =
        before.frontend === frontend &&
        before.digest === digest &&
        before.backends.every((b, i) => b === backends[i]);
      // Content that is on its way: what is programmed stays.
      if (same || backends.some((b) => b?.withheld)) return { ...now, ports: before.ports };
    }
    const ports = frontend.ports.filter((p) => typeof parsePort(p.port) === 'number');
    const rendered = accepted.flatMap((vip) => ports.map((p) => this.#port(frontend, p, vip, ir, ranges)));
    return { ...now, ports: rendered };
  }

  #accept(frontend: Frontend, ranges: NodeRanges): readonly Vip[] {
    const owned = frontend.key.startsWith('gateway/');
    const accepted: Vip[] = [];
    for (const vip of this.#claims.vips(frontend.key)) {
      const fault = typeof vip === 'string' ? vip : this.#vipFault(frontend.key, vip, owned, ranges);
      if (fault !== undefined) this.#faults.set(frontend.key, fault);
      else accepted.push({ address: vip as Address, owned });
    }
    for (const { port } of frontend.ports) {
      const fault = parsePort(port);
      if (typeof fault === 'string') this.#faults.set(frontend.key, fault);
    }
    return accepted;
  }

  #vipFault(key: FrontendKey, vip: Address, owned: boolean, ranges: NodeRanges): string | undefined {
    const owner = this.#claims.owner(vip.text);
    if (owner !== ownerOf(key)) return `${vip.text} is the address of ${owner}`;
    if (owned && this.#hostAddresses.has(vip.text)) return `${vip.text} is an address of this node`;
    if (ranges.isPod(vip)) return `${vip.text} is in a node's pod range`;
    return undefined;
  }

  #port(frontend: Frontend, port: Port, vip: Vip, ir: Ir, ranges: NodeRanges): WantedPort {
    const { family, text } = vip.address;
    const protocol = port.protocol === 'UDP' ? 'udp' : 'tcp';
    const local = new Set<string>();
    const snat = new Set<string>();
    let live = false;
    const parts = port.targets.map((target): Part => {
      const fault = weightFault('weight', target.weight, 0);
      if (fault !== undefined) {
        this.#faults.set(frontend.key, fault);
        return { weight: 0, of: [] };
      }
      const backend = target.backend === null ? undefined : ir.backends.get(target.backend);
      const groups = backend ? activeGroups(this.#backend(backend), family, ranges.place) : [];
      if (groups.length === 0) return { weight: target.weight, of: `${reserved[family]} . 1` };
      if (target.weight > 0) {
        live = true;
        for (const e of groups.flatMap((g) => g.endpoints)) {
          if (ranges.local.size === 0 || ranges.local.has(e.address)) local.add(e.address.text);
          if (e.snat) snat.add(`${e.address.text} . ${protocol} . ${e.port}`);
        }
      }
      return { weight: target.weight, of: groupParts(groups, (e) => `${e.address.text} . ${e.port}`) };
    });
    const shares = live ? spread(parts) : [];
    return {
      key: `${text} . ${protocol} . ${port.port}`,
      frontend: frontend.key,
      family,
      protocol,
      address: text,
      port: port.port,
      shares,
      slots: shares.reduce((n, s) => n + s.slots, 0),
      owned: vip.owned,
      local: [...local].sort(),
      snat: [...snat].sort(),
    };
  }

  #backend(backend: Backend): UsableBackend {
    const usable = this.#usable.get(backend) ?? parseBackend(backend);
    this.#usable.set(backend, usable);
    return usable;
  }
}

function namesOf(frontend: Frontend | undefined): readonly BackendKey[] {
  const targets = frontend?.ports.flatMap((p) => p.targets) ?? [];
  return targets.flatMap((t) => (t.backend === null ? [] : [t.backend]));
}

function sameSet(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.size === b.size && [...a].every((x) => b.has(x));
}
