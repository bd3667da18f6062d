import type { ChannelCredentials } from '@grpc/grpc-js';
import type { Ir } from '../../model/ir.ts';
import { Backoff } from '../../runtime/backoff.ts';
import type { Clock } from '../../runtime/clock.ts';
import { messageOf } from '../../runtime/errors.ts';
import type { Log } from '../../runtime/log.ts';
import type { Metrics } from '../../runtime/metrics.ts';
import { syncedGauge } from '../../runtime/synced-gauge.ts';
import type { DialCredentials } from '../../runtime/tls.ts';
import type { Refusal } from '../../wire/proto/discovery.ts';
import { codec } from '../../wire/proto/registry.ts';
import { type Json, toStruct } from '../../wire/proto/struct.ts';
import { metadataKey, typeUrls } from '../../wire/proto/type-urls.ts';
import { AdsClient } from './ads-client.ts';
import type { ClientUpdate, DeltaClientStream } from './delta-client-stream.ts';
import { ResourceTables, type TouchedKeys } from './resource-tables.ts';

/**
 * What an output did with a representation: keys it refuses and why (they are reported to the server), or `later`:
 * nothing is in force yet, acknowledge nothing. After a rejection the handlers are called again, later and later.
 */
export type Applied = ReadonlyMap<string, string> | 'later' | undefined;

/** Calls do not overlap; what arrives during one is in the next. */
export type IrHandler = (ir: Ir, touched: TouchedKeys) => Promise<Applied> | Applied;

export interface IrSourceOptions {
  /** `host:port`, tried in turn. */
  readonly addresses: readonly string[];
  /** They check who the server is. */
  readonly credentials: ChannelCredentials | DialCredentials;
  /** agent: front ends, back ends and nodes. dns: front ends. */
  readonly view: 'agent' | 'dns';
  /** For people; who we are is what our certificate says. */
  readonly node: { readonly id: string; readonly cluster: string };
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
}

const viewTypes: Record<IrSourceOptions['view'], readonly string[]> = {
  agent: [typeUrls.listener, typeUrls.cluster, typeUrls.assignment],
  dns: [typeUrls.listener],
};

interface Waiting {
  readonly typeUrl: string;
  readonly names: readonly string[];
  readonly refusals: readonly Refusal[];
  resolve(refusals: readonly Refusal[]): void;
}

interface Report {
  readonly typeUrl: string;
  readonly name: string;
  /** It could not be read: only another version of it can change that. */
  readonly unreadable: boolean;
}

/**
 * The representation that a controller serves. What it told stays in force while it is away. An update is
 * acknowledged when the handlers are done with it.
 */
export class IrSource {
  readonly #options: IrSourceOptions;
  readonly #tables = new ResourceTables();
  readonly #handlers: IrHandler[] = [];
  readonly #client: AdsClient;
  #facts: Readonly<Record<string, Json>> = {};
  #ir: Ir = { frontends: new Map(), backends: new Map(), nodes: new Map() };
  #complete = false;
  #waiting: Waiting[] = [];
  #running = false;
  #closed = false;
  readonly #retry: Backoff;
  #cancelRetry: (() => void) | undefined;
  #again = false;
  /** What the server was told is refused, by `<type URL> <name>`. */
  readonly #reported = new Map<string, Report>();

