import type { Contribution, RemoteEndpoint } from '../../model/inputs.ts';
import { contributionSource } from '../../model/keys.ts';
import {
  type ContributionName,
  contributionKeyOf,
  formatContributionName,
  portKeyOf,
} from '../../model/relay/names.ts';
import type { OriginStatus } from '../../model/relay/origin-status.ts';
import type { ContributionFacts } from './decode.ts';

/** A resource as it came. */
export interface Told {
  readonly name: string;
  readonly version: string;
  readonly body: Uint8Array;
}

/** A cluster's part of a port, as one relay told it. */
interface Parts {
  readonly name: ContributionName;
  facts: ContributionFacts | undefined;
  readonly shards: Map<string, readonly RemoteEndpoint[]>;
  /** By name. */
  readonly told: Map<string, Told>;
  /** The origin's clock at its latest change that was told, epoch milliseconds; 0: not said. */
  mark: number;
  /** All parts were there once. */
  whole: boolean;
  /** Of what counts. */
  record: Contribution | undefined;
}

export interface HeardOrigin {
  readonly status: OriginStatus;
  /** The status as it came. */
  readonly body: Uint8Array;
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
  /** Port key → source → parts. */
  readonly #ports = new Map<string, Map<string, Parts>>();
  /** Not whole yet. */
  readonly #partial = new Set<Parts>();
  /** Cluster → what was told of it since its last status: it does not count yet. */
  readonly #fresh = new Map<string, Set<Parts>>();

  setFacts(name: ContributionName, facts: ContributionFacts, told: Told): void {
    const parts = this.#parts(name);
    parts.facts = facts;
    parts.told.set(told.name, told);
    this.#changed(parts);
  }

  setShard(name: ContributionName, endpoints: readonly RemoteEndpoint[], told: Told): void {
    const parts = this.#parts(name);
    parts.shards.set(name.shard ?? '', endpoints);
    parts.told.set(told.name, told);
    this.#changed(parts);
  }

  remove(name: ContributionName): void {
    const key = portKeyOf(name);
    const source = contributionSource(name.cluster, name.from);
    const parts = this.#ports.get(key)?.get(source);
    if (!parts) return;
    if (name.type === 'cluster') parts.facts = undefined;
    else parts.shards.delete(name.shard ?? '');
    parts.told.delete(formatContributionName(name));
    // What goes is not said to go since when.
    parts.mark = 0;
    this.#changed(parts);
  }

  /** A status followed, or it is gone: what was told of this cluster counts. Returns of which contributions. */
  commit(cluster: string): readonly ContributionName[] {
    const fresh = [...(this.#fresh.get(cluster) ?? [])];
    this.#fresh.delete(cluster);
    for (const parts of fresh) {
      const { name, facts, shards } = parts;
      if (!facts && shards.size === 0)
        this.#forget(portKeyOf(name), contributionSource(name.cluster, name.from));
      parts.record = parts.whole && facts ? assemble(name, facts, shards) : undefined;
    }
    return fresh.map(({ name }) => name);
  }

  /** Everything of a port is forgotten: it is not asked for any more. */
  forgetPort(portKey: string): void {
    for (const source of [...(this.#ports.get(portKey)?.keys() ?? [])]) this.#forget(portKey, source);
  }

  get hasPartial(): boolean {
    return this.#partial.size > 0;
  }

  /**
   * The relay has told everything: what is there counts, even where a part was refused on its way. Returns the
   * names of contributions of which there is more now.
   */
  settle(): readonly ContributionName[] {
    for (const parts of this.#partial) {
      parts.whole = true;
      this.#changed(parts);
    }
    this.#partial.clear();
    return [...this.#fresh.keys()].flatMap((cluster) => this.commit(cluster));
  }

  /** Undefined: none, or not all of it has come yet. */
  contribution(portKey: string, source: string): Contribution | undefined {
    return this.#ports.get(portKey)?.get(source)?.record;
  }

  /** The origin's clock at the latest change of a contribution, epoch milliseconds; 0: not said. */
  markOf(portKey: string, source: string): number {
    return this.#ports.get(portKey)?.get(source)?.mark ?? 0;
  }

  /** A part was told with this mark. */
  mark(name: ContributionName, mark: number): void {
    const parts = this.#parts(name);
    parts.mark = Math.max(parts.mark, mark);
  }

  /** The resources behind every contribution that counts. */
  *told(): Generator<Told> {
    for (const clusters of this.#ports.values()) {
      for (const parts of clusters.values()) if (parts.whole) yield* parts.told.values();
    }
  }

  /** Anything of this cluster is held. */
  hasAnyOf(cluster: string): boolean {
    return this.keysOf(cluster).next().done === false;
  }

  /** Keys of what is held of this cluster, in part or whole. */
  *keysOf(cluster: string): Generator<string> {
    for (const sources of this.#ports.values()) {
      for (const { name, told, record } of sources.values()) {
        if (name.cluster === cluster && (told.size > 0 || record)) yield contributionKeyOf(name);
      }
    }
  }

  #parts(name: ContributionName): Parts {
    const key = portKeyOf(name);
    const source = contributionSource(name.cluster, name.from);
    const sources = this.#ports.get(key) ?? new Map<string, Parts>();
    this.#ports.set(key, sources);
    const known = sources.get(source);
    if (known) return known;
    const made: Parts = {
      name,
      facts: undefined,
      shards: new Map(),
      told: new Map(),
      mark: 0,
      whole: false,
      record: undefined,
    };
    sources.set(source, made);
    this.#partial.add(made);
    return made;
  }

  #changed(parts: Parts): void {
    const { cluster } = parts.name;
    this.#fresh.set(cluster, (this.#fresh.get(cluster) ?? new Set<Parts>()).add(parts));
    parts.whole ||= parts.facts !== undefined && parts.shards.size >= parts.facts.shards;
    if (parts.whole) this.#partial.delete(parts);
  }

  #forget(portKey: string, source: string): void {
    const sources = this.#ports.get(portKey);
    const parts = sources?.get(source);
    if (parts) {
      this.#partial.delete(parts);
      this.#fresh.get(parts.name.cluster)?.delete(parts);
    }
    sources?.delete(source);
    if (sources?.size === 0) this.#ports.delete(portKey);
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
  const { cluster, namespace, composite, from, protocol, port } = name;
  const endpoints = [...byAddress].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, endpoint]) => endpoint);
  return {
    cluster,
    namespace,
    composite,
    ...(from === undefined ? {} : { from }),
    protocol,
    port,
    ...(facts.appProtocol === undefined ? {} : { appProtocol: facts.appProtocol }),
    ready: facts.ready,
    selected: facts.selected,
    endpoints,
  };
}
