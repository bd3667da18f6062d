import type { Contribution, RemoteEndpoint } from '../../model/inputs.ts';
import { type ContributionName, portKeyOf } from '../../model/relay/names.ts';
import type { OriginStatus } from '../../model/relay/origin-status.ts';
import type { ContributionFacts } from './decode.ts';

/** A cluster's part of a port, as one relay told it. */
interface Parts {
  readonly name: ContributionName;
  facts: ContributionFacts | undefined;
  readonly shards: Map<string, readonly RemoteEndpoint[]>;
  /** All parts were there once; from then on each change counts at once. */
  whole: boolean;
  record: Contribution | undefined;
}

export interface HeardOrigin {
  readonly status: OriginStatus;
  /** Epoch milliseconds of our clock. */
  readonly heardAt: number;
  /** Number of the link's connection. */
  readonly connection: number;
  /** The relay said that it is gone: older word of another relay does not count any more. */
  readonly isGone: boolean;
}

/** What one relay has told. It stays when the link is lost. */
export class LinkContents {
  readonly origins = new Map<string, HeardOrigin>();
  readonly #ports = new Map<string, Map<string, Parts>>();
  /** Not whole yet. */
  readonly #partial = new Set<Parts>();

  setFacts(name: ContributionName, facts: ContributionFacts): void {
    const parts = this.#parts(name);
    parts.facts = facts;
    this.#changed(parts);
  }

  setShard(name: ContributionName, endpoints: readonly RemoteEndpoint[]): void {
    const parts = this.#parts(name);
    parts.shards.set(name.shard ?? '', endpoints);
    this.#changed(parts);
  }

  remove(name: ContributionName): void {
    const key = portKeyOf(name);
    const parts = this.#ports.get(key)?.get(name.cluster);
    if (!parts) return;
    if (name.type === 'cluster') parts.facts = undefined;
    else parts.shards.delete(name.shard ?? '');
    if (!parts.facts && parts.shards.size === 0) this.#forget(key, name.cluster);
    else this.#changed(parts);
  }

  /** Everything of a port is forgotten: it is not asked for any more. */
  forgetPort(portKey: string): void {
    for (const cluster of [...(this.#ports.get(portKey)?.keys() ?? [])]) this.#forget(portKey, cluster);
  }

  /** Something is held of this port's Clusters, or assignments. */
  holds(portKey: string, type: ContributionName['type']): boolean {
    for (const parts of this.#ports.get(portKey)?.values() ?? []) {
      if (type === 'cluster' ? parts.facts !== undefined : parts.shards.size > 0) return true;
    }
    return false;
  }

  get hasPartial(): boolean {
    return this.#partial.size > 0;
  }

  /**
   * The relay has told everything: what is there counts, even where a part was refused on its way. Yields the
   * names of contributions that were there only in part.
   */
  settle(): readonly ContributionName[] {
    const settled = [...this.#partial];
    for (const parts of settled) parts.whole = true;
    this.#partial.clear();
    return settled.map((parts) => parts.name);
  }

  /** Undefined: none, or not all of it has come yet. */
  contribution(portKey: string, cluster: string): Contribution | undefined {
    const parts = this.#ports.get(portKey)?.get(cluster);
    if (!parts?.whole || !parts.facts) return undefined;
    parts.record ??= assemble(parts.name, parts.facts, parts.shards);
    return parts.record;
  }

  /** Anything of this cluster is held. */
  hasAnyOf(cluster: string): boolean {
    for (const clusters of this.#ports.values()) if (clusters.has(cluster)) return true;
    return false;
  }

  #parts(name: ContributionName): Parts {
    const key = portKeyOf(name);
    const clusters = this.#ports.get(key) ?? new Map<string, Parts>();
    this.#ports.set(key, clusters);
    const known = clusters.get(name.cluster);
    if (known) return known;
    const made: Parts = { name, facts: undefined, shards: new Map(), whole: false, record: undefined };
    clusters.set(name.cluster, made);
    this.#partial.add(made);
    return made;
  }

  #changed(parts: Parts): void {
    parts.record = undefined;
    parts.whole ||= parts.facts !== undefined && parts.shards.size >= parts.facts.shards;
    if (parts.whole) this.#partial.delete(parts);
  }

  #forget(portKey: string, cluster: string): void {
    const clusters = this.#ports.get(portKey);
    const parts = clusters?.get(cluster);
    if (parts) this.#partial.delete(parts);
    clusters?.delete(cluster);
    if (clusters?.size === 0) this.#ports.delete(portKey);
  }
}

/** While a shard splits, an endpoint may be in the old one and in a new one: it counts once. */
function assemble(
  name: ContributionName,
  facts: ContributionFacts,
  shards: ReadonlyMap<string, readonly RemoteEndpoint[]>,
): Contribution {
  const byAddress = new Map<string, RemoteEndpoint>();
  for (const bits of [...shards.keys()].sort()) {
    for (const endpoint of shards.get(bits) ?? []) {
      byAddress.set(`${endpoint.addresses.join(' ')} ${endpoint.port}`, endpoint);
    }
  }
  const { cluster, namespace, composite, protocol, port } = name;
  const endpoints = [...byAddress].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, endpoint]) => endpoint);
  return {
    cluster,
    namespace,
    composite,
    protocol,
    port,
    ...(facts.appProtocol === undefined ? {} : { appProtocol: facts.appProtocol }),
    ready: facts.ready,
    selected: facts.selected,
    endpoints,
  };
}