  constructor(options: IrSourceOptions) {
    this.#options = options;
    this.#retry = new Backoff({ minMs: 100, maxMs: 5_000, random: options.random });
    const { metrics } = options;
    syncedGauge(metrics, () => [[options.node.cluster, this.#complete]]);
    const connected = metrics.gauge({ name: 'xds_connected', help: '1 while the xDS stream is up' });
    connected.set(0);
    this.#client = new AdsClient(
      {
        ...options,
        apply: (update) => this.#apply(update),
        node: () => this.#node(),
        onConnected: (up) => connected.set(up ? 1 : 0),
      },
      (stream) => this.#subscribe(stream),
    );
  }

  /** As last handed to the handlers. */
  get ir(): Ir {
    return this.#ir;
  }

  /**
   * The whole state was told once: the marker came, and every assignment that a Cluster names has come or been
   * removed. Later losses do not change it.
   */
  get complete(): boolean {
    return this.#complete;
  }

  get connected(): boolean {
    return this.#client.connected;
  }

  /** Called with every change from now on, and soon with what is there. */
  onChange(handler: IrHandler): void {
    this.#handlers.push(handler);
    this.poke();
  }

  /** Runs the handlers again, after one that answered `later` can do more. */
  poke(): void {
    this.#again = true;
    void this.#run();
  }

  /** Facts of ours for the server, beside those told before, in the node's metadata (docs/xds.md). */
  announce(facts: Readonly<Record<string, Json>>): void {
    this.#facts = { ...this.#facts, ...facts };
    this.#client.stream.announce();
  }

  close(): void {
    this.#closed = true;
    this.#cancelRetry?.();
    this.#client.close();
  }

  #subscribe(stream: DeltaClientStream): void {
    for (const typeUrl of viewTypes[this.#options.view]) stream.subscribe(typeUrl, ['*']);
    stream.subscribe(typeUrls.originStatus, ['*']);
  }

  #node(): Uint8Array {
    const { id, cluster } = this.#options.node;
    return codec('envoy.config.core.v3.Node').encode({
      id,
      cluster,
      user_agent_name: 'causeway',
      metadata: toStruct({ [metadataKey]: this.#facts }),
    });
  }

  #apply(update: ClientUpdate): Promise<readonly Refusal[]> {
    const refusals = this.#tables.apply(update);
    this.#noteComplete(update.complete);
    return new Promise((resolve) => {
      const names = update.upserts.map((upsert) => upsert.name);
      this.#waiting.push({ typeUrl: update.typeUrl, names, refusals, resolve });
      this.poke();
    });
  }

  #noteComplete(marker: boolean): void {
    if (this.#complete || !marker || !this.#tables.hasAssignments) return;
    this.#complete = true;
    this.#options.log.info({}, 'the xDS source is complete');
  }

  async #run(): Promise<void> {
    if (this.#running || this.#closed || this.#handlers.length === 0) return;
    this.#running = true;
    // Responses that arrived together are applied together.
    await Promise.resolve();
    while (this.#again && !this.#closed) {
      this.#again = false;
      await this.#runOnce();
    }
    this.#running = false;
  }

  async #runOnce(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    const { ir, touched } = this.#tables.take();
    this.#ir = ir;
    try {
      const results = await Promise.all(this.#handlers.map((handler) => handler(this.#ir, touched)));
      if (results.includes('later')) {
        this.#waiting = [...waiting, ...this.#waiting];
        this.#tables.touchAgain(touched);
        return;
      }
      const refused = new Map(results.flatMap((r) => (r instanceof Map ? [...r] : [])));
      this.#settle(waiting, refused);
      this.#retry.reset();
    } catch (error) {
      this.#options.log.error({}, `the update could not be applied: ${messageOf(error)}`);
      this.#waiting = [...waiting, ...this.#waiting];
      this.#tables.touchAgain(touched);
      this.#cancelRetry?.();
      this.#cancelRetry = this.#options.clock.after(this.#retry.next(), () => this.poke());
    }
  }

  #settle(waiting: readonly Waiting[], refused: ReadonlyMap<string, string>): void {
    const answered = new Set<string>();
    for (const { typeUrl, names, refusals, resolve } of waiting) {
      const own = new Map(refusals.map((r) => [r.name, r]));
      const unreadable = new Set(own.keys());
      for (const name of names) {
        const message = refused.get(name);
        if (message !== undefined && !own.has(name)) own.set(name, { name, message });
        const id = `${typeUrl} ${name}`;
        answered.add(id);
        if (own.has(name)) this.#reported.set(id, { typeUrl, name, unreadable: unreadable.has(name) });
        else this.#reported.delete(id);
      }
      resolve([...own.values()]);
    }
    this.#reportChanges(refused, answered);
  }

  /**
   * A verdict about a resource that no response is waiting for: asking for the resource again gives a response to
   * acknowledge or refuse.
   */
  #reportChanges(refused: ReadonlyMap<string, string>, answered: ReadonlySet<string>): void {
    const asked = new Map<string, string[]>();
    const ask = (typeUrl: string, name: string): void => {
      if (!answered.has(`${typeUrl} ${name}`)) asked.set(typeUrl, [...(asked.get(typeUrl) ?? []), name]);
    };
    for (const [id, { typeUrl, name, unreadable }] of this.#reported) {
      if (unreadable || answered.has(id) || refused.has(name)) continue;
      this.#reported.delete(id);
      ask(typeUrl, name);
    }
    for (const name of refused.keys()) {
      const typeUrl = this.#ir.frontends.has(name) ? typeUrls.listener : typeUrls.assignment;
      const known = [typeUrl, typeUrls.cluster].some((t) => this.#reported.has(`${t} ${name}`));
      if (known) continue;
      this.#reported.set(`${typeUrl} ${name}`, { typeUrl, name, unreadable: false });
      ask(typeUrl, name);
    }
    for (const [typeUrl, names] of asked) this.#client.stream.subscribe(typeUrl, names);
  }
}
