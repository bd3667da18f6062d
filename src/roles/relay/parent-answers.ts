import { type Peer, speaksFor } from '../../model/relay/authority.ts';
import { Interest } from '../../model/relay/interest.ts';
import { portOfName } from '../../model/relay/names.ts';
import type { Origin } from '../../model/relay/origin.ts';
import type { Clock } from '../../runtime/clock.ts';
import { AppError } from '../../runtime/errors.ts';
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

  /** Throws E_XDS_STREAM where `peer` asks for more ports than one may. */
  ask(stream: object, peer: Peer, added: readonly string[], gone: readonly string[]): void {
    if (this.#options.parents.length === 0) return;
    const now = this.#options.clock.now();
    const asker = { name: peer.cluster, isRelay: peer.role === 'relay' };
    this.#interest.giveUp(stream, withPorts(gone), now);
    const names = [...withPorts(added)].filter(([, port]) => maySee(peer, port));
    const excess = this.#interest.excess(
      asker,
      names.map(([, port]) => port),
    );
    if (excess > 0) {
      const message = `asks for ${excess} more ports than a peer may have asked of relays above`;
      throw new AppError('E_XDS_STREAM', `${peer.cluster}/${peer.role} ${message}`);
    }
    if (this.#interest.ask(stream, asker, names, now)) this.#askParents();
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

  /** All parents have told everything under this glob, or were waited for. What a relay itself has is not told to it. */
  areComplete(glob: string, peer: Peer): boolean {
    const port = portOfName(glob);
    if (port === undefined || !maySee(peer, port)) return true;
    return this.#others(peer).every(
      (parent) => parent.wasAnswered(port) || this.#options.clock.now() >= this.#waitUntil(parent, port),
    );
  }

  /** All parents that are not `peer` say that there is nothing of this name that it may see. */
  areWithout(name: string, peer: Peer): boolean {
    const port = portOfName(name);
    if (port !== undefined && !maySee(peer, port)) return true;
    return this.#others(peer).every((parent) =>
      port === undefined ? parent.isSettled : parent.isAbsent(name, port),
    );
  }

  /** When a wait ends or a port is to expire; epoch milliseconds. */
  get deadlines(): readonly number[] {
    const waits = this.#options.parents.flatMap((parent) =>
      [...this.#interest.allFor(parent.name)].flatMap((port) =>
        parent.wasAnswered(port) ? [] : [this.#waitUntil(parent, port)],
      ),
    );
    const { nextDeadline } = this.#interest;
    return nextDeadline === undefined ? waits : [...waits, nextDeadline];
  }

  #others({ role, cluster }: Peer): readonly ParentFeed[] {
    return this.#options.parents.filter((parent) => role !== 'relay' || parent.name !== cluster);
  }

  #waitUntil(parent: ParentFeed, port: string): number {
    const { clock, settleMs } = this.#options;
    return (this.#interest.since(port, parent.name) ?? clock.now()) + settleMs;
  }

  #askParents(): void {
    for (const parent of this.#options.parents) parent.setPorts(this.#interest.portsFor(parent.name));
  }
}

/** Of a namespace that its certificate does not speak for a peer is offered nothing, whoever has it. */
const maySee = (peer: Peer, port: string): boolean => speaksFor(peer, port.slice(0, port.indexOf('/')));

function* withPorts(names: readonly string[]): Generator<readonly [name: string, port: string]> {
  for (const name of names) {
    const port = portOfName(name);
    if (port !== undefined) yield [name, port];
  }
}
