import type { PeerLimits } from '../../model/relay/peer-budget.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Dialer } from '../../runtime/duplex-loop.ts';
import type { AppError } from '../../runtime/errors.ts';
import { codec } from '../../wire/proto/registry.ts';
import type { ClientConnection } from '../xds/delta-client-stream.ts';
import { DeltaClientStream } from '../xds/delta-client-stream.ts';
import { NameQuestions } from './name-questions.ts';
import { forgetCluster, OriginWords, type OriginWordsOptions } from './origin-words.ts';
import { PortQuestions } from './port-questions.ts';
import { subscribeLoop } from './subscribe-loop.ts';

export interface ParentFeedOptions extends Omit<OriginWordsOptions, 'isWhole' | 'onForgotten'> {
  readonly set: string;
  /** `host:port` */
  readonly target: string;
  readonly limits: PeerLimits;
  readonly clock: Clock;
  /** Name of the relay there; empty while it is not known. */
  readonly parent: () => string;
  /** Some port may be answered completely now. */
  readonly onAnswers: () => void;
  /** Up: it has sent something. */
  readonly onState: (state: 'up' | AppError) => void;
}

/** What a relay that we dial tells us, of the ports that we ask for. It stays when the link is lost. */
export class ParentFeed {
  readonly words: OriginWords;
  readonly #options: ParentFeedOptions;
  readonly #stream: DeltaClientStream;
  readonly #questions: PortQuestions;
  readonly #names: NameQuestions;
  /** Answered at least once since they are asked for. */
  readonly #known = new Set<string>();
  #close: (() => void) | undefined;
  #up = false;

  constructor(options: ParentFeedOptions) {
    this.#options = options;
    const { set, relay } = options;
    this.words = new OriginWords({
      ...options,
      isWhole: false,
      onForgotten: (cluster) => forgetCluster(this.#stream, cluster),
    });
    this.#stream = new DeltaClientStream({
      apply: (update) => {
        const teller = { set, clusters: undefined, namespaces: undefined, relay: options.parent() };
        const refusals = this.words.apply(update, { ...teller, stamp: (status) => status });
        if (this.#names.answered(update)) options.onAnswers();
        return refusals;
      },
      node: () => codec('envoy.config.core.v3.Node').encode({ id: relay, user_agent_name: 'causeway' }),
      passed: (token) => this.#passed(token),
    });
    this.#questions = new PortQuestions(set, this.#stream);
    this.#names = new NameQuestions(this.#stream);
  }

  get target(): string {
    return this.#options.target;
  }

  /** Empty while it is not known. */
  get name(): string {
    return this.#options.parent();
  }

  get isUp(): boolean {
    return this.#up;
  }

  /** Asks for exactly these ports. */
  setPorts(ports: ReadonlySet<string>): void {
    for (const port of this.#questions.replace(ports)) {
      this.#known.delete(port);
      this.words.forgetPort(port);
    }
  }

  /** On the link that is up it has told everything that there is of this port. */
  isAnswered(port: string): boolean {
    return this.#questions.isAnswered(port);
  }

  /** On the link that is up it has said that there is nothing of this name. It is asked, if it was not. */
  isAbsent(name: string, port: string): boolean {
    return this.isAnswered(port) && this.#names.isAbsent(name);
  }

  /** As `isAnswered`, on this link or an earlier one. */
  wasAnswered(port: string): boolean {
    return this.#known.has(port);
  }

  /** On the link that is up it has told of all origins. */
  get isSettled(): boolean {
    return this.#questions.isSettled;
  }

  dial(dialer: Dialer, random: () => number): void {
    this.#close = subscribeLoop(this, { ...this.#options, dialer, random });
  }

  close(): void {
    this.#close?.();
  }

  opened(connection: ClientConnection): void {
    this.#questions.opened();
    this.#names.clear();
    this.words.linked();
    this.#stream.opened(connection);
  }

  receive(message: Uint8Array): void {
    if (!this.#up) {
      this.#up = true;
      this.#options.onState('up');
    }
    this.#stream.receive(message);
  }

  replaced(): void {
    this.#stream.closed();
    this.#names.clear();
  }

  closed(error: AppError): void {
    this.#up = false;
    this.#stream.closed();
    this.#questions.closed();
    this.#names.clear();
    this.words.unlinked();
    this.#options.onState(error);
  }

  #passed(token: number): void {
    if (!this.#questions.pass(token)) return;
    for (const port of this.#questions.ports) this.#known.add(port);
    this.words.settle();
    this.#options.onAnswers();
  }
}
