import type { Refused } from '../../model/relay/authority.ts';
import { decodeLinkFacts } from '../../model/relay/link-metadata.ts';
import {
  type ContributionName,
  contributionKeyOf,
  parseRelayName,
  portKeyOf,
} from '../../model/relay/names.ts';
import { decodeOriginStatus, type OriginStatus } from '../../model/relay/origin-status.ts';
import { defaultLimits } from '../../model/relay/peer-budget.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Dialer } from '../../runtime/duplex-loop.ts';
import type { AppError } from '../../runtime/errors.ts';
import { ownBytes } from '../../wire/own-bytes.ts';
import type { Refusal } from '../../wire/proto/discovery.ts';
import { codec } from '../../wire/proto/registry.ts';
import { typeUrls } from '../../wire/proto/type-urls.ts';
import {
  type ClientConnection,
  type ClientUpdate,
  DeltaClientStream,
  type Upsert,
} from '../xds/delta-client-stream.ts';
import { BadContent, decodeCluster, decodeShard } from './decode.ts';
import type { KeptLink } from './kept-peers.ts';
import { LinkContents, type Told } from './link-contents.ts';
import { PortQuestions } from './port-questions.ts';
import { subscribeLoop } from './subscribe-loop.ts';

/** What a message from the relay touched. */
export interface LinkTouched {
  /** Keys of records. */
  readonly contributions: ReadonlySet<string>;
  readonly origins: ReadonlySet<string>;
  /** Some port may be answered completely now. */
  readonly answers: boolean;
}

export interface RelayLinkOptions {
  readonly set: string;
  /** Ours: nobody gives it to us. */
  readonly cluster: string;
  readonly target: string;
  readonly clock: Clock;
  readonly onTouched: (touched: LinkTouched) => void;
  readonly onRefused: (refused: Refused) => void;
  /** Up: the relay has sent something. */
  readonly onState: (state: 'up' | AppError) => void;
}

/** What one relay tells us, over a stream that comes and goes. What it told stays when the stream ends. */
export class RelayLink {
  readonly contents = new LinkContents();
  readonly #options: RelayLinkOptions;
  readonly #stream: DeltaClientStream;
  readonly #questions: PortQuestions;
  #close: (() => void) | undefined;
  #connection = 0;
  #contactFrom = 1;
  #up = false;

