import { typeUrls } from '../../wire/proto/type-urls.ts';
import { nodesName } from './assignment.ts';
import type { Entry } from './log-entry.ts';
import type { ResourceLog } from './resource-log.ts';

/** What one kind of peer may see. It comes from the peer's identity, never from what the peer says of itself. */
export interface View {
  /** What it is a view of. Absent: the one log of the server. */
  readonly log?: ResourceLog;
  /** Streams with equal keys see the same, and share encoded messages. */
  readonly key: string;
  /**
   * `sees` gives the same answer for a name for ever. Where it does not, the stream remembers what it sent, and
   * `DeltaServerStream.refresh` tells it when to look again.
   */
  readonly stable: boolean;
  /** Asked when a name is subscribed to and again before it is sent. What is not seen looks absent. */
  sees(typeUrl: string, entry: Entry): boolean;
  /**
   * The OriginStatus that is told again after a change of what is seen of an entry: who reads it takes changes for
   * whole once a status follows.
   */
  statusOf?(entry: Entry): string;
  /** As `ResourceLogOptions.absent`, where the answer is not the same for all peers. */
  isAbsent?(typeUrl: string, name: string): boolean;
  /** Told what a stream of this peer asks for and gives up, before it is answered; and that the stream has ended. */
  asked?(stream: object, subscribe: readonly string[], unsubscribe: readonly string[]): void;
  ended?(stream: object): void;
}

const { listener, cluster, assignment, originStatus } = typeUrls;
const dataPlaneViews = new Map([
  viewOf('agent', [listener, cluster, assignment, originStatus]),
  viewOf('dns', [listener, originStatus]),
  proxyView(),
]);

/** What the data planes of a controller's own cluster see, by their role; undefined: nothing. */
export function dataPlaneView(role: string): View | undefined {
  return dataPlaneViews.get(role);
}

/**
 * What any client of the standard types takes: nothing that only our own clients understand, and no UDP Listener,
 * which Envoy refuses where it binds no port ("UDP listener … with bind_to_port: false", 1.40).
 */
function proxyView(): readonly [string, View] {
  const [key, { sees, ...view }] = viewOf('proxy', [listener, cluster, assignment]);
  const hidden = (typeUrl: string, { name }: Entry): boolean =>
    typeUrl === listener ? /\/udp-\d+$/.test(name) : typeUrl === assignment && name === nodesName;
  return [key, { ...view, sees: (typeUrl, entry) => sees(typeUrl, entry) && !hidden(typeUrl, entry) }];
}

/** Sees everything of the given types. */
function viewOf(key: string, types: readonly string[]): readonly [string, View] {
  const seen = new Set(types);
  return [key, { key, stable: true, sees: (typeUrl) => seen.has(typeUrl) }];
}
