import type { Peer } from '../../model/relay/authority.ts';
import { Subscribers } from '../../model/relay/refused-subscribers.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { PublishFeed } from '../../sources/relay/publish-feed.ts';

/** Changes within this time are told together. */
const pauseMs = 1_000;

/** Tells each cluster that dials us which others ask for what it does not offer them; nobody else learns it. */
export class Refusals {
  readonly #clock: Clock;
  readonly #feeds: () => Iterable<PublishFeed>;
  readonly #subscribers = new Subscribers();
  #cancel: (() => void) | undefined;

  /** `feeds`: of the clusters that dial us. */
  constructor(clock: Clock, feeds: () => Iterable<PublishFeed>) {
    this.#clock = clock;
    this.#feeds = feeds;
  }

  ask(stream: object, peer: Peer, added: readonly string[], gone: readonly string[]): void {
    if (this.#subscribers.ask(stream, peer, added, gone)) this.changed();
  }

  ended(stream: object): void {
    if (this.#subscribers.end(stream)) this.changed();
  }

  /** What is offered, or to whom, may have changed. */
  changed(): void {
    this.#cancel ??= this.#clock.after(pauseMs, () => {
      this.#cancel = undefined;
      for (const feed of this.#feeds()) {
        const origin = feed.words.origins.get(feed.name);
        feed.setRefused(origin ? this.#subscribers.refusedBy(origin) : []);
      }
    });
  }

  close(): void {
    this.#cancel?.();
  }
}
