import type { ClusterFacts } from '../cluster-selection.ts';
import { parseRelayName, type RelayName } from './names.ts';

/** Who is at the other end of a link, as its certificate says. */
export interface Peer extends ClusterFacts {
  readonly set: string;
  readonly role: string;
  /** Names, or a prefix and `*`. */
  readonly namespaces: readonly string[];
}

/** `reason` is a metric's label; `message` goes to the peer in its NACK. */
export interface Refused {
  readonly reason: 'name' | 'set' | 'cluster' | 'namespace' | 'loop' | 'hops' | 'limit' | 'content' | 'type';
  readonly message: string;
}

export function isRefused(value: object): value is Refused {
  return 'reason' in value;
}

/** The peer may speak for a namespace, and see what is offered under it. */
export function speaksFor(peer: Pick<Peer, 'namespaces'>, namespace: string): boolean {
  return peer.namespaces.some((pattern) =>
    pattern.endsWith('*') ? namespace.startsWith(pattern.slice(0, -1)) : pattern === namespace,
  );
}

/** What the other end of a link may tell of. */
export interface Speaker {
  readonly set: string;
  /** By its certificate: names, or a prefix and `*`. Undefined: any. */
  readonly namespaces: readonly string[] | undefined;
  /** Undefined: any. */
  readonly clusters: ReadonlySet<string> | undefined;
}

/**
 * The parsed name if `speaker` may tell of it: only clusters that it speaks for, only composites of namespaces that it
 * speaks for. To which name of a consumer they are offered is for the consumer to accept.
 */
export function authorizePublished(text: string, speaker: Speaker): RelayName | Refused {
  const { set, namespaces, clusters } = speaker;
  const name = parseRelayName(text);
  if (!name) return { reason: 'name', message: 'expected xdstp://<set>/<type>/v1/…/<cluster>' };
  if (name.set !== set) {
    return { reason: 'set', message: `expected a name of set ${set}, found ${name.set}` };
  }
  if (clusters && !clusters.has(name.cluster)) {
    const expected =
      clusters.size === 1 ? [...clusters].join() : 'a cluster of its line in the list of members';
    const message = `expected ${expected} as last segment, found ${name.cluster}`;
    return { reason: 'cluster', message };
  }
  if (name.kind === 'origin') return name;
  const namespace = name.from === undefined ? name.namespace : (name.from.split('/')[0] as string);
  if (namespaces && !speaksFor({ namespaces }, namespace)) {
    const message = `namespace ${namespace} is not among those the certificate may speak for`;
    return { reason: 'namespace', message };
  }
  return name;
}