  constructor(options: RelayLinkOptions) {
    this.#options = options;
    this.#stream = new DeltaClientStream({
      apply: (update) => this.#apply(update),
      node: () =>
        codec('envoy.config.core.v3.Node').encode({ id: options.cluster, user_agent_name: 'causeway' }),
      passed: (token) => this.#passBarrier(token),
    });
    this.#questions = new PortQuestions(options.set, this.#stream);
  }

  get target(): string {
    return this.#options.target;
  }

  /** The relay has sent something on the connection that is open. */
  get isUp(): boolean {
    return this.#up;
  }

  /** Number of the connection; each has another. */
  get connection(): number {
    return this.#connection;
  }

  /** The first connection since which the relay was always there: a renewed one is no loss of contact. */
  get contactFrom(): number {
    return this.#contactFrom;
  }

  /** All that counts of what it told. */
  get kept(): KeptLink {
    const origins = [...this.contents.origins].map(([cluster, { body, isGone }]) => ({
      cluster,
      body,
      isGone,
    }));
    return { resources: [...this.contents.told()], origins };
  }

  /** What an earlier process was told counts as if this one had been told it, on a connection that is lost. */
  restore(ports: ReadonlySet<string>, { resources, origins }: KeptLink): void {
    this.setPorts(ports);
    for (const { cluster, body, isGone } of origins) {
      try {
        const status = decodeOriginStatus(body);
        this.contents.origins.set(cluster, { status, body, heardAt: 0, connection: 0, isGone });
      } catch {
        // It will be told again.
      }
    }
    for (const resource of resources) {
      const name = parseRelayName(resource.name);
      if (name?.kind !== 'contribution' || name.cluster === this.#options.cluster) continue;
      if (!this.#questions.has(portKeyOf(name)) || this.#putPart(name, resource)) continue;
      this.#stream.restore(typeUrls[name.type], [[resource.name, resource.version]]);
    }
    this.contents.settle();
  }

  dial(dialer: Dialer, random: () => number): void {
    this.#close = subscribeLoop(this, { ...this.#options, dialer, random });
  }

  close(): void {
    this.#close?.();
  }

  opened(connection: ClientConnection): void {
    this.#connection += 1;
    this.#questions.opened();
    this.#stream.opened(connection);
  }

  receive(message: Uint8Array): void {
    if (!this.#up) {
      this.#up = true;
      this.#options.onState('up');
    }
    this.#stream.receive(message);
  }

  /** Another connection follows at once. */
  replaced(): void {
    this.#stream.closed();
  }

  closed(error: AppError): void {
    this.#stream.closed();
    this.#contactFrom = this.#connection + 1;
    this.#up = false;
    this.#questions.closed();
    this.#options.onState(error);
    const origins = new Set(this.contents.origins.keys());
    this.#options.onTouched({ contributions: new Set(), origins, answers: false });
  }

  setPorts(ports: ReadonlySet<string>): void {
    for (const port of this.#questions.replace(ports)) this.contents.forgetPort(port);
  }

  /** The relay has told everything it has of this port. */
  isAnswered(port: string): boolean {
    return this.#questions.isAnswered(port);
  }

  /** Something is there that the next passed barrier clears up. */
  #isUnsettled(): boolean {
    if (this.contents.hasPartial) return true;
    for (const [cluster, { connection, isGone }] of this.contents.origins) {
      if (!isGone && connection !== this.#connection && !this.contents.hasAnyOf(cluster)) return true;
    }
    return false;
  }

  #passBarrier(token: number): void {
    if (!this.#questions.pass(token)) return;
    const contributions = new Set(this.contents.settle().map(contributionKeyOf));
    const origins = new Set<string>();
    for (const [cluster, heard] of this.contents.origins) {
      if (heard.isGone || heard.connection === this.#connection || this.contents.hasAnyOf(cluster)) continue;
      this.#forget(cluster);
      origins.add(cluster);
    }
    this.#options.onTouched({ contributions, origins, answers: true });
  }

  #apply(update: ClientUpdate): readonly Refusal[] {
    const contributions = new Set<string>();
    const origins = new Set<string>();
    const refusals: Refusal[] = [];
    for (const upsert of update.upserts) {
      const refused = this.#put(update.typeUrl, upsert, contributions, origins);
      if (!refused) continue;
      this.#options.onRefused(refused);
      refusals.push({ name: upsert.name, message: refused.message });
    }
    for (const name of update.removals) this.#remove(name, contributions, origins);
    this.#options.onTouched({ contributions, origins, answers: this.#questions.isSettled });
    if (this.#questions.isSettled && !this.#questions.isAsking && this.#isUnsettled()) {
      this.#questions.askAgain();
    }
    return refusals;
  }

  #put(
    typeUrl: string,
    upsert: Upsert,
    contributions: Set<string>,
    origins: Set<string>,
  ): Refused | undefined {
    const name = parseRelayName(upsert.name);
    if (!name) return { reason: 'name', message: 'expected a name of a contribution or an origin' };
    if (name.set !== this.#options.set)
      return { reason: 'set', message: `expected set ${this.#options.set}` };
    if (name.cluster === this.#options.cluster)
      return { reason: 'cluster', message: 'this is our own cluster' };
    if (name.kind === 'origin') {
      if (typeUrl !== typeUrls.originStatus) return { reason: 'type', message: 'expected an OriginStatus' };
      try {
        this.#hear(name.cluster, decodeOriginStatus(upsert.body), upsert.body);
        this.#commit(name.cluster, contributions);
        origins.add(name.cluster);
        return undefined;
      } catch {
        return { reason: 'content', message: 'expected a causeway.v1.OriginStatus' };
      }
    }
    const port = portKeyOf(name);
    if (typeUrl !== typeUrls[name.type]) return { reason: 'type', message: `expected a ${name.type}` };
    if (!this.#questions.has(port)) return undefined;
    const refused = this.#putPart(name, upsert);
    if (refused) return refused;
    this.contents.mark(name, decodeLinkFacts(upsert.metadata)?.mark ?? 0);
    return undefined;
  }

  /** A relay repeats the last status of an origin on each new stream: what was heard before is no heartbeat. */
  #hear(cluster: string, status: OriginStatus, received: Uint8Array): void {
    const before = this.contents.origins.get(cluster);
    const isOld = before?.status.epoch === status.epoch && before.status.sentAt === status.sentAt;
    const heardAt = isOld ? before.heardAt : this.#options.clock.now();
    // A copy: what came is a part of a whole message.
    const body = ownBytes(received);
    this.contents.origins.set(cluster, {
      status,
      body,
      heardAt,
      connection: this.#connection,
      isGone: false,
    });
  }

  #commit(cluster: string, contributions: Set<string>): void {
    for (const name of this.contents.commit(cluster)) contributions.add(contributionKeyOf(name));
  }

  #forget(cluster: string): void {
    const heard = this.contents.origins.get(cluster);
    if (heard) this.contents.origins.set(cluster, { ...heard, connection: this.#connection, isGone: true });
  }

  #putPart(name: ContributionName, { name: text, version, body: received }: Told): Refused | undefined {
    const body = ownBytes(received);
    const told = { name: text, version, body };
    if (name.type === 'cluster') {
      const facts = decodeCluster(body, text);
      if (facts instanceof BadContent) return { reason: 'content', message: facts.message };
      this.contents.setFacts(name, facts, told);
      return undefined;
    }
    const limit = defaultLimits.endpointsPerShard;
    const endpoints = decodeShard(body, { name: text, cluster: name.cluster, limit });
    if (endpoints instanceof BadContent) return { reason: 'content', message: endpoints.message };
    this.contents.setShard(name, endpoints, told);
    return undefined;
  }

  #remove(text: string, contributions: Set<string>, origins: Set<string>): void {
    const name = parseRelayName(text);
    if (!name) return;
    if (name.kind === 'origin') {
      this.#forget(name.cluster);
      origins.add(name.cluster);
    } else {
      this.contents.remove(name);
      const heard = this.contents.origins.get(name.cluster);
      const isUnheard = heard?.connection !== this.#connection && this.#questions.isSettled;
      if (isUnheard || heard?.isGone) this.#commit(name.cluster, contributions);
    }
  }
}
