import { AppError, messageOf } from '../../runtime/errors.ts';
import {
  acknowledgement,
  type DeltaRequest,
  type DeltaResponse,
  decodeDeltaResponse,
  encodeDeltaRequest,
  type Refusal,
} from '../../wire/proto/discovery.ts';
import { typeUrls } from '../../wire/proto/type-urls.ts';

/** One response, as the handler sees it. */
export interface ClientUpdate {
  readonly typeUrl: string;
  readonly upserts: readonly Upsert[];
  readonly removals: readonly string[];
  /**
   * The server has told its complete state on this connection: an OriginStatus came, in this update or an earlier
   * one. Until then what is missing is not known to be missing.
   */
  readonly complete: boolean;
}

export interface Upsert {
  readonly name: string;
  readonly version: string;
  readonly body: Uint8Array;
  /** Bytes of envoy.config.core.v3.Metadata. */
  readonly metadata?: Uint8Array | undefined;
}

export interface DeltaClientOptions {
  /**
   * Called in the order of arrival, without waiting for the promise of an earlier call. The ACK goes when it
   * resolves with an empty list, a NACK that names what is refused otherwise. It keeps its last good value of a
   * refused name. A rejection ends the stream.
   */
  readonly apply: (update: ClientUpdate) => Promise<readonly Refusal[]> | readonly Refusal[];
  /** Bytes of envoy.config.core.v3.Node: sent first on every connection. */
  readonly node: () => Uint8Array;
  /** Everything asked before `barrier()` returned this token is answered. */
  readonly passed?: (token: number) => void;
}

/** How a connection looks to the state machine. */
export interface ClientConnection {
  /** Takes a DeltaDiscoveryRequest. */
  send(message: Buffer): void;
  /** The peer broke the protocol or the handler failed: end the stream with this. */
  fail(error: AppError): void;
}

interface ClientType {
  /** Names asked for, `*` and globs included. */
  readonly wanted: Set<string>;
  /** What was accepted: told to the next server, so that it sends only what differs. */
  readonly versions: Map<string, string>;
  /** Which response last brought a name, or its removal, to the handler that is not done with it yet. */
  readonly brought: Map<string, DeltaResponse>;
  asked: boolean;
  /** Ends when every response before is acknowledged. */
  acks: Promise<void>;
}

/** No content has it, so that a server which is told it sends what it has, or that it has nothing. */
const noVersion = '?';

const barrierName = (token: number): string => `barrier/${token}`;

/**
 * The client's end of delta xDS, without a transport. It outlives connections: subscriptions and accepted versions
 * carry over, and what was told stays in force while there is no connection.
 */
export class DeltaClientStream {
  readonly #options: DeltaClientOptions;
  readonly #types = new Map<string, ClientType>();
  #connection: ClientConnection | undefined;
  #nodeSent = false;
  #complete = false;
  #barrier = 0;

  constructor(options: DeltaClientOptions) {
    this.#options = options;
  }

  /** The server has told its complete state on this connection. */
  get isComplete(): boolean {
    return this.#complete;
  }

