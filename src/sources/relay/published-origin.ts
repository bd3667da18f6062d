import { authorizePublished, isRefused, type Peer, type Refused } from '../../model/relay/authority.ts';
import { decodeLinkFacts } from '../../model/relay/link-metadata.ts';
import type { ContributionName } from '../../model/relay/names.ts';
import { Origin, type Step } from '../../model/relay/origin.ts';
import { decodeOriginStatus, type OriginStatus } from '../../model/relay/origin-status.ts';
import { extendPath } from '../../model/relay/path.ts';
import { PeerBudget, type PeerLimits } from '../../model/relay/peer-budget.ts';
import type { Clock } from '../../runtime/clock.ts';
import { AppError } from '../../runtime/errors.ts';
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

export interface PublishedOriginOptions {
  readonly cluster: string;
  /** Name of this relay. */
  readonly relay: string;
  readonly limits: PeerLimits;
  readonly clock: Clock;
  /** `status`: a heartbeat of a complete origin, the bytes as they came. */
  readonly onSteps: (steps: readonly Step[], status: Uint8Array | undefined) => void;
  /** Of one message. */
  readonly onRefused: (refused: readonly (Refused & { readonly name: string })[]) => void;
}

const published = [typeUrls.cluster, typeUrls.assignment, typeUrls.originStatus];

/** A member as a relay hears it: over links that the member dials, one at a time, each checked and bounded. */
export class PublishedOrigin {
  readonly origin: Origin;
  readonly #options: PublishedOriginOptions;
  readonly #budget: PeerBudget;
  readonly #stream: DeltaClientStream;
  #link: { readonly connection: ClientConnection; readonly peer: Peer; readonly epoch: number } | undefined;
  #status: OriginStatus | undefined;
  #heardAt = 0;
  /** Resources and removals, ever. */
  #received = 0;

  constructor(options: PublishedOriginOptions) {
    this.#options = options;
    this.#budget = new PeerBudget(options.limits, options.clock.now());
    this.origin = new Origin(options.cluster, this.#budget);
    this.#stream = new DeltaClientStream({
      apply: (update) => this.#apply(update),
      node: () =>
        codec('envoy.config.core.v3.Node').encode({ id: options.relay, user_agent_name: 'causeway' }),
    });
    for (const typeUrl of published) this.#stream.subscribe(typeUrl, ['*']);
  }

  get isLinked(): boolean {
    return this.#link !== undefined;
  }

  /** Of the last heartbeat. */
  get status(): OriginStatus | undefined {
    return this.#status;
  }

  /** Epoch milliseconds of our clock; 0: never. */
  get heardAt(): number {
    return this.#heardAt;
  }

  get usage(): { readonly names: number; readonly bytes: number } {
    return { names: this.#budget.names, bytes: this.#budget.bytes };
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
    before?.connection.fail(new AppError('E_XDS_STREAM', `another publisher of ${peer.cluster} took over`));
    this.#stream.closed();
    this.origin.linked(peer);
    this.#stream.opened(connection);
  }

  /** Milliseconds for which the peer is not read any further. */
  receive(connection: ClientConnection, message: Uint8Array): number {
    if (this.#link?.connection !== connection) return 0;
    const before = this.#received;
    this.#stream.receive(message);
    return this.#budget.delayAfter(this.#received - before, this.#options.clock.now());
  }

  /** What it told stays. */
  closed(connection: ClientConnection): void {
    if (this.#link?.connection !== connection) return;
    this.#link = undefined;
    this.#stream.closed();
  }

  /** Ends its link, if there is one. */
  end(error: AppError): void {
    const link = this.#link;
    this.#link = undefined;
    this.#stream.closed();
    link?.connection.fail(error);
  }

  #apply(update: ClientUpdate): readonly Refusal[] {
    const refused: (Refused & { readonly name: string })[] = [];
    const steps: Step[] = [];
    let status: Uint8Array | undefined;
    this.#received += update.upserts.length + update.removals.length;
    for (const upsert of update.upserts) {
      const result =
        update.typeUrl === typeUrls.originStatus
          ? this.#putStatus(upsert)
          : this.#put(update.typeUrl, upsert);
      if (isRefused(result)) {
        refused.push({ ...result, name: upsert.name });
      } else {
        steps.push(...result);
        if (update.typeUrl === typeUrls.originStatus && this.origin.isComplete) status = upsert.body;
      }
    }
    if (update.typeUrl !== typeUrls.originStatus) {
      for (const name of update.removals) steps.push(...this.origin.remove(name));
    }
    if (steps.length > 0 || status) this.#options.onSteps(steps, status);
    if (refused.length > 0) this.#options.onRefused(refused);
    return refused.map(({ name, message }) => ({ name, message }));
  }

  #putStatus({ name, body }: Upsert): readonly Step[] | Refused {
    const peer = this.#link?.peer as Peer;
    const parsed = authorizePublished(name, peer);
    if (isRefused(parsed)) return parsed;
    if (parsed.kind !== 'origin') return { reason: 'type', message: 'expected the name of an OriginStatus' };
    try {
      this.#status = decodeOriginStatus(body);
    } catch {
      return { reason: 'content', message: 'expected a causeway.v1.OriginStatus' };
    }
    this.#heardAt = this.#options.clock.now();
    return this.#status.synced ? this.origin.commit() : [];
  }

  #put(typeUrl: string, upsert: Upsert): readonly Step[] | Refused {
    const { name, body } = upsert;
    const peer = this.#link?.peer as Peer;
    const parsed = authorizePublished(name, peer);
    if (isRefused(parsed)) return parsed;
    if (parsed.kind !== 'contribution' || typeUrl !== typeUrls[parsed.type]) {
      return { reason: 'type', message: 'expected a name of the type that it is published as' };
    }
    const facts = decodeLinkFacts(upsert.metadata);
    if (!facts) return { reason: 'content', message: 'expected export, path and mark beside the resource' };
    const extended = extendPath(facts.path, this.#options.relay);
    if (isRefused(extended)) return extended;
    const wrong = this.#contentError(parsed, name, body);
    if (wrong) return { reason: 'content', message: wrong.message };
    const policy = facts.export ?? [];
    return this.origin.put({ name, parsed, typeUrl, body, policy, path: extended.path, mark: facts.mark });
  }

  #contentError(parsed: ContributionName, name: string, body: Uint8Array): BadContent | undefined {
    const result =
      parsed.type === 'cluster'
        ? decodeCluster(body, name)
        : decodeShard(body, {
            name,
            cluster: parsed.cluster,
            limit: this.#options.limits.endpointsPerShard,
          });
    return result instanceof BadContent ? result : undefined;
  }
}
