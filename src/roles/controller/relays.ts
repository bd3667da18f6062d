import type { Compiled, Touched } from '../../model/compiled.ts';
import type { Change } from '../../model/inputs.ts';
import type { RefusedSubscriber } from '../../model/relay/refused-subscribers.ts';
import { relayChannelOptions } from '../../outputs/relay/channel-options.ts';
import { PublishLink } from '../../outputs/relay/publish-link.ts';
import { PublishedState } from '../../outputs/relay/published-state.ts';
import type { Admission } from '../../runtime/admission.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Log } from '../../runtime/log.ts';
import type { Metrics } from '../../runtime/metrics.ts';
import { RenewedClient } from '../../runtime/renewed-client.ts';
import type { WriteFile } from '../../runtime/state-disk.ts';
import { DialCredentials } from '../../runtime/tls.ts';
import type { TlsFiles } from '../../runtime/tls-files.ts';
import { dialTcp } from '../../sources/probe/dial-tcp.ts';
import { Prober } from '../../sources/probe/prober.ts';
import { type LoadedPeers, loadPeers, PeerFile } from '../../sources/relay/peer-file.ts';
import { RelaySource } from '../../sources/relay/relay-source.ts';
import { certificateLine, type RelayLine } from './api.ts';

export interface ControllerRelaysOptions {
  readonly set: string;
  readonly cluster: string;
  readonly network: string;
  readonly relays: readonly string[];
  readonly tls: TlsFiles;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly epoch: number;
  readonly admission: Admission;
  readonly state: string;
  readonly write: WriteFile;
  /** Data planes were programmed by an earlier process. */
  readonly hadDataPlanes: boolean;
  /** `marks`: by the key of the Contribution, the origin's clock when it made the change. */
  readonly onChanges: (changes: readonly Change[], marks: ReadonlyMap<string, number>) => void;
}

/**
 * Both directions of every link: what we offer goes out, what we import comes in, and is tried where nobody speaks for
 * it. What came in and what failed are kept on disk together.
 */
export class ControllerRelays {
  readonly source: RelaySource;
  readonly #state: PublishedState;
  readonly #links: readonly PublishLink[];
  readonly #clients: readonly RenewedClient[];
  readonly #file: PeerFile;
  readonly #prober: Prober;
  /** By relay. */
  readonly #asked = new Map<string, readonly RefusedSubscriber[]>();

  constructor(options: ControllerRelaysOptions, loaded: LoadedPeers) {
    const { set, cluster, network, relays, clock, random, log, metrics, epoch } = options;
    this.#state = new PublishedState({ set, cluster, network, epoch, clock });
    this.source = new RelaySource({
      set,
      cluster,
      relays,
      clock,
      log,
      metrics,
      onChanges: options.onChanges,
      earlier: { ...loaded, isLost: isLost(options, loaded) },
      onKept: () => this.#file.changed(),
    });
    const { source } = this;
    const prober = new Prober({
      ...{ clock, random, metrics, dial: dialTcp },
      ...(loaded.kept?.failing ? { earlier: loaded.kept.failing } : {}),
      onChanges: (changes) => {
        options.onChanges(changes, new Map());
        this.#file?.changed();
      },
    });
    this.#prober = prober;
    this.#file = new PeerFile({
      stateFolder: options.state,
      source: {
        get kept() {
          const { failing } = prober;
          return source.kept && { ...source.kept, ...(failing.size > 0 ? { failing } : {}) };
        },
        get hasContact() {
          return source.hasContact;
        },
      },
      ...{ clock, log, metrics, write: options.write },
    });
    this.#file.changed();
    const credentials = new DialCredentials(
      options.tls,
      { set, roles: ['relay'] },
      { clock, dialled: (raw, target) => options.admission.dialled(raw, target) },
    );
    this.#clients = relays.map(
      (target) =>
        new RenewedClient({
          target,
          credentials,
          options: relayChannelOptions,
          clock,
          random,
          admission: options.admission,
        }),
    );
    this.#links = this.#clients.map(
      (dialer, i) =>
        new PublishLink({
          dialer,
          target: relays[i] as string,
          state: this.#state,
          clock,
          random,
          asked: (refused) => this.#setAsked(relays[i] as string, refused, log),
          refused: (name, message) =>
            log.warn({ name, relay: relays[i] }, `a relay refuses what we offer: ${message}`),
          lost: (error) =>
            log.warn(
              { relay: relays[i], code: error.code, error: error.message },
              'publishing is interrupted',
            ),
        }),
    );
    this.source.dial(this.#clients, random);
    metrics.gauge({
      name: 'refused_subscribers',
      help: 'ports of our composites that another cluster asks for and is not offered',
      labels: ['cluster'],
      collect: (gauge) => {
        gauge.reset();
        for (const { cluster: asker } of this.refusedSubscribers) gauge.inc({ cluster: asker });
      },
    });
  }

  /** What an earlier process was told goes to the model before anything is compiled. Never rejects. */
  static async open(options: ControllerRelaysOptions): Promise<ControllerRelays> {
    const loaded = await loadPeers(options.state, options);
    const { log } = options;
    if (loaded.kept) {
      log.info({ ports: loaded.kept.ports.length }, 'what peers gave is in force until they are heard');
    } else if (isLost(options, loaded)) {
      const error = loaded.fault ?? 'it is missing, and nodes were programmed before';
      log.warn({ error }, 'what peers gave is lost: what is imported is withheld until a relay answers');
    } else if (loaded.fault) log.warn({ error: loaded.fault }, 'what peers gave is lost; no node needs it');
    return new ControllerRelays(options, loaded);
  }

  /** The first call says that we are complete. `seen`: when the changes were seen; default: now. */
  update(
    compiled: Pick<Compiled, 'imports' | 'exports' | 'probes'>,
    touched: Touched | undefined,
    seen?: number,
  ): void {
    if (!touched || touched.imports.size > 0) this.source.setImports(compiled.imports);
    if (!touched || touched.exports.size > 0) this.#state.update(compiled.exports, touched?.exports, seen);
    this.#prober.update(compiled.probes, touched?.probes);
  }

  /** Which relays are heard now, and when the certificates that they proved end. `wall`: epoch milliseconds. */
  states(wall: number): readonly RelayLine[] {
    return this.source.states.map((line, i) => {
      const server = this.#clients[i]?.server;
      return server ? { ...line, certificate: certificateLine(server, wall) } : line;
    });
  }

  /** Who asks a relay for what our export does not offer them. */
  get refusedSubscribers(): readonly RefusedSubscriber[] {
    const all = [...this.#asked.values()].flat().map((each) => [JSON.stringify(each), each] as const);
    return [...new Map(all).values()];
  }

  #setAsked(relay: string, refused: readonly RefusedSubscriber[], log: Log): void {
    const before = new Set((this.#asked.get(relay) ?? []).map((each) => JSON.stringify(each)));
    this.#asked.set(relay, refused);
    const added = refused.filter((each) => !before.has(JSON.stringify(each)));
    const [first] = added;
    if (first)
      log.info({ relay, count: added.length, first }, 'asked for by clusters that export leaves out');
  }

  async close(): Promise<void> {
    for (const link of this.#links) link.close();
    this.source.close();
    this.#prober.close();
    this.#state.close();
    for (const client of this.#clients) client.close();
    await this.#file.close();
  }
}

const isLost = ({ hadDataPlanes }: ControllerRelaysOptions, { kept }: LoadedPeers): boolean =>
  !kept && hadDataPlanes;