  /** `*` is everything, `xdstp://…/*` a glob. A name that was asked for before is asked for again. */
  subscribe(typeUrl: string, names: readonly string[]): void {
    const type = this.#type(typeUrl);
    for (const name of names) type.wanted.add(name);
    if (!this.#connection) return;
    if (type.asked) this.#send({ ...request(typeUrl), subscribe: names });
    else this.#ask(typeUrl, type);
  }

  /** What an earlier process had accepted of names that are asked for: it is claimed as if this one had. */
  restore(typeUrl: string, versions: Iterable<readonly [name: string, version: string]>): void {
    const type = this.#type(typeUrl);
    for (const [name, version] of versions) if (wants(type, name)) type.versions.set(name, version);
  }

  /** The handler does not hold these any more: they are not claimed on the next connection. */
  forget(typeUrl: string, which: (name: string) => boolean): void {
    const { versions, brought } = this.#type(typeUrl);
    for (const held of [versions, brought])
      for (const name of held.keys()) if (which(name)) held.delete(name);
  }

  /** What nothing else covers is forgotten, without a word to the handler. */
  unsubscribe(typeUrl: string, names: readonly string[]): void {
    const type = this.#type(typeUrl);
    for (const name of names) type.wanted.delete(name);
    for (const held of [type.versions, type.brought]) {
      for (const name of held.keys()) if (!wants(type, name)) held.delete(name);
    }
    if (this.#connection && type.asked) this.#send({ ...request(typeUrl), unsubscribe: names });
  }

  /**
   * Asks to be told when everything asked so far is answered: a name of type OriginStatus that does not exist is
   * answered with its removal, after all else. On loss of the connection it is asked again.
   */
  barrier(): number {
    const type = this.#type(typeUrls.originStatus);
    const before = barrierName(this.#barrier);
    this.#barrier += 1;
    const name = barrierName(this.#barrier);
    const unsubscribe = type.wanted.delete(before) ? [before] : [];
    type.wanted.add(name);
    if (this.#connection) {
      if (type.asked) this.#send({ ...request(typeUrls.originStatus), subscribe: [name], unsubscribe });
      else this.#ask(typeUrls.originStatus, type);
    }
    return this.#barrier;
  }

  /** Sends the node again, since what it says has changed. */
  announce(): void {
    const [first] = this.#types.keys();
    if (!this.#connection || first === undefined) return;
    this.#nodeSent = false;
    this.#send(request(first));
  }

  /** A connection is there: asks for everything again, with the versions that are held. OriginStatus goes last. */
  opened(connection: ClientConnection): void {
    this.#connection = connection;
    this.#nodeSent = false;
    this.#complete = false;
    for (const type of this.#types.values()) {
      type.asked = false;
      type.acks = Promise.resolve();
    }
    const last = (typeUrl: string): number => (typeUrl === typeUrls.originStatus ? 1 : 0);
    const types = [...this.#types].sort(([a], [b]) => last(a) - last(b));
    for (const [typeUrl, type] of types) if (type.wanted.size > 0) this.#ask(typeUrl, type);
  }

  /** The connection is gone. */
  closed(): void {
    this.#connection = undefined;
    this.#complete = false;
  }

  /** Takes a DeltaDiscoveryResponse. Throws E_XDS_STREAM when it is malformed. */
  receive(message: Uint8Array): void {
    const connection = this.#connection;
    if (!connection) return;
    const response = parse(message);
    const type = this.#types.get(response.typeUrl);
    if (!type)
      throw new AppError('E_XDS_STREAM', `found a response of type ${response.typeUrl}, not asked for`);
    if (response.typeUrl === typeUrls.originStatus && response.resources.length > 0) this.#complete = true;
    const applied = this.#apply(type, response);
    applied.catch(() => {});
    type.acks = type.acks.then(async () => {
      const refusals = await applied;
      this.#remember(type, response, refusals);
      if (this.#connection !== connection) return;
      this.#send({ ...acknowledgement(response.typeUrl, response.nonce, refusals) });
      this.#passBarrier(response);
    });
    type.acks.catch((cause: unknown) => {
      if (this.#connection !== connection) return;
      connection.fail(
        new AppError('E_XDS_STREAM', `the update could not be applied: ${messageOf(cause)}`, { cause }),
      );
    });
  }

  /** What is not wanted any more may still be on its way: it is left out. */
  async #apply(type: ClientType, response: DeltaResponse): Promise<readonly Refusal[]> {
    const { typeUrl, resources, removals } = response;
    const wrong = resources.filter((r) => r.typeUrl !== typeUrl);
    const update = {
      typeUrl,
      upserts: resources.filter((r) => r.typeUrl === typeUrl && wants(type, r.name)),
      removals: removals.filter((name) => !name.startsWith('barrier/') && wants(type, name)),
      complete: this.#complete,
    };
    for (const name of [...update.upserts.map((u) => u.name), ...update.removals]) {
      type.brought.set(name, response);
    }
    const refusals = await this.#options.apply(update);
    return [
      ...refusals,
      ...wrong.map((r) => ({ name: r.name, message: `expected type ${typeUrl}, found ${r.typeUrl}` })),
    ];
  }

  /**
   * Of a refused name the handler has its last good value, if there was one: it is claimed, but not in any version.
   * What was never taken is not remembered, so that a peer cannot fill the memory with what is refused.
   */
  #remember(type: ClientType, response: DeltaResponse, refusals: readonly Refusal[]): void {
    const refused = new Set(refusals.map((r) => r.name));
    const isLast = (name: string): boolean =>
      type.brought.get(name) === response && type.brought.delete(name);
    for (const { name, version } of response.resources) {
      const last = isLast(name);
      const isHeld = type.versions.has(name);
      if (refused.has(name)) {
        if (last && isHeld) type.versions.set(name, noVersion);
      } else if (last) type.versions.set(name, version);
      else if (!isHeld && type.brought.has(name)) type.versions.set(name, noVersion);
    }
    for (const name of response.removals) if (isLast(name)) type.versions.delete(name);
  }

  #passBarrier(response: DeltaResponse): void {
    if (response.typeUrl !== typeUrls.originStatus) return;
    if (response.removals.includes(barrierName(this.#barrier))) this.#options.passed?.(this.#barrier);
  }

  #ask(typeUrl: string, type: ClientType): void {
    type.asked = true;
    // A marker says something of this connection: it must come again.
    const initialVersions = new Map(typeUrl === typeUrls.originStatus ? [] : type.versions);
    // Whether the handler took these is not known: they are claimed, in a version that no server has.
    for (const name of typeUrl === typeUrls.originStatus ? [] : type.brought.keys()) {
      initialVersions.set(name, noVersion);
    }
    this.#send({ ...request(typeUrl), subscribe: [...type.wanted], initialVersions });
  }

  #send(message: DeltaRequest): void {
    const node = this.#nodeSent ? undefined : this.#options.node();
    this.#nodeSent = true;
    this.#connection?.send(encodeDeltaRequest({ ...message, node }));
  }

  #type(typeUrl: string): ClientType {
    const known = this.#types.get(typeUrl);
    if (known) return known;
    const made = {
      wanted: new Set<string>(),
      versions: new Map(),
      brought: new Map(),
      asked: false,
      acks: Promise.resolve(),
    };
    this.#types.set(typeUrl, made);
    return made;
  }
}

const request = (typeUrl: string): DeltaRequest => ({
  typeUrl,
  subscribe: [],
  unsubscribe: [],
  initialVersions: new Map(),
  nonce: '',
});

/** Covered by a name, a glob or `*`; a glob itself is covered by its own name. */
function wants({ wanted }: ClientType, name: string): boolean {
  return wanted.has('*') || wanted.has(name) || wanted.has(`${name.slice(0, name.lastIndexOf('/') + 1)}*`);
}

function parse(message: Uint8Array): DeltaResponse {
  try {
    return decodeDeltaResponse(message);
  } catch (cause) {
    throw new AppError('E_XDS_STREAM', `expected a DeltaDiscoveryResponse: ${messageOf(cause)}`, { cause });
  }
}
