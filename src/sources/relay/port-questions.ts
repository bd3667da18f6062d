import { type ContributionType, contributionGlob, originGlob } from '../../model/relay/names.ts';
import { typeUrls } from '../../wire/proto/type-urls.ts';
import type { DeltaClientStream } from '../xds/delta-client-stream.ts';

/** Assignments come first: what a status finds told in between is no port without its endpoints. */
const types: readonly ContributionType[] = ['assignment', 'cluster'];

/**
 * Which ports a relay is asked for, of all clusters, and which it has answered. It answers a barrier once it has told
 * everything that was asked before, so an answered port is one of which all is told that there is.
 */
export class PortQuestions {
  readonly #set: string;
  readonly #stream: DeltaClientStream;
  readonly #ports = new Set<string>();
  /** On the connection that is open. */
  readonly #answered = new Set<string>();
  #barrier = -1;
  #isAsking = false;
  #passed = false;

  constructor(set: string, stream: DeltaClientStream) {
    this.#set = set;
    this.#stream = stream;
    stream.subscribe(typeUrls.originStatus, [originGlob(set)]);
    this.askAgain();
  }

  has(port: string): boolean {
    return this.#ports.has(port);
  }

  get ports(): ReadonlySet<string> {
    return this.#ports;
  }

  /** A barrier was passed on the connection that is open: all origins have been told. */
  get isSettled(): boolean {
    return this.#passed;
  }

  /** A barrier is under way. */
  get isAsking(): boolean {
    return this.#isAsking;
  }

  isAnswered(port: string): boolean {
    return this.#answered.has(port);
  }

  /** A connection is there, on which everything is asked again. To be called before the stream is told. */
  opened(): void {
    this.closed();
    this.#isAsking = true;
  }

  closed(): void {
    this.#answered.clear();
    this.#passed = false;
  }

  /** Asks for exactly these ports; returns those that are not asked for any more. */
  replace(ports: ReadonlySet<string>): readonly string[] {
    const added = [...ports].filter((p) => !this.#ports.has(p));
    const gone = [...this.#ports].filter((p) => !ports.has(p));
    for (const port of gone) {
      this.#ports.delete(port);
      this.#answered.delete(port);
    }
    for (const port of added) this.#ports.add(port);
    const globs = (type: ContributionType, of: readonly string[]): readonly string[] =>
      of.map((port) => contributionGlob(this.#set, type, port));
    // All that goes first: the relay bounds how many ports are asked for at a time.
    for (const type of gone.length > 0 ? types : []) {
      this.#stream.unsubscribe(typeUrls[type], globs(type, gone));
    }
    for (const type of added.length > 0 ? types : []) {
      this.#stream.subscribe(typeUrls[type], globs(type, added));
    }
    if (added.length > 0) this.askAgain();
    return gone;
  }

  askAgain(): void {
    this.#isAsking = true;
    this.#barrier = this.#stream.barrier();
  }

  /** A barrier was passed. True: it is the last one, every port is answered. */
  pass(token: number): boolean {
    if (token !== this.#barrier) return false;
    this.#passed = true;
    this.#isAsking = false;
    for (const port of this.#ports) this.#answered.add(port);
    return true;
  }
}
