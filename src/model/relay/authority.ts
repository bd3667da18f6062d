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

/**
 * The parsed name if `peer` may publish under it: only its own cluster, only composites of namespaces it speaks for.
 * To which name of a consumer it offers them is for the consumer to accept.
 */
export function authorizePublished(text: string, peer: Peer): RelayName | Refused {
  const name = parseRelayName(text);
  if (!name) return { reason: 'name', message: 'expected xdstp://<set>/<type>/v1/…/<cluster>' };
  if (name.set !== peer.set) {
    return { reason: 'set', message: `expected a name of set ${peer.set}, found ${name.set}` };
  }
  if (name.cluster !== peer.cluster) {
    const message = `expected ${peer.cluster} as last segment, the cluster of the certificate, found ${name.cluster}`;
    return { reason: 'cluster', message };
  }
  if (name.kind === 'origin') return name;
  const namespace = name.from === undefined ? name.namespace : (name.from.split('/')[0] as string);
  if (!speaksFor(peer, namespace)) {
    const message = `namespace ${namespace} is not among those the certificate of ${peer.cluster} may speak for`;
    return { reason: 'namespace', message };
  }
  return name;
}
