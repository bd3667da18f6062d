import { isDeepStrictEqual } from 'node:util';
import type { WantedClaim } from '../../model/compiled.ts';
import type { Change, Claim, ClaimFailure } from '../../model/inputs.ts';
import { Backoff } from '../../runtime/backoff.ts';
import type { Clock } from '../../runtime/clock.ts';
import { AppError, messageOf } from '../../runtime/errors.ts';
import type { Log } from '../../runtime/log.ts';
import type { WriteFile } from '../../runtime/state-disk.ts';
import { ClaimFileStore, type StoredClaims } from './claim-file-store.ts';
import { type Acknowledgements, type ClaimState, holders, noClaims } from './claim-state.ts';
import { type ClaimFacts, decide, type Given } from './decide.ts';

export interface ClaimKeeperOptions {
  readonly stateFolder: string;
  /** Ranges of virtual addresses, as CIDRs. */
  readonly ranges: readonly string[];
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  /** Default: `writeAtomic`. */
  readonly write?: WriteFile;
  /** `update` is due again, though no fact changed: what could not be read or written may work now. */
  readonly onDue: () => void;
}

/** What `update` must know. */
export interface ClaimInputs extends Omit<ClaimFacts, 'ranges' | 'rendered' | 'acknowledged' | 'given'> {
  /** Another one whenever `wanted` or `reserved` may have changed; absent: they may have. */
  readonly revision?: number;
  /** The node holds everything up to a position of the log that it does not refuse. */
  readonly acknowledged: (node: string, position: number) => boolean;
}

export interface ClaimUpdate {
  /** `Claim` and `ClaimFailure` records, for the model. */
  readonly changes: readonly Change[];
  /** To be said in `rendered` once the log holds what follows from the changes. */
  readonly sequence: number;
}

/**
 * Gives addresses to Gateways and takes them back. Whatever it tells is on disk before, so that no crash makes it
 * forget an address that somebody may use. A file that cannot be trusted freezes it: what is bound stays bound.
 */
export class ClaimKeeper {
  readonly #options: ClaimKeeperOptions;
  readonly #store: ClaimFileStore;
  readonly #backoff: Backoff;
  /** As it is on disk. */
  #state: ClaimState = noClaims;
  #loaded = false;
  #fault: string | undefined;
  #tail: Promise<unknown> = Promise.resolve();
  #cancelRetry: (() => void) | undefined;
  #closed = false;
  #connected: ReadonlySet<string> = new Set();
  /** Agents that were connected at some time since the last decision. */
  #seen = new Set<string>();
  #rendered = 0;
  /** What the last decision came to, of these wants. */
  #given: (Given & { readonly revision: number }) | undefined;
  #said: Acknowledgements = { acknowledged: () => 0, refuses: () => false };
  /** Positions of the log at which everything up to an event was rendered; ascending. */
  #marks: { readonly sequence: number; readonly position: number }[] = [];
  /** The claims that were told, as they are kept. */
  #toldOf: ClaimState['claims'] | undefined;
  #claims: ReadonlyMap<string, Claim> = new Map();
  #failures: ReadonlyMap<string, ClaimFailure> = new Map();

  private constructor(options: ClaimKeeperOptions) {
    this.#options = options;
    this.#store = new ClaimFileStore(options.stateFolder, options.write);
    this.#backoff = new Backoff({ minMs: 200, maxMs: 10_000, random: options.random });
  }

  /**
   * Reads what is on disk. Rejects with E_STATE_READ when neither the file nor its copy can be trusted: to go on
   * would take every Gateway's address from its nodes.
   */
  static async open(options: ClaimKeeperOptions): Promise<ClaimKeeper> {
    const keeper = new ClaimKeeper(options);
    const { lost, fault } = await keeper.#load();
    if (lost) throw new AppError('E_STATE_READ', fault ?? '');
    return keeper;
  }

