import type { Backend, Frontend, FrontendKey, Ir, Port } from '../../model/ir.ts';
import {
  type Address,
  disjoint,
  type Family,
  parseAddress,
  parsePort,
  parseRange,
  type Range,
  RangeSet,
  reserved,
} from './address.ts';
import { activeGroups, groupParts, type Place, parseBackend, type UsableBackend } from './backend-parts.ts';
import { type Part, type Share, spread } from './spread.ts';

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
  readonly ports: ReadonlyMap<string, WantedPort>;
  /** Ranges whose source address is kept. */
  readonly pods: Readonly<Record<Family, readonly string[]>>;
  /** Front ends and back ends that are not, or not wholly, programmed, and why. */
  readonly refused: ReadonlyMap<string, string>;
}

export const nothingWanted: Wanted = { ports: new Map(), pods: { 4: [], 6: [] }, refused: new Map() };

export interface RenderOptions {
  readonly node: string;
  readonly cluster: string;
  /** Addresses of this machine: never a VIP. */
  readonly hostAddresses?: ReadonlySet<string>;
}

/** The table that a node should have. Same input, same output. */
export function render(ir: Ir, options: RenderOptions): Wanted {
  return new Renderer(options).render(ir);
}

interface Surroundings {
  readonly nodes: Ir['nodes'];
  readonly place: Place;
  /** This node's pod ranges; empty: not known. */
  readonly local: RangeSet;
  readonly pods: readonly Range[];
  /** VIP → whether it is in a pod range; filled as asked. */
  readonly isPod: (vip: Address) => boolean;
  readonly refused: ReadonlyMap<string, string>;
  readonly digest: string;
}

interface Rendered {
  readonly frontend: Frontend;
  readonly backends: readonly (Backend | undefined)[];
  readonly vips: string;
  readonly digest: string;
  readonly ports: readonly WantedPort[];
}

/** Renders again only the front ends whose inputs are other objects than last time. */
export class Renderer {
  readonly #options: RenderOptions;
  readonly #usable = new WeakMap<Backend, UsableBackend>();
  #rendered = new Map<FrontendKey, Rendered>();
  #surroundings: Surroundings | undefined;

  constructor(options: RenderOptions) {
    this.#options = options;
  }

