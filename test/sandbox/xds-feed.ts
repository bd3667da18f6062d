import type { Ir } from '../../src/model/ir.ts';
import { AckTracker } from '../../src/outputs/xds/acks.ts';
import { serveOnLoopback } from '../../src/outputs/xds/loopback-bed.ts';
import { ResourceLog } from '../../src/outputs/xds/resource-log.ts';
import type { XdsServer } from '../../src/outputs/xds/server.ts';
import { XdsOutput } from '../../src/outputs/xds/xds-output.ts';

/** A controller's xDS server that serves representations written by hand, in plain text on loopback. */
export class XdsFeed {
  readonly port: number;
  readonly #log: ResourceLog;
  readonly #acks: AckTracker;
  readonly #output: XdsOutput;
  readonly #server: XdsServer;
  #position = 0;

  private constructor(log: ResourceLog, acks: AckTracker, server: XdsServer) {
    this.#log = log;
    this.#acks = acks;
    this.#server = server;
    this.#output = new XdsOutput({ log, acks, origin: { set: 'demo', cluster: 'east', epoch: 1 } });
    this.port = server.port;
  }

  /** `port` 0 takes a free one. Nothing is told before the first `serve`. */
  static async start(options: { port?: number; node?: string } = {}): Promise<XdsFeed> {
    const log = new ResourceLog();
    const acks = new AckTracker({ head: () => log.position });
    const server = await serveOnLoopback({ ...options, role: 'agent', log, acks });
    return new XdsFeed(log, acks, server);
  }

  serve(ir: Ir): void {
    this.#position = this.#output.update(ir);
  }

  /** The node says that it holds what was served last. */
  acknowledged(node = 'e1'): boolean {
    return this.#acks.acknowledged(node, this.#position);
  }

  programming() {
    return this.#acks.programming();
  }

  get position(): number {
    return this.#log.position;
  }

  close(): Promise<void> {
    return Promise.resolve(this.#server.close()).then(() => {});
  }
}
