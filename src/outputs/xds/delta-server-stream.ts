import { AppError, messageOf } from '../../runtime/errors.ts';
import { type DeltaRequest, decodeDeltaRequest } from '../../wire/proto/discovery.ts';
import { typeUrls } from '../../wire/proto/type-urls.ts';
import type { DeltaMessage } from './delta-message.ts';
import type { LogReader, ResourceLog } from './resource-log.ts';
import { type Told, type TypePlan, TypeStream } from './type-stream.ts';
import type { View } from './view.ts';

/** What one peer may cost. */
export interface StreamLimits {
  /** Subscribed and claimed names, all types together. */
  readonly names: number;
  /** Bytes of one name. */
  readonly nameBytes: number;
  readonly types: number;
  /**
   * Bytes of one request. A client that comes back claims everything that it holds of a type in one, since only the
   * first request of a type may, so it goes with `names`: 320 bytes for each with its version.
   */
  readonly requestBytes: number;
  /** Bytes of one response; a bigger resource goes alone. */
  readonly responseBytes: number;
}

export const defaultStreamLimits: StreamLimits = {
  names: 200_000,
  nameBytes: 1024,
  types: 16,
  requestBytes: 64 * 1024 * 1024,
  responseBytes: 1024 * 1024,
};

/** What a client did not take. */
export interface RefusedResource {
  readonly name: string;
  /** Empty: its removal. */
  readonly version: string;
  readonly message: string;
}

/** What happens on a stream. All are called synchronously. */
export interface StreamObserver {
  /** Bytes of envoy.config.core.v3.Node, whenever the client sends them. */
  node?(bytes: Uint8Array): void;
  /** `refused` is empty after an ACK. A refusal without names counts for all that the response carried. */
  answered?(typeUrl: string, told: Told, refused: readonly RefusedResource[]): void;
  /** The client acknowledged everything of this type up to `position`. */
  progress?(typeUrl: string, position: number): void;
  sent?(typeUrl: string, bytes: number): void;
}

export interface DeltaServerStreamOptions {
  readonly log: ResourceLog;
  readonly view: View;
  /** Takes a DeltaDiscoveryResponse. False: no more until `drained` is called. */
  readonly send: (message: Buffer) => boolean;
  /** Nothing is sent before `drained` is called. */
  readonly held?: boolean;
  /** The stream cannot go on (the client fell too far behind, …): end it with this. */
  readonly fail: (error: AppError) => void;
  readonly observer?: StreamObserver;
  readonly limits?: StreamLimits;
}

/** Make before break: what is used comes before what uses it, and goes after it. */
const addOrder: readonly string[] = [typeUrls.cluster, typeUrls.assignment, typeUrls.listener];
const removeOrder: readonly string[] = [typeUrls.listener, typeUrls.assignment, typeUrls.cluster];

/**
 * The server's end of one delta xDS stream, without a transport. It reads the log by cursor, so that a client
 * that reads slowly costs a number and not a copy. An OriginStatus goes after everything else that is waiting: it
 * closes the initial state, and that a name of that type does not exist is said when all earlier requests are
 * answered, globs included: what lies under a glob is answered once all of it is known.
 */
export class DeltaServerStream implements LogReader {
  readonly #options: DeltaServerStreamOptions;
  readonly #limits: StreamLimits;
  readonly #types = new Map<string, TypeStream>();
  readonly #detach: () => void;
  #blocked: boolean;
  #closed = false;
  #pumping = false;
  #again = false;

  constructor(options: DeltaServerStreamOptions) {
    this.#options = options;
    this.#limits = options.limits ?? defaultStreamLimits;
    this.#blocked = options.held ?? false;
    this.#detach = options.log.attach(this);
  }

