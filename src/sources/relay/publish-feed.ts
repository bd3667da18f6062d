import type { Peer } from '../../model/relay/authority.ts';
import { formatOriginName } from '../../model/relay/names.ts';
import { withIdentity } from '../../model/relay/origin-status.ts';
import { PeerBudget } from '../../model/relay/peer-budget.ts';
import { encodeRelayNode, type RefusedSubscriber } from '../../model/relay/refused-subscribers.ts';
import { AppError } from '../../runtime/errors.ts';
import { typeUrls } from '../../wire/proto/type-urls.ts';
import { type ClientConnection, DeltaClientStream } from '../xds/delta-client-stream.ts';
import { forgetCluster, OriginWords, type OriginWordsOptions, type Teller } from './origin-words.ts';

export interface PublishFeedOptions extends Omit<OriginWordsOptions, 'isWhole' | 'onForgotten'> {
  readonly set: string;
  /** Who publishes: a cluster, for itself, or a relay, for the clusters that are delegated to it. */
  readonly peer: { readonly name: string; readonly isRelay: boolean };
  readonly clusters: ReadonlySet<string>;
}

const published = [typeUrls.cluster, typeUrls.assignment, typeUrls.originStatus];

/** A member as a relay hears it: over links that the member dials, one at a time, each checked and bounded. */
export class PublishFeed {
  readonly words: OriginWords;
  readonly #options: PublishFeedOptions;
  readonly #budget: PeerBudget;
  readonly #stream: DeltaClientStream;
  #clusters: ReadonlySet<string>;
  #link: { readonly connection: ClientConnection; readonly peer: Peer; readonly epoch: number } | undefined;
  /** Resources and removals, ever. */
  #received = 0;
  #refused: readonly RefusedSubscriber[] = [];

  constructor(options: PublishFeedOptions) {
    const { limits, clock, relay, set, clusters } = options;
    this.#options = options;
    this.#clusters = clusters;
    this.#budget = new PeerBudget(limits, clock.now());
    this.words = new OriginWords({
      ...options,
      isWhole: true,
      onForgotten: (cluster) => forgetCluster(this.#stream, cluster),
    });
    this.#stream = new DeltaClientStream({
      apply: (update) => {
        this.#received += update.upserts.length + update.removals.length;
        return this.words.apply(update, this.#teller);
      },
      node: () => encodeRelayNode(relay, this.#refused),
    });
    for (const typeUrl of published) this.#stream.subscribe(typeUrl, ['*']);
    // By name as well: so a relay says of each that it is gone, also where it went while the link was away.
    if (options.peer.isRelay) this.#stream.subscribe(typeUrls.originStatus, statusNames(set, clusters));
  }

  get name(): string {
    return this.#options.peer.name;
  }

  get isRelay(): boolean {
    return this.#options.peer.isRelay;
  }

  get isLinked(): boolean {
    return this.#link !== undefined;
  }

  get clusters(): ReadonlySet<string> {
    return this.#clusters;
  }

  /** Of the last link; undefined before the first. */
  peer: Peer | undefined;

  /** Tells the cluster who asks for what it does not offer them. */
  setRefused(refused: readonly RefusedSubscriber[]): void {
    if (JSON.stringify(refused) === JSON.stringify(this.#refused)) return;
    this.#refused = refused;
    this.#stream.announce();
  }

  /** What it tells of others is forgotten; its link begins anew when there are more, since what it told was refused. */
  setClusters(clusters: ReadonlySet<string>): void {
    const before = this.#clusters;
    this.#clusters = clusters;
    const added = [...clusters].filter((c) => !before.has(c));
    const gone = [...before].filter((c) => !clusters.has(c));
    if (added.length + gone.length === 0) return;
    this.#stream.subscribe(typeUrls.originStatus, statusNames(this.#options.set, added));
    this.#stream.unsubscribe(typeUrls.originStatus, statusNames(this.#options.set, gone));
    this.words.drop((cluster) => !clusters.has(cluster));
    if (added.length === 0) return;
    const error = new AppError('E_XDS_STREAM', 'more clusters are delegated to it', { retryable: true });
    this.#link?.connection.fail(error);
  }

  /**
   * A link begins. Of two at the same time the one with the greater epoch counts, and of equal ones (the same
   * process dialled again) the later. Throws E_XDS_STREAM when it is not this one.
   */
  opened(peer: Peer, epoch: number, connection: ClientConnection): void {
    if (this.#link && this.#link.epoch > epoch) {
      const message = `a publisher of ${peer.cluster} that started later is connected`;
      throw new AppError('E_XDS_STREAM', message, { retryable: true });
    }
    const before = this.#link;
    this.#link = { connection, peer, epoch };
    this.peer = peer;
    before?.connection.fail(new AppError('E_XDS_STREAM', `another publisher of ${peer.cluster} took over`));
    this.#stream.closed();
    this.words.linked();
    this.#stream.opened(connection);
  }

  /** Milliseconds for which the peer is not read any further. */
  receive(connection: ClientConnection, message: Uint8Array): number {
    if (this.#link?.connection !== connection) return 0;
    const before = this.#received;
    this.#stream.receive(message);
    const share = (this.#received - before) / Math.max(1, this.#clusters.size);
    return this.#budget.delayAfter(share, this.#options.clock.now());
  }

  /** What it told stays. */
  closed(connection: ClientConnection): void {
    if (this.#link?.connection !== connection) return;
    this.#link = undefined;
    this.#stream.closed();
    this.words.unlinked();
  }

  /** It is no member any more: its link ends, what it told is forgotten. */
  end(error: AppError): void {
    const link = this.#link;
    this.#link = undefined;
    this.#stream.closed();
    link?.connection.fail(error);
    this.words.drop(() => true);
  }

  get #teller(): Teller {
    const { set, peer: of } = this.#options;
    const peer = this.#link?.peer as Peer;
    return {
      set,
      clusters: this.#clusters,
      namespaces: peer.namespaces,
      relay: of.isRelay ? of.name : '',
      stamp: (status) => (of.isRelay ? status : withIdentity(status, peer)),
    };
  }
}

const statusNames = (set: string, clusters: Iterable<string>): string[] =>
  [...clusters].map((cluster) => formatOriginName({ set, cluster }));
