import type { MemberList } from '../../model/relay/members.ts';
import type { Origin } from '../../model/relay/origin.ts';
import { AppError } from '../../runtime/errors.ts';
import { ParentFeed, type ParentFeedOptions } from '../../sources/relay/parent-feed.ts';
import { PublishFeed, type PublishFeedOptions } from '../../sources/relay/publish-feed.ts';

type FeedOptions = Omit<PublishFeedOptions, 'peer' | 'clusters'>;

/** A relay that we dial. */
export interface Parent {
  /** `host:port` */
  readonly target: string;
  /** Its name; empty while it is not known. */
  readonly name: () => string;
  readonly onState: ParentFeedOptions['onState'];
}

/** Everybody who tells us of origins: clusters and relays that dial us, and relays that we dial. */
export class Feeds {
  readonly clusters = new Map<string, PublishFeed>();
  readonly relays = new Map<string, PublishFeed>();
  readonly parents: readonly ParentFeed[];
  readonly #options: FeedOptions;

  constructor(
    options: FeedOptions & { readonly parents: readonly Parent[]; readonly onAnswers: () => void },
  ) {
    this.#options = options;
    this.parents = options.parents.map(
      ({ target, name, onState }) => new ParentFeed({ ...options, target, parent: name, onState }),
    );
  }

  /** Of those who dial us. */
  get linked(): number {
    return [...this.clusters.values(), ...this.relays.values()].filter((feed) => feed.isLinked).length;
  }

  /** Every way by which we hear of a cluster. */
  waysTo(cluster: string): readonly Origin[] {
    const own = this.clusters.get(cluster);
    const feeds = [...(own ? [own] : []), ...this.relays.values(), ...this.parents];
    return feeds.flatMap(({ words }) => words.origins.get(cluster) ?? []);
  }

  /** Who is not on the list any more is forgotten, with all that it told; returns who that is. */
  keepOnly(list: MemberList): readonly PublishFeed[] {
    const left: PublishFeed[] = [];
    for (const [feeds, has] of [
      [this.clusters, (name: string) => list.clusters.has(name)],
      [this.relays, (name: string) => list.relays.has(name)],
    ] as const) {
      for (const [name, feed] of feeds) {
        if (has(name)) continue;
        feeds.delete(name);
        feed.end(new AppError('E_PEER_IDENTITY', `${name} is not on the list of members any more`));
        left.push(feed);
      }
    }
    for (const [name, clusters] of list.relays) this.relays.get(name)?.setClusters(clusters);
    return left;
  }

  /** Makes a feed for who is new on the list; returns them. */
  add(list: MemberList): readonly PublishFeed[] {
    const added: PublishFeed[] = [];
    const add = (feeds: Map<string, PublishFeed>, name: string, clusters: ReadonlySet<string>): void => {
      if (feeds.has(name)) return;
      const feed = new PublishFeed({
        ...this.#options,
        peer: { name, isRelay: feeds === this.relays },
        clusters,
      });
      feeds.set(name, feed);
      added.push(feed);
    };
    for (const name of list.clusters) add(this.clusters, name, new Set([name]));
    for (const [name, clusters] of list.relays) add(this.relays, name, clusters);
    return added;
  }

  close(): void {
    for (const parent of this.parents) parent.close();
  }
}
