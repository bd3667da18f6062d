import { typeUrls } from '../../wire/proto/type-urls.ts';
import { nodesName } from './assignment.ts';
import type { Entry } from './resource-log.ts';

/** What one kind of peer may see. It comes from the peer's identity, never from what the peer says of itself. */
export interface View {
  /** Streams with equal keys see the same, and share encoded messages. */
  readonly key: string;
  /**
   * `sees` gives the same answer for a name for ever. Where it does not, the stream remembers what it sent, and
   * `DeltaServerStream.refresh` tells it when to look again.
   */
  readonly stable: boolean;
  /** Asked when a name is subscribed to and again before it is sent. What is not seen looks absent. */
  sees(typeUrl: string, entry: Entry): boolean;
  /** Other bytes for this view (field 2 of DeltaDiscoveryResponse); default: the entry's own. */
  fragment?(typeUrl: string, entry: Entry): Buffer;
}

const { listener, cluster, assignment, originStatus } = typeUrls;
const agentView = viewOf('agent', [listener, cluster, assignment, originStatus]);
const dnsView = viewOf('dns', [listener, originStatus]);

/**
 * What a stock Envoy can take: no type or assignment of our own, and no UDP front end, since it refuses UDP
 * Listeners that bind no port.
 */
export const stockView: View = {
  key: 'stock',
  stable: true,
  sees: (typeUrl, { name }) =>
    typeUrl === cluster ||
    (typeUrl === assignment && name !== nodesName) ||
    (typeUrl === listener && !/\/udp-\d+$/.test(name)),
};

/** What the data planes of a controller's own cluster see; undefined: nothing. */
export function dataPlaneView(role: string): View | undefined {
  if (role === 'agent') return agentView;
  return role === 'dns' ? dnsView : undefined;
}

/** Sees everything of the given types but the names in `hidden`. */
export function viewOf(key: string, types: readonly string[], hidden: readonly string[] = []): View {
  const seen = new Set(types);
  const unseen = new Set(hidden);
  return { key, stable: true, sees: (typeUrl, entry) => seen.has(typeUrl) && !unseen.has(entry.name) };
}