  render(ir: Ir, hostAddresses = this.#options.hostAddresses ?? new Set<string>()): Wanted {
    if (this.#surroundings?.nodes !== ir.nodes) this.#surroundings = this.#look(ir.nodes);
    const around = this.#surroundings;
    const refused = new Map(around.refused);
    const vips = acceptVips(ir.frontends, around.isPod, hostAddresses, refused);
    const ports = new Map<string, WantedPort>();
    const rendered = new Map<FrontendKey, Rendered>();
    for (const frontend of ir.frontends.values()) {
      const accepted = vips.get(frontend.key) ?? [];
      const result = this.#frontend(frontend, accepted, ir, around);
      rendered.set(frontend.key, result);
      for (const port of result.ports) {
        const other = ports.get(port.key);
        if (!other || port.frontend < other.frontend) ports.set(port.key, port);
      }
      for (const p of frontend.ports) {
        const fault = parsePort(p.port);
        if (typeof fault === 'string') refused.set(frontend.key, fault);
      }
    }
    this.#rendered = rendered;
    for (const backend of ir.backends.values()) {
      const fault = this.#backend(backend).refused;
      if (fault !== undefined) refused.set(backend.key, fault);
    }
    return { ports, pods: { 4: texts(around.pods, 4), 6: texts(around.pods, 6) }, refused };
  }

  #frontend(frontend: Frontend, vips: readonly Vip[], ir: Ir, around: Surroundings): Rendered {
    const backends = frontend.ports.flatMap((p) =>
      p.targets.map((t) => (t.backend === null ? undefined : ir.backends.get(t.backend))),
    );
    const vipText = vips.map((v) => `${v.address.text}${v.owned ? '' : '?'}`).join();
    const before = this.#rendered.get(frontend.key);
    if (
      before?.frontend === frontend &&
      before.vips === vipText &&
      before.digest === around.digest &&
      before.backends.every((b, i) => b === backends[i])
    ) {
      return before;
    }
    // Content that is on its way: what is programmed stays.
    if (before?.vips === vipText && backends.some((b) => b?.withheld)) return before;
    const ports = vips.flatMap((vip) =>
      frontend.ports
        .filter((p) => typeof parsePort(p.port) === 'number')
        .map((p) => this.#port(frontend, p, vip, ir, around)),
    );
    return { frontend, backends, vips: vipText, digest: around.digest, ports };
  }

  #port(frontend: Frontend, port: Port, vip: Vip, ir: Ir, around: Surroundings): WantedPort {
    const { family, text } = vip.address;
    const protocol = port.protocol === 'UDP' ? 'udp' : 'tcp';
    const local = new Set<string>();
    const snat = new Set<string>();
    let live = false;
    const parts = port.targets.map((target): Part => {
      const backend = target.backend === null ? undefined : ir.backends.get(target.backend);
      const groups = backend ? activeGroups(this.#backend(backend), family, around.place) : [];
      if (groups.length === 0) return { weight: target.weight, of: `${reserved[family]} . 1` };
      if (target.weight > 0) {
        live = true;
        for (const e of groups.flatMap((g) => g.endpoints)) {
          if (around.local.size === 0 || around.local.has(e.address)) local.add(e.address.text);
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

  #look(nodes: Ir['nodes']): Surroundings {
    const refused = new Map<string, string>();
    const ranges = (name: string): Range[] =>
      (nodes.get(name)?.podCIDRs ?? []).flatMap((text) => {
        const range = parseRange(text);
        if (typeof range !== 'string') return [range];
        refused.set(`nodes/${name}`, range);
        return [];
      });
    const pods = disjoint([...nodes.keys()].flatMap(ranges));
    const local = ranges(this.#options.node);
    const zone = nodes.get(this.#options.node)?.zone ?? '';
    const inZone = [...nodes.values()].filter((n) => n.zone === zone).length;
    const zoneShare = nodes.size === 0 ? 1 : inZone / nodes.size;
    const digest = JSON.stringify([zone, zoneShare, local.map((r) => r.text)]);
    const podSet = new RangeSet(pods);
    const asked = new Map<string, boolean>();
    const isPod = (vip: Address): boolean => {
      const answer = asked.get(vip.text) ?? podSet.has(vip);
      asked.set(vip.text, answer);
      return answer;
    };
    const place = { cluster: this.#options.cluster, zone, zoneShare };
    return { nodes, place, local: new RangeSet(local), pods, isPod, refused, digest };
  }
}

const texts = (ranges: readonly Range[], family: Family): string[] =>
  ranges.filter((r) => r.family === family).map((r) => r.text);

interface Vip {
  readonly address: Address;
  readonly owned: boolean;
}

/** `gateway|service/<namespace>/<name>` of a key that may go on with a port. */
const ownerOf = (key: FrontendKey): string => key.split('/', 3).join('/');
const isGateway = (key: FrontendKey): boolean => key.startsWith('gateway/');

const parsedVips = new WeakMap<Frontend, readonly (Address | string)[]>();

function parseVips(frontend: Frontend): readonly (Address | string)[] {
  const vips = parsedVips.get(frontend) ?? frontend.vips.map(parseAddress);
  parsedVips.set(frontend, vips);
  return vips;
}

/** An address belongs to the owner whose key sorts first; what others want there is refused, on every node alike. */
function acceptVips(
  frontends: Ir['frontends'],
  isPod: (vip: Address) => boolean,
  hostAddresses: ReadonlySet<string>,
  refused: Map<string, string>,
): ReadonlyMap<FrontendKey, readonly Vip[]> {
  const owners = new Map<string, string>();
  for (const f of frontends.values()) {
    const me = ownerOf(f.key);
    for (const vip of parseVips(f)) {
      if (typeof vip === 'string') continue;
      const other = owners.get(vip.text);
      if (other === undefined || me < other) owners.set(vip.text, me);
    }
  }
  const accepted = new Map<FrontendKey, Vip[]>();
  for (const f of frontends.values()) {
    const mine: Vip[] = [];
    for (const vip of parseVips(f)) {
      const fault = typeof vip === 'string' ? vip : vipFault(f, vip, owners, isPod, hostAddresses);
      if (fault !== undefined) refused.set(f.key, fault);
      else mine.push({ address: vip as Address, owned: isGateway(f.key) });
    }
    accepted.set(f.key, mine);
  }
  return accepted;
}

function vipFault(
  frontend: Frontend,
  vip: Address,
  owners: ReadonlyMap<string, string>,
  isPod: (vip: Address) => boolean,
  hostAddresses: ReadonlySet<string>,
): string | undefined {
  const owner = owners.get(vip.text);
  if (owner !== ownerOf(frontend.key)) return `${vip.text} is the address of ${owner}`;
  if (isGateway(frontend.key) && hostAddresses.has(vip.text)) return `${vip.text} is an address of this node`;
  if (isPod(vip)) return `${vip.text} is in a node's pod range`;
  return undefined;
}