  /** For /debug: claims with the nodes that may hold them. */
  get claims(): readonly (Claim & { readonly holders: readonly string[] })[] {
    return [...this.#state.claims.values()].map((claim) => ({
      ...toClaim(claim),
      holders: holders(this.#state, claim, this.#said),
    }));
  }

  /** It is on disk that the agent of this node is connected. */
  knowsConnected(node: string): boolean {
    return this.#state.nodes.get(node)?.connected ?? false;
  }

  /** Why nothing is given out at all. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /** Claims from the last process, before the first compilation. Without them Gateways would lose their addresses. */
  initial(): ClaimUpdate {
    return this.#tell(new Map());
  }

  /**
   * Which agents are connected. To be called at once whenever that changes, so that none is missed that comes and
   * goes; the next `update` keeps it.
   */
  observe(connected: ReadonlySet<string>): void {
    this.#connected = new Set(connected);
    for (const node of connected) this.#seen.add(node);
  }

  /** The log holds everything that followed from the update of this sequence number, up to `position`. */
  rendered(sequence: number, position: number): void {
    if (sequence <= (this.#marks.at(-1)?.sequence ?? -1)) return;
    this.#rendered = Math.max(this.#rendered, sequence);
    const waiting = Math.min(
      ...[...this.#state.claims.values()].map((c) => c.until ?? Number.POSITIVE_INFINITY),
    );
    this.#marks = [...this.#marks.filter((mark) => mark.sequence >= waiting), { sequence, position }].slice(
      -100,
    );
  }

  /** Decides, saves, and tells what changed. Calls run one after the other; never rejects. */
  update(inputs: ClaimInputs): Promise<ClaimUpdate> {
    const result = this.#tail.then(() => this.#update(inputs));
    this.#tail = result;
    return result;
  }

  /**
   * Looks whether the files still say what was saved, and saves it again where they do not: what this process knows
   * counts, not what somebody made of its file. Resolves with whether they did not; never rejects.
   */
  audit(): Promise<boolean> {
    const result = this.#tail.then(() => this.#audit());
    this.#tail = result;
    return result;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelRetry?.();
    await this.#tail;
  }

  async #update(inputs: ClaimInputs): Promise<ClaimUpdate> {
    if (this.#fault !== undefined) await this.#load();
    this.observe(inputs.connected);
    if (this.#fault !== undefined) return this.#tell(this.#frozen(inputs.wanted, this.#fault));
    const seen = this.#seen;
    this.#seen = new Set(this.#connected);
    this.#said = this.#heard(inputs);
    const { revision, ...facts } = inputs;
    const { state, failures, given } = decide(this.#state, {
      ...facts,
      given: revision === this.#given?.revision ? this.#given : undefined,
      connected: seen,
      ranges: this.#options.ranges,
      rendered: this.#rendered,
      ...this.#said,
    });
    this.#given = given && revision !== undefined ? { ...given, revision } : undefined;
    if (state === this.#state) return this.#tell(failures);
    try {
      await this.#store.save(state);
    } catch (error) {
      const message = messageOf(error);
      this.#options.log.warn(
        { error: message },
        'claims were not saved; nothing is given out until they are',
      );
      for (const node of seen) this.#seen.add(node);
      this.#retry();
      return this.#tell(new Map([...failures, ...unsaved(this.#state, state, message)]));
    }
    this.#backoff.reset();
    this.#state = state;
    return this.#tell(failures);
  }

  async #audit(): Promise<boolean> {
    if (this.#fault !== undefined || this.#state === noClaims) return false;
    if (await this.#store.holds(this.#state)) return false;
    try {
      await this.#store.save(this.#state);
      return true;
    } catch (error) {
      this.#options.log.warn({ error: messageOf(error) }, 'the file of claims is not what was saved');
      return false;
    }
  }

  /** What nodes say now, in events. Each node is looked at once. */
  #heard({ acknowledged, refuses }: ClaimInputs): Acknowledgements {
    const events = new Map<string, number>();
    const eventOf = (node: string): number => {
      const known = events.get(node);
      if (known !== undefined) return known;
      const event = this.#marks.findLast(({ position }) => acknowledged(node, position))?.sequence ?? 0;
      events.set(node, event);
      return event;
    };
    return { acknowledged: eventOf, refuses };
  }

  async #load(): Promise<StoredClaims> {
    const stored = await this.#store.load();
    const { state, fault } = stored;
    if (fault !== undefined && fault !== this.#fault) {
      this.#options.log.error({ error: fault }, 'claims cannot be trusted; no address is given out');
    }
    // At the start nothing was rendered yet of what is given up; later, what the copy said may have been.
    this.#rendered = this.#loaded ? 0 : state.sequence;
    this.#marks = [];
    this.#loaded = true;
    this.#fault = fault;
    this.#state = state;
    if (fault !== undefined && !stored.lost) this.#retry();
    return stored;
  }

  /** Gateways that would have no address, and why. */
  #frozen(wanted: ClaimFacts['wanted'], message: string): Map<string, ClaimFailure> {
    const bound = new Set(
      [...this.#state.claims.values()].filter((c) => c.until === undefined).map((c) => keyOf(c.gateway)),
    );
    const lacking = [...(wanted?.values() ?? [])].filter((w) => !bound.has(keyOf(w.gateway)));
    return new Map(lacking.map((w: WantedClaim) => [keyOf(w.gateway), { reason: 'NotAssigned', message }]));
  }

  #retry(): void {
    if (this.#closed) return;
    this.#cancelRetry?.();
    this.#cancelRetry = this.#options.clock.after(this.#backoff.next(), this.#options.onDue);
  }

  /** What is different from what was told before. */
  #tell(failures: ReadonlyMap<string, ClaimFailure>): ClaimUpdate {
    const { claims: kept, sequence } = this.#state;
    if (kept === this.#toldOf && failures === this.#failures) return { changes: [], sequence };
    this.#toldOf = kept;
    const claims = new Map([...kept].map(([address, claim]) => [address, toClaim(claim)]));
    const changes: Change[] = [
      ...differences(this.#claims, claims).map(([key, value]): Change => ({ kind: 'Claim', key, value })),
      ...differences(this.#failures, failures).map(
        ([key, value]): Change => ({ kind: 'ClaimFailure', key, value }),
      ),
    ];
    this.#claims = claims;
    this.#failures = failures;
    return { changes, sequence };
  }
}

const keyOf = ({ namespace, name }: Claim['gateway']): string => `${namespace}/${name}`;

const toClaim = ({
  address,
  gateway,
  until,
}: {
  address: string;
  gateway: Claim['gateway'];
  until?: number;
}): Claim => ({
  address,
  gateway,
  state: until === undefined ? 'bound' : 'releasing',
});

/** Gateways that would have got an address. */
function unsaved(before: ClaimState, after: ClaimState, message: string): [string, ClaimFailure][] {
  const fresh = [...after.claims.values()].filter(
    (c) => c.until === undefined && !before.claims.has(c.address),
  );
  return fresh.map((c) => [
    keyOf(c.gateway),
    { reason: 'NotAssigned', message: `the claim cannot be saved: ${message}` },
  ]);
}

function differences<V>(
  before: ReadonlyMap<string, V>,
  after: ReadonlyMap<string, V>,
): [string, V | undefined][] {
  const gone = [...before.keys()]
    .filter((key) => !after.has(key))
    .map((key): [string, undefined] => [key, undefined]);
  const set = [...after].filter(([key, value]) => !isDeepStrictEqual(before.get(key), value));
  return [...gone, ...set].sort(([a], [b]) => (a < b ? -1 : 1));
}
