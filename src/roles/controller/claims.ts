import type { Compiled, Touched } from '../../model/compiled.ts';
import type { Change, Claim } from '../../model/inputs.ts';
import { gatewayFrontendKey } from '../../model/units/frontend.ts';
import { ClaimKeeper } from '../../outputs/objects/claim-keeper.ts';
import { ReservedAddresses } from '../../outputs/objects/reserved.ts';
import type { AckTracker } from '../../outputs/xds/acks.ts';
import type { Clock } from '../../runtime/clock.ts';
import { Coalescer } from '../../runtime/coalesce.ts';
import type { Log } from '../../runtime/log.ts';
import type { Metrics } from '../../runtime/metrics.ts';
import type { WriteFile } from '../../runtime/state-disk.ts';
import type { FileBatch } from '../../sources/file/file-source.ts';

export interface ControllerClaimsOptions {
  readonly state: string;
  readonly serviceCidrs: readonly string[];
  readonly acks: AckTracker;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly write?: WriteFile;
  readonly onChanges: (changes: readonly Change[]) => void;
}

/**
 * Claims follow what the model wants and what nodes acknowledged, and go back into the model as records. A claim that
 * is given up is free again only when every node that may translate its address has acknowledged the removal.
 */
export class ControllerClaims {
  readonly #options: ControllerClaimsOptions;
  readonly #keeper: ClaimKeeper;
  readonly #coalescer: Coalescer;
  readonly #nodes = new Set<string>();
  /** Addresses of Services: key `<namespace>/<name>`. */
  readonly #reserved = new ReservedAddresses();
  /** Agents that are told nothing before the next save. */
  #waiting: (() => void)[] = [];
  #updating = false;
  /** Of what is wanted and reserved. */
  #revision = 0;
  #nodesKnown = false;
  #compiled: Compiled | undefined;
  /** Of the last update whose changes went to the model. */
  #sequence = 0;

  private constructor(options: ControllerClaimsOptions, keeper: ClaimKeeper) {
    this.#options = options;
    this.#keeper = keeper;
    this.#coalescer = new Coalescer(options.clock, 5, () => this.#update());
  }

  /** What the last process gave out goes to the model before anything is compiled. */
  static async open(options: ControllerClaimsOptions): Promise<ControllerClaims> {
    const { state, serviceCidrs, clock, random, log, write } = options;
    const onDue = (): void => claims.look();
    const keeper = await ClaimKeeper.open({
      stateFolder: state,
      ranges: serviceCidrs,
      clock,
      random,
      log,
      ...(write ? { write } : {}),
      onDue,
    });
    const claims = new ControllerClaims(options, keeper);
    options.metrics.gauge({
      name: 'claims_frozen',
      help: '1 while the file of claims cannot be trusted: no address is given out or freed',
      collect: (gauge) => gauge.set(keeper.fault === undefined ? 0 : 1),
    });
    claims.#push(keeper.initial());
    return claims;
  }

  /** Why no address is given out or freed. What is bound is served all the same. */
  get fault(): string | undefined {
    return this.#keeper.fault;
  }

  /** For /debug: claims, and the nodes that may hold them. */
  get debug(): unknown {
    return this.#keeper.claims;
  }

  followObjects({ changes, complete }: FileBatch): void {
    for (const { kind, key, value } of changes) {
      if (kind === 'Node') {
        if (value) this.#nodes.add(key);
        else this.#nodes.delete(key);
      }
    }
    this.#reserved.follow(changes);
    if (changes.some(({ kind }) => kind === 'Service')) this.#revision += 1;
    this.#nodesKnown ||= complete;
    this.look();
  }

  /** The log holds at `position` what follows from the changes that were pushed before. `touched` as `Model.update`. */
  compiled(compiled: Compiled, touched: Touched | undefined, position: number): void {
    this.#compiled = compiled;
    if (!touched || touched.claims.size > 0) this.#revision += 1;
    this.#keeper.rendered(this.#sequence, position);
    this.look();
  }

  /** Facts may have changed; agents that come and go must not be missed. */
  look(): void {
    this.#keeper.observe(this.#options.acks.connected);
    this.#coalescer.trigger();
  }

  /**
   * Resolves once it is on disk that the agent of a node is connected, and may hold what it is told; undefined: it is.
   * Should both die before, the next process would not know that the node must acknowledge what is given up. What
   * cannot be written holds nobody up: then nothing is given out or freed either.
   */
  admitted(node: string): Promise<void> | undefined {
    if (!this.#updating && this.#keeper.knowsConnected(node)) return undefined;
    const saved = new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.look();
    return saved;
  }

  /** Puts the file right if somebody has changed it; resolves with whether. */
  audit(): Promise<boolean> {
    return this.#keeper.audit();
  }

  async close(): Promise<void> {
    this.#coalescer.close();
    await this.#keeper.close();
  }

  async #update(): Promise<void> {
    if (!this.#compiled) return;
    const { acks } = this.#options;
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#updating = true;
    this.#push(
      await this.#keeper.update({
        wanted: this.#compiled.claims,
        reserved: this.#reserved.holders,
        revision: this.#revision,
        connected: acks.connected,
        nodeObjects: this.#nodesKnown ? this.#nodes : undefined,
        acknowledged: (node, position) => acks.acknowledged(node, position),
        refuses: (node, gateway) => acks.refusesListener(node, gateway ? listenersOf(gateway) : ''),
      }),
    );
    this.#updating = false;
    for (const admit of waiting) admit();
  }

  #push({ changes, sequence }: { changes: readonly Change[]; sequence: number }): void {
    this.#sequence = sequence;
    this.#options.onChanges(changes);
  }
}

/** What the names of a Gateway's Listeners begin with. */
const listenersOf = ({ namespace, name }: Claim['gateway']): string =>
  `${gatewayFrontendKey(`${namespace}/${name}`)}/`;
