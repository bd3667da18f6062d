import { Interest } from '../../model/relay/interest.ts';
import { portOfName } from '../../model/relay/names.ts';
import type { Origin } from '../../model/relay/origin.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { ParentFeed } from '../../sources/relay/parent-feed.ts';

export interface ParentAnswersOptions {
  readonly parents: readonly ParentFeed[];
  readonly clock: Clock;
  /** How long a parent that does not answer is waited for. */
  readonly settleMs: number;
}

/** What our peers ask for is asked of the relays that we dial, and what they have answered decides what is absent. */
export class ParentAnswers {
  readonly #options: ParentAnswersOptions;
  readonly #interest = new Interest();

  constructor(options: ParentAnswersOptions) {
    this.#options = options;
  }

  /** `relay`: who asks; empty: a cluster. */
  ask(stream: object, relay: string, added: readonly string[], gone: readonly string[]): void {
    if (this.#options.parents.length === 0) return;
    const now = this.#options.clock.now();
    this.#interest.giveUp(stream, withPorts(gone), now);
    if (this.#interest.ask(stream, relay, withPorts(added), now)) this.#askParents();
  }

  ended(stream: object): void {
    this.#interest.end(stream, this.#options.clock.now());
  }

  /** What nobody has asked for in a while is not asked for any more. */
  expire(): void {
    if (this.#interest.expire(this.#options.clock.now())) this.#askParents();
  }

  /** By this way, on the link that is up, everything that there is of this port has been told. */
  isAnswered(way: Origin, port: string): boolean {
    const { parents } = this.#options;
    return parents.some((parent) => parent.words.origins.get(way.cluster) === way && parent.isAnswered(port));
  }

  /** All parents have told everything under this glob, or were waited for. What `relay` itself has is not told to it. */
  areComplete(glob: string, relay: string): boolean {
    const port = portOfName(glob);
    if (port === undefined) return true;
    return this.#others(relay).every(
      (parent) => parent.wasAnswered(port) || this.#options.clock.now() >= this.#waitUntil(parent, port),
    );
  }

  /** All parents that are not `relay` say that there is nothing of this name. */
  areWithout(name: string, relay: string): boolean {
    const port = portOfName(name);
    return this.#others(relay).every((parent) =>
      port === undefined ? parent.isSettled : parent.isAbsent(name, port),
    );
  }

  /** When a wait ends or a port is to expire; epoch milliseconds. */
  get deadlines(): readonly number[] {
    const waits = this.#options.parents.flatMap((parent) =>
      [...this.#interest.portsFor(parent.name)].flatMap((port) =>
        parent.wasAnswered(port) ? [] : [this.#waitUntil(parent, port)],
      ),
    );
    const { nextDeadline } = this.#interest;
    return nextDeadline === undefined ? waits : [...waits, nextDeadline];
  }

  #others(relay: string): readonly ParentFeed[] {
    return this.#options.parents.filter((parent) => relay === '' || parent.name !== relay);
  }

  #waitUntil(parent: ParentFeed, port: string): number {
    const { clock, settleMs } = this.#options;
    return (this.#interest.since(port, parent.name) ?? clock.now()) + settleMs;
  }

  #askParents(): void {
    for (const parent of this.#options.parents) parent.setPorts(this.#interest.portsFor(parent.name));
  }
}

function* withPorts(names: readonly string[]): Generator<readonly [name: string, port: string]> {
  for (const name of names) {
    const port = portOfName(name);
    if (port !== undefined) yield [name, port];
  }
}
