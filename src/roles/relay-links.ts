import type { Export } from '../model/compiled.ts';
import type { Change } from '../model/inputs.ts';
import { PublishLink } from '../outputs/relay/publish-link.ts';
import { PublishedState } from '../outputs/relay/published-state.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Log } from '../runtime/log.ts';
import type { Metrics } from '../runtime/metrics.ts';
import { peerClient } from '../runtime/peer-client.ts';
import type { TlsFiles } from '../runtime/tls.ts';
import { RelaySource } from '../sources/relay/relay-source.ts';

export interface RelayLinksOptions {
  readonly set: string;
  readonly cluster: string;
  readonly network: string;
  /** `host:port` of each relay. */
  readonly relays: readonly string[];
  readonly tls: TlsFiles;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Contribution, Origin and Import records; called synchronously. */
  readonly onChanges: (changes: readonly Change[]) => void;
}

/** A controller's links to its relays: what it imports comes in, what it exports goes out. */
export class RelayLinks {
  readonly source: RelaySource;
  readonly #options: RelayLinksOptions;
  readonly #state: PublishedState;
  readonly #clients: ReturnType<typeof peerClient>[];
  #publishing: readonly PublishLink[] = [];

  /** Throws E_TLS_LOAD. */
  constructor(options: RelayLinksOptions) {
    const { set, cluster, network, relays, tls, clock, random } = options;
    this.#options = options;
    this.source = new RelaySource(options);
    this.#state = new PublishedState({ set, cluster, network, clock, epoch: clock.now() });
    const expect = { set, roles: ['relay'] } as const;
    this.#clients = relays.map((target) => peerClient({ target, tls, expect, clock }));
    this.source.dial(this.#clients, random);
  }

  /** `Compiled.imports`. */
  setImports(ports: ReadonlySet<string>): void {
    this.source.setImports(ports);
  }

  /**
   * `Compiled.exports`, once they are complete: the first call begins to publish, and a name that is not in it is
   * taken from the other clusters.
   */
  publish(exports: ReadonlyMap<string, Export>): void {
    this.#state.update(exports);
    if (this.#publishing.length > 0) return;
    const { relays, clock, random, log, metrics } = this.#options;
    const refused = metrics.counter({
      name: 'relay_publish_refused_total',
      help: 'Resources of ours that a relay refused',
    });
    this.#publishing = this.#clients.map((client, i) => {
      const target = relays[i] as string;
      return new PublishLink({
        client,
        target,
        state: this.#state,
        clock,
        random,
        refused: (name, message) => {
          refused.inc();
          log.warn({ relay: target, name }, `the relay refuses what we export: ${message}`);
        },
      });
    });
  }

  close(): void {
    this.source.close();
    this.#state.close();
    for (const link of this.#publishing) link.close();
    for (const client of this.#clients) client.close();
  }
}
