import type { Programming } from '../../model/inputs.ts';
import { typeUrls } from '../../wire/proto/type-urls.ts';
import type { RefusedResource } from './delta-server-stream.ts';
import { type GatewayUse, ProgrammingLedger, type Refused } from './programming-ledger.ts';
import type { Told } from './type-stream.ts';

/** What a node holds is all of these; its position is the least of them. */
const programmedTypes = [typeUrls.cluster, typeUrls.assignment, typeUrls.listener];

/** A node as /debug shows it. */
export interface NodeAcks {
  readonly node: string;
  /** `host:port` of its admin pages; empty: it has not told, or only its own machine reaches them. */
  readonly admin: string;
  /** It is Ready: what it holds counts. */
  readonly ready: boolean;
  readonly connected: boolean;
  /** Of the log; -1: its initial state is not acknowledged yet. */
  readonly position: number;
  readonly refused: readonly Refused[];
  readonly bypassed: boolean;
}

/** What a node holds of one Gateway. `Unknown`: nobody tells what its kernel has. */
export interface NodeHolding {
  readonly node: string;
  readonly connected: boolean;
  readonly holds: 'Yes' | 'No' | 'Unknown';
  /** As docs/errors.md has them. */
  readonly reason: 'Held' | 'AgentNotConnected' | 'NodeRefuses' | 'NodeBehind' | 'DataPlaneBypassed';
  readonly message: string;
}
const noneRefused: ReadonlyMap<string, Refused> = new Map();

interface NodeRecord {
  /** The newest stream of the node's agent. */
  session: AckSession | undefined;
  /** Greatest position ever acknowledged: what was programmed stays in the kernel when the agent goes. */
  position: number;
  refused: Map<string, Refused>;
  /** What the streams before refused, until this one has acknowledged its initial state: it may still be so. */
  earlier: ReadonlyMap<string, Refused>;
  bypassed: boolean;
  admin: string;
}

export interface AckTrackerOptions {
  /** Position of the log. */
  readonly head: () => number;
  /** What `programming`, `connected` or `acknowledged` say may have changed. Must not throw. */
  readonly onChange?: () => void;
  /** A stream that began before position `before` has acknowledged all up to `after`. Must not throw. */
  readonly onProgress?: (before: number, after: number) => void;
}

/**
 * Who holds what: per node the position of the log that its agent acknowledged, and the resources it refused. An
 * agent acknowledges after the kernel took the change.
 */
export class AckTracker {
  readonly #options: AckTrackerOptions;
  readonly #nodes = new Map<string, NodeRecord>();
  readonly #ledger = new ProgrammingLedger();
  #ready: ReadonlySet<string> | undefined;

  constructor(options: AckTrackerOptions) {
    this.#options = options;
  }

  /** An agent's stream begins. A later stream of the same node takes the place of an earlier one. */
  connect(node: string): AckSession {
    const record = this.#record(node);
    const { head, onChange, onProgress } = this.#options;
    const session = new AckSession(record, head(), {
      onChange: () => onChange?.(),
      onProgress: (before, after) => onProgress?.(before, after),
    });
    record.session = session;
    record.earlier = new Map([...record.earlier, ...record.refused]);
    record.refused = new Map();
    this.#options.onChange?.();
    return session;
  }

  /** The nodes that are Ready; before the first call every connected node counts. */
  setReadyNodes(nodes: ReadonlySet<string>): void {
    this.#ready = nodes;
    this.#options.onChange?.();
  }

