import { codec } from '../../wire/proto/registry.ts';
import { fromStruct, type Json, toStruct } from '../../wire/proto/struct.ts';
import { metadataKey } from '../../wire/proto/type-urls.ts';
import type { Peer } from './authority.ts';
import { isOfferedTo } from './export-policy.ts';
import { portKeyOf, portOfName } from './names.ts';
import type { PublishedResource } from './origin.ts';

/** A cluster asks for a port that another one has, and is not offered it. */
export interface RefusedSubscriber {
  readonly cluster: string;
  /** What it asks for: `<namespace>/<composite>/<tcp|udp>-<port>`. */
  readonly port: string;
  /** The composite that has it, of the cluster that is asked: `<namespace>/<name>`. */
  readonly composite: string;
}

/** How many are told of; the others are left out. */
export const maxRefusedSubscribers = 256;

/** What clusters ask for, by their streams, and who of them is refused. */
export class Subscribers {
  readonly #streams = new Map<object, { readonly peer: Peer; readonly names: Map<string, string> }>();

  /** True: something that counts has changed. */
  ask(stream: object, peer: Peer, added: readonly string[], gone: readonly string[]): boolean {
    const { names } = this.#streams.get(stream) ?? { names: new Map<string, string>() };
    this.#streams.set(stream, { peer, names });
    let changed = false;
    for (const name of gone) changed = names.delete(name) || changed;
    for (const name of added) {
      const port = portOfName(name);
      if (port === undefined || names.has(name)) continue;
      names.set(name, port);
      changed = true;
    }
    return changed;
  }

  end(stream: object): boolean {
    return this.#streams.delete(stream);
  }

  /** Of one cluster, sorted: who asks for a port of which it has something and offers the asker nothing. */
  refusedBy(origin: {
    readonly cluster: string;
    readonly resources: Iterable<PublishedResource>;
  }): readonly RefusedSubscriber[] {
    const asked = this.#asked(origin.cluster);
    if (asked.size === 0) return [];
    const found = new Map<string, RefusedSubscriber>();
    const offered = new Set<string>();
    for (const { parsed, offer } of origin.resources) {
      if (parsed.type !== 'cluster') continue;
      const port = portKeyOf(parsed);
      for (const peer of asked.get(port)?.values() ?? []) {
        const key = `${peer.cluster} ${port}`;
        if (isOfferedTo(peer, offer)) offered.add(key);
        else {
          const composite = parsed.from ?? `${parsed.namespace}/${parsed.composite}`;
          found.set(`${key} ${composite}`, { cluster: peer.cluster, port, composite });
        }
      }
    }
    const refused = [...found].filter(([, { cluster, port }]) => !offered.has(`${cluster} ${port}`));
    return refused
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, subscriber]) => subscriber)
      .slice(0, maxRefusedSubscribers);
  }

  /** Port → who else asks for it, by cluster. */
  #asked(but: string): ReadonlyMap<string, ReadonlyMap<string, Peer>> {
    const asked = new Map<string, Map<string, Peer>>();
    for (const { peer, names } of this.#streams.values()) {
      if (peer.cluster === but) continue;
      for (const port of names.values()) {
        asked.set(port, (asked.get(port) ?? new Map()).set(peer.cluster, peer));
      }
    }
    return asked;
  }
}

/** A relay's node on a publish link: what it tells the cluster that publishes. */
export function encodeRelayNode(relay: string, refused: readonly RefusedSubscriber[]): Buffer {
  const told = refused.map(({ cluster, port, composite }): Json => ({ cluster, port, composite }));
  const facts = told.length === 0 ? {} : { [metadataKey]: { refusedSubscribers: told } };
  return codec('envoy.config.core.v3.Node').encode({
    id: relay,
    user_agent_name: 'causeway',
    metadata: toStruct(facts),
  });
}

/** What is not of the shape is left out, whoever sent it. */
export function decodeRelayNode(node: Uint8Array): readonly RefusedSubscriber[] {
  let facts: Json | undefined;
  try {
    facts = fromStruct(codec('envoy.config.core.v3.Node').decode(node).metadata)[metadataKey];
  } catch {
    return [];
  }
  const list =
    facts instanceof Object && 'refusedSubscribers' in facts ? facts.refusedSubscribers : undefined;
  if (!Array.isArray(list)) return [];
  return (list as Json[]).slice(0, maxRefusedSubscribers).flatMap((entry) => {
    if (!(entry instanceof Object) || !('cluster' in entry)) return [];
    const { cluster, port, composite } = entry;
    return isName(cluster) && isName(port) && isName(composite) ? [{ cluster, port, composite }] : [];
  });
}

const isName = (value: Json | undefined): value is string =>
  typeof value === 'string' && /^[a-z0-9][-a-z0-9./]{0,399}$/.test(value);
