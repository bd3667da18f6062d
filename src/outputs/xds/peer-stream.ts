import { isIP } from 'node:net';
import type { AppError } from '../../runtime/errors.ts';
import { formatHostPort } from '../../runtime/host-port.ts';
import type { PeerIdentity } from '../../runtime/identity.ts';
import type { Log } from '../../runtime/log.ts';
import type { Metrics } from '../../runtime/metrics.ts';
import { nameOfPeer } from '../../runtime/peer-certificate.ts';
import { codec } from '../../wire/proto/registry.ts';
import { fromStruct } from '../../wire/proto/struct.ts';
import { metadataKey } from '../../wire/proto/type-urls.ts';
import type { AckSession, AckTracker } from './acks.ts';
import { DeltaServerStream, type StreamLimits, type StreamObserver } from './delta-server-stream.ts';
import type { ResourceLog } from './resource-log.ts';
import { type SendBudget, SendWindow } from './send-window.ts';
import { xdsMetrics } from './server-metrics.ts';
import type { View } from './view.ts';

export interface PeerStreamOptions {
  readonly peer: PeerIdentity;
  readonly address: string;
  readonly view: View;
  readonly log: ResourceLog;
  readonly acks?: AckTracker;
  /** It is told nothing before this resolves; undefined: it may be told at once. Must not reject. */
  readonly admitted?: (peer: PeerIdentity) => Promise<void> | undefined;
  readonly budget: SendBudget;
  readonly limits: StreamLimits;
  readonly logger: Log;
  readonly metrics: Metrics;
  /** Calls `done` when the message has left. */
  readonly write: (message: Buffer, done: () => void) => void;
  /** Ends the stream; `close` follows. */
  readonly end: (error: AppError) => void;
}

/** As /debug shows it. */
export interface StreamSnapshot {
  readonly peer: string;
  readonly address: string;
  readonly view: string;
}

/** What may wait to leave of one stream. */
const streamBytes = 256 * 1024;

/** One stream of one peer: what it is sent and answers is counted, logged and told to the tracker of nodes. */
export class PeerStream {
  readonly name: string;
  readonly #options: PeerStreamOptions;
  readonly #metrics;
  readonly #session: AckSession | undefined;
  readonly #window: SendWindow;
  readonly #stream: DeltaServerStream;

  constructor(options: PeerStreamOptions) {
    const { peer, address, view, acks, logger, metrics } = options;
    this.name = nameOfPeer(peer);
    this.#options = options;
    this.#metrics = xdsMetrics(metrics);
    this.#session = peer.role === 'agent' && peer.node !== undefined ? acks?.connect(peer.node) : undefined;
    this.#window = new SendWindow({
      budget: options.budget,
      bytes: streamBytes,
      write: options.write,
      drained: () => this.#stream.drained(),
    });
    const admitted = options.admitted?.(peer);
    this.#stream = new DeltaServerStream({
      log: view.log ?? options.log,
      held: admitted !== undefined,
      view,
      limits: options.limits,
      send: (message) => this.#window.send(message),
      fail: options.end,
      observer: this.#observer(),
    });
    void admitted?.then(() => this.#stream.drained());
    this.#metrics.streams.inc({ role: peer.role });
    logger.info({ peer: this.name, address, view: view.key }, 'xDS stream begins');
  }

  get peer(): PeerIdentity {
    return this.#options.peer;
  }

  get snapshot(): StreamSnapshot {
    return { peer: this.name, address: this.#options.address, view: this.#options.view.key };
  }

  receive(message: Buffer): void {
    this.#stream.receive(message);
  }

  refresh(): void {
    this.#stream.refresh();
  }

  end(error: AppError): void {
    this.#options.end(error);
  }

  close(): void {
    const { peer, address, logger } = this.#options;
    this.#stream.close();
    this.#window.close();
    this.#session?.close();
    this.#metrics.streams.dec({ role: peer.role });
    logger.info({ peer: this.name, address }, 'xDS stream ended');
  }

  /** Of its admin pages it says the port only: the host is where the stream comes from, so that nobody points elsewhere. */
  #takeFacts(node: Uint8Array): void {
    if (!this.#session) return;
    const { bypassed, adminPort } = nodeFacts(node);
    const host = hostOf(this.#options.address);
    this.#session.setAdmin(host === '' || adminPort === 0 ? '' : formatHostPort({ host, port: adminPort }));
    this.#session.setBypassed(bypassed);
  }

  #observer(): StreamObserver {
    const { peer, logger } = this.#options;
    return {
      node: (node) => this.#takeFacts(node),
      progress: (typeUrl, position) => this.#session?.progress(typeUrl, position),
      answered: (typeUrl, told, refused) => {
        this.#session?.answered(typeUrl, told, refused);
        const [first] = refused;
        if (!first) return;
        this.#metrics.nacks.inc({ role: peer.role }, refused.length);
        logger.warn(
          { peer: this.name, type: typeUrl, refused: refused.length, name: first.name },
          `xDS client refuses resources: ${first.message.slice(0, 500)}`,
        );
      },
      sent: (_typeUrl, size) => this.#metrics.pushBytes.inc({ role: peer.role }, size),
    };
  }
}

/** Of a transport's `address:port`, where IPv6 has no brackets; empty: it is no IP address. */
function hostOf(address: string): string {
  const host = address.slice(0, address.lastIndexOf(':')).replace(/^::ffff:(?=\d+\.)/i, '');
  return isIP(host) === 0 ? '' : host;
}

interface NodeFacts {
  readonly bypassed: boolean;
  /** 0: not said. */
  readonly adminPort: number;
}

/** `metadata["causeway.dev"]` of the node. */
function nodeFacts(node: Uint8Array): NodeFacts {
  const facts = fromStruct(codec('envoy.config.core.v3.Node').decode(node).metadata)[metadataKey];
  const { bypassed, adminPort } = (facts instanceof Object ? facts : {}) as Readonly<Record<string, unknown>>;
  const isPort =
    typeof adminPort === 'number' && Number.isInteger(adminPort) && adminPort > 0 && adminPort <= 65_535;
  return { bypassed: bypassed === true, adminPort: isPort ? adminPort : 0 };
}