  /** The Node object is gone: nothing is known of it any more. */
  forgetNode(node: string): void {
    if (!this.#nodes.get(node)?.session) this.#nodes.delete(node);
    this.#options.onChange?.();
  }

  /** What a Gateway (`<namespace>/<name>`) uses, as rendered; undefined: it is gone. */
  rendered(gateway: string, use: Omit<GatewayUse, 'position'> | undefined): void {
    this.#ledger.rendered(gateway, use && { ...use, position: this.#options.head() });
    this.#options.onChange?.();
  }

  /** Generations that were Programmed before this process started: they stay so. */
  restore(latched: ReadonlyMap<string, number>): void {
    this.#ledger.restore(latched);
  }

  /** Nodes whose agent is connected. */
  get connected(): ReadonlySet<string> {
    return new Set([...this.#nodes].filter(([, r]) => r.session).map(([node]) => node));
  }

  /**
   * The node holds everything up to `position` that it does not refuse. It may have left since: what it held then is
   * what its kernel holds.
   */
  acknowledged(node: string, position: number): boolean {
    return (this.#nodes.get(node)?.position ?? -1) >= position;
  }

  /** The node refuses a Listener whose name begins so, and has what it held of it before, or nothing. */
  refusesListener(node: string, prefix: string): boolean {
    const record = this.#nodes.get(node);
    const refused = record ? [...record.refused.values(), ...record.earlier.values()] : [];
    return refused.some((r) => r.typeUrl === typeUrls.listener && r.name.startsWith(prefix));
  }

  /** key: `<namespace>/<name>`. Latches what has become true. */
  programming(): ReadonlyMap<string, Programming> {
    const counted = [...this.#nodes]
      .filter(([node, r]) => r.session && (!this.#ready || this.#ready.has(node)))
      .map(([node, r]) => ({
        node,
        position: r.session?.position ?? -1,
        refused: [...r.refused.values()],
        bypassed: r.bypassed,
      }));
    return this.#ledger.evaluate(counted);
  }

  /** What each node holds of a Gateway (`<namespace>/<name>`): every node that is Ready or was ever connected. */
  holding(gateway: string): readonly NodeHolding[] {
    const use = this.#ledger.useOf(gateway);
    return this.#names.map((node) => {
      const record = this.#nodes.get(node);
      return { node, connected: record?.session !== undefined, ...holdingOf(record, use) };
    });
  }

  /** `host:port` of the admin pages of a node's agent; empty: not known. */
  adminOf(node: string): string {
    return this.#nodes.get(node)?.admin ?? '';
  }

  /** Every node that is Ready or was ever connected, by name. */
  snapshot(): readonly NodeAcks[] {
    return this.#names.map((node) => {
      const record = this.#nodes.get(node);
      return {
        node,
        connected: record?.session !== undefined,
        ready: this.#ready?.has(node) ?? false,
        admin: record?.admin ?? '',
        position: record?.session?.position ?? record?.position ?? -1,
        refused: [...(record?.refused.values() ?? [])],
        bypassed: record?.bypassed ?? false,
      };
    });
  }

  get #names(): readonly string[] {
    return [...new Set([...this.#nodes.keys(), ...(this.#ready ?? [])])].sort();
  }

  #record(node: string): NodeRecord {
    const known = this.#nodes.get(node);
    if (known) return known;
    const made: NodeRecord = {
      session: undefined,
      position: -1,
      refused: new Map(),
      earlier: noneRefused,
      bypassed: false,
      admin: '',
    };
    this.#nodes.set(node, made);
    return made;
  }
}

interface AckObserver {
  onChange(): void;
  onProgress(before: number, after: number): void;
}

/** One stream of one node's agent. */
export class AckSession {
  readonly #record: NodeRecord;
  readonly #observer: AckObserver;
  readonly #positions = new Map<string, number>();
  /** What was there when it began counts as acknowledged: it is no news. */
  #told: number;

  constructor(record: NodeRecord, head: number, observer: AckObserver) {
    this.#record = record;
    this.#told = head;
    this.#observer = observer;
  }

  get position(): number {
    return Math.min(...programmedTypes.map((typeUrl) => this.#positions.get(typeUrl) ?? -1));
  }

  progress(typeUrl: string, position: number): void {
    this.#positions.set(typeUrl, position);
    if (!this.#isCurrent) return;
    this.#record.position = Math.max(this.#record.position, this.position);
    if (this.position >= 0) this.#record.earlier = noneRefused;
    const before = this.#told;
    this.#told = Math.max(before, this.position);
    if (this.#told > before) this.#observer.onProgress(before, this.#told);
    this.#observer.onChange();
  }

  answered(typeUrl: string, told: Told, refused: readonly RefusedResource[]): void {
    if (!this.#isCurrent) return;
    const { refused: known } = this.#record;
    if (known.size > 0) {
      for (const { name } of told.upserts) known.delete(`${typeUrl} ${name}`);
      for (const name of told.removals) known.delete(`${typeUrl} ${name}`);
    }
    for (const { name, version, message } of refused) {
      known.set(`${typeUrl} ${name}`, { typeUrl, name, version, message });
    }
    this.#observer.onChange();
  }

  /** The node proved that its packets bypass the table, or that they do not. */
  setBypassed(bypassed: boolean): void {
    if (!this.#isCurrent || this.#record.bypassed === bypassed) return;
    this.#record.bypassed = bypassed;
    this.#observer.onChange();
  }

  /** Where its admin pages are, `host:port`; empty: nobody else reaches them. */
  setAdmin(admin: string): void {
    if (this.#isCurrent) this.#record.admin = admin;
  }

  close(): void {
    if (!this.#isCurrent) return;
    this.#record.session = undefined;
    this.#observer.onChange();
  }

  get #isCurrent(): boolean {
    return this.#record.session === this;
  }
}

function holdingOf(
  record: NodeRecord | undefined,
  use: GatewayUse | undefined,
): Pick<NodeHolding, 'holds' | 'reason' | 'message'> {
  if (!record?.session) {
    const before = record ? 'what it held last stays in force, and no change arrives' : 'it never was';
    return {
      holds: 'Unknown',
      reason: 'AgentNotConnected',
      message: `its agent is not connected: ${before}`,
    };
  }
  if (record.bypassed) {
    const message = 'packets of pods do not pass its table';
    return { holds: 'No', reason: 'DataPlaneBypassed', message };
  }
  const names = new Set([...(use?.listeners.keys() ?? []), ...(use?.backends ?? [])]);
  const refused = [...record.refused.values()].find(({ name }) => names.has(name));
  if (refused) {
    const message = `it refuses ${refused.name}: ${refused.message}`;
    return { holds: 'No', reason: 'NodeRefuses', message };
  }
  if (record.session.position < (use?.position ?? 0)) {
    return { holds: 'No', reason: 'NodeBehind', message: 'it has not acknowledged this generation yet' };
  }
  return { holds: 'Yes', reason: 'Held', message: 'it holds this generation' };
}
