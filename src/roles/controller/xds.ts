import type { Compiled, Touched } from '../../model/compiled.ts';
import type { Change } from '../../model/inputs.ts';
import { AckTracker } from '../../outputs/xds/acks.ts';
import { ResourceLog } from '../../outputs/xds/resource-log.ts';
import { startXdsServer, type XdsServer } from '../../outputs/xds/server.ts';
import { dataPlaneView } from '../../outputs/xds/view.ts';
import { XdsOutput } from '../../outputs/xds/xds-output.ts';
import type { Admission } from '../../runtime/admission.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Log } from '../../runtime/log.ts';
import type { Metrics } from '../../runtime/metrics.ts';
import { identifyCall, serverCredentials } from '../../runtime/tls.ts';
import type { TlsFiles } from '../../runtime/tls-files.ts';

export interface ControllerXdsOptions {
  readonly set: string;
  readonly cluster: string;
  readonly listen: string;
  readonly tls: TlsFiles;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly admission: Admission;
  /** Start of this process' life, epoch milliseconds. */
  readonly epoch: number;
  /** Resolves when the agent of a node may be told anything; undefined: at once. */
  readonly admitted: (node: string) => Promise<void> | undefined;
  /** Called often; must be cheap. */
  readonly onAcks: () => void;
  /** A node has acknowledged all between two positions of the log. */
  readonly onProgress: (before: number, after: number) => void;
}

/** A cluster's representation as its data planes get it, and what they hold of it. */
export class ControllerXds {
  readonly acks: AckTracker;
  readonly #log = new ResourceLog();
  readonly #output: XdsOutput;
  readonly #options: ControllerXdsOptions;
  readonly #ready = new Set<string>();

  constructor(options: ControllerXdsOptions) {
    this.#options = options;
    this.acks = new AckTracker({
      head: () => this.#log.position,
      onChange: options.onAcks,
      onProgress: options.onProgress,
    });
    const { set, cluster: name, epoch } = options;
    this.#output = new XdsOutput({ log: this.#log, acks: this.acks, origin: { set, cluster: name, epoch } });
  }

  /** The first call opens the log, so it must be given everything. Returns the log's position. */
  update(compiled: Compiled, touched: Touched | undefined): number {
    return this.#output.update(compiled, touched);
  }

  /** Which nodes are Ready decides whose acknowledgement counts. */
  followNodes(changes: readonly Change[]): void {
    let changed = false;
    for (const change of changes) {
      if (change.kind !== 'Node') continue;
      changed = true;
      const conditions = change.value?.status.conditions ?? [];
      if (conditions.some((c) => c.type === 'Ready' && c.status === 'True')) this.#ready.add(change.key);
      else this.#ready.delete(change.key);
      if (!change.value) this.acks.forgetNode(change.key);
    }
    if (changed) this.acks.setReadyNodes(new Set(this.#ready));
  }

  /** Throws E_LISTEN or E_TLS_LOAD. */
  serve(): Promise<XdsServer> {
    const { listen, tls, set, clock, log, metrics, admission, admitted, cluster: own } = this.#options;
    return startXdsServer({
      listen,
      credentials: serverCredentials(tls, clock),
      identify: (call) => identifyCall(call, { set, roles: ['agent', 'dns', 'proxy'], cluster: own }),
      admission,
      log: this.#log,
      views: (peer) => dataPlaneView(peer.role),
      acks: this.acks,
      admitted: ({ role, node }) => (role === 'agent' && node !== undefined ? admitted(node) : undefined),
      logger: log,
      metrics,
    });
  }
}