  /** Takes a DeltaDiscoveryRequest. Throws E_XDS_STREAM when it is malformed or over a limit. */
  receive(message: Uint8Array): void {
    if (this.#closed) return;
    const { requestBytes } = this.#limits;
    if (message.length > requestBytes) {
      const text = `expected a request of at most ${requestBytes} bytes, found ${message.length}`;
      throw new AppError('E_XDS_STREAM', text);
    }
    const request = parse(message);
    if (request.node) this.#options.observer?.node?.(request.node);
    if (request.typeUrl === '') {
      throw new AppError('E_XDS_STREAM', 'expected a type_url in a discovery request, found none');
    }
    const known = this.#types.get(request.typeUrl);
    const type = known ?? this.#addType(request.typeUrl);
    if (request.nonce !== '') this.#acknowledge(type, request);
    const changes = request.subscribe.length + request.unsubscribe.length > 0;
    if (!known || changes) {
      this.#checkNames(request);
      this.#options.view.asked?.(this, request.subscribe, request.unsubscribe);
      type.subscribe({ ...request, first: !known });
    }
    this.#pump();
  }

  /** The transport takes messages again. */
  drained(): void {
    this.#blocked = false;
    this.#pump();
  }

  /** The view sees other things than before: tells the client what appeared and what went. */
  refresh(): void {
    const { view } = this.#options;
    const entries = [...this.#types.values()].flatMap((type) => type.refresh());
    if (view.statusOf) {
      const names = new Set(entries.map((entry) => view.statusOf?.(entry) ?? ''));
      this.#types.get(typeUrls.originStatus)?.tellAgain(names);
    }
    this.#pump();
  }

  /** Position that the client acknowledged for a type; -1 if it has not asked for it or not answered yet. */
  acked(typeUrl: string): number {
    return this.#types.get(typeUrl)?.acked ?? -1;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#detach();
    this.#options.view.ended?.(this);
  }

  changed(): void {
    this.#pump();
  }

  settled(): void {
    for (const type of this.#types.values()) type.settle();
    this.#pump();
  }

  floor(typeUrl: string): number {
    return this.#types.get(typeUrl)?.floor ?? Number.POSITIVE_INFINITY;
  }

  overflow(): void {
    this.#fail('the client is too far behind what changed');
  }

  #addType(typeUrl: string): TypeStream {
    if (this.#types.size >= this.#limits.types) {
      throw new AppError('E_XDS_STREAM', `expected at most ${this.#limits.types} types on a stream`);
    }
    const { log, view } = this.#options;
    const type = new TypeStream({ log, view, typeUrl, maxBytes: this.#limits.responseBytes });
    this.#types.set(typeUrl, type);
    return type;
  }

  #checkNames(request: DeltaRequest): void {
    const { names, nameBytes } = this.#limits;
    const added = request.subscribe.length + request.initialVersions.size;
    const total = [...this.#types.values()].reduce((sum, type) => sum + type.size, added);
    if (total > names) throw new AppError('E_XDS_STREAM', `expected at most ${names} names, found ${total}`);
    for (const list of [request.subscribe, request.initialVersions.keys()]) {
      for (const name of list) {
        if (name.length <= nameBytes) continue;
        throw new AppError('E_XDS_STREAM', `expected names of at most ${nameBytes} bytes`);
      }
    }
  }

  #acknowledge(type: TypeStream, request: DeltaRequest): void {
    const before = type.acked;
    const told = type.acknowledge(request.nonce);
    if (!told) return;
    const { observer } = this.#options;
    const refused = request.error ? matchRefusals(told, request.error) : [];
    observer?.answered?.(type.typeUrl, told, refused);
    if (type.acked !== before) observer?.progress?.(type.typeUrl, type.acked);
  }

  #pump(): void {
    if (this.#pumping) {
      this.#again = true;
      return;
    }
    this.#pumping = true;
    do {
      this.#again = false;
      this.#sendWaiting();
    } while (this.#again);
    this.#pumping = false;
  }

  #sendWaiting(): void {
    const { log } = this.#options;
    if (!log.isOpen || this.#blocked || this.#closed) return;
    this.#sendGoneOrigins();
    const isLast = (type: TypeStream): boolean => type.typeUrl === typeUrls.originStatus;
    const types = [...this.#types.values()].sort((a, b) => Number(isLast(a)) - Number(isLast(b)));
    const plans: (TypePlan & { readonly type: TypeStream })[] = [];
    let open = false;
    for (const type of types) {
      plans.push({ type, ...type.plan(open && isLast(type)) });
      open ||= type.hasOpenGlob;
    }
    const order = (types: readonly string[], of: 'upserts' | 'removals') =>
      types.flatMap((typeUrl) => {
        const plan = plans.find((p) => p.type.typeUrl === typeUrl);
        return plan ? plan[of].map((message) => ({ type: plan.type, message })) : [];
      });
    const others = plans.map((p) => p.type.typeUrl).filter((t) => !addOrder.includes(t));
    const unordered = others.filter((t) => t !== typeUrls.originStatus);
    const last = others.filter((t) => t === typeUrls.originStatus);
    const steps = [
      ...order([...addOrder, ...unordered], 'upserts'),
      ...order([...removeOrder, ...unordered], 'removals'),
      ...order(last, 'upserts'),
      ...order(last, 'removals'),
    ];
    for (const { type, message } of steps) {
      if (this.#blocked || this.#closed) return;
      this.#send(type, message);
    }
    for (const { type } of plans) this.#told(type);
  }

  /**
   * Where a view may change, an origin that goes is told before what it had: a relay then takes another way to it, if it
   * has one, and nothing goes piece by piece.
   */
  #sendGoneOrigins(): void {
    const type = this.#types.get(typeUrls.originStatus);
    if (!type || this.#options.view.stable) return;
    for (const message of type.plan(true).removals) {
      if (this.#blocked || this.#closed) return;
      this.#send(type, message);
    }
  }

  #send(type: TypeStream, message: DeltaMessage): void {
    const bytes = message.bytes();
    type.sent(message);
    this.#blocked = !this.#options.send(bytes);
    this.#options.observer?.sent?.(type.typeUrl, bytes.length);
  }

  #told(type: TypeStream): void {
    const before = type.acked;
    if (!type.told(this.#options.log.position)) return;
    if (type.acked !== before) this.#options.observer?.progress?.(type.typeUrl, type.acked);
  }

  #fail(message: string): void {
    this.close();
    this.#options.fail(new AppError('E_XDS_STREAM', message));
  }
}

function parse(message: Uint8Array): DeltaRequest {
  try {
    return decodeDeltaRequest(message);
  } catch (cause) {
    throw new AppError('E_XDS_STREAM', `expected a DeltaDiscoveryRequest: ${messageOf(cause)}`, { cause });
  }
}

/**
 * By the names in the details; else by those in the message, as Envoy writes them; else all of the response. What is
 * refused may be a removal: then the client keeps what it had.
 */
function matchRefusals(told: Told, error: NonNullable<DeltaRequest['error']>): RefusedResource[] {
  const carried = [
    ...told.upserts.map(({ name, version }) => ({ name, version })),
    ...told.removals.map((name) => ({ name, version: '' })),
  ];
  const byName = new Map(error.refusals.map((r) => [r.name, r.message]));
  const named = carried.filter(({ name }) => byName.has(name));
  if (named.length > 0) return named.map((r) => ({ ...r, message: byName.get(r.name) ?? '' }));
  const mentioned = carried.filter(({ name }) => error.message.includes(`${name}:`));
  const refused = mentioned.length > 0 ? mentioned : carried;
  return refused.map((r) => ({ ...r, message: error.message }));
}
