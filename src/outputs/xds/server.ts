import {
  Metadata,
  Server,
  type ServerCredentials,
  type ServerDuplexStream,
  type ServiceDefinition,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { AppError, messageOf } from '../../runtime/errors.ts';
import type { PeerIdentity } from '../../runtime/identity.ts';
import type { Log } from '../../runtime/log.ts';
import type { Metrics } from '../../runtime/metrics.ts';
import { codec } from '../../wire/proto/registry.ts';
import { fromStruct } from '../../wire/proto/struct.ts';
import { metadataKey } from '../../wire/proto/type-urls.ts';
import type { AckTracker } from './acks.ts';
import { DeltaServerStream, defaultStreamLimits, type StreamLimits } from './delta-server-stream.ts';
import type { ResourceLog } from './resource-log.ts';
import { SendBudget, SendWindow } from './send-window.ts';
import { watchClientLag, xdsMetrics } from './server-metrics.ts';
import type { View } from './view.ts';

type XdsCall = ServerDuplexStream<Buffer, Buffer>;

export interface XdsServerOptions {
  /** `host:port`; port 0 takes a free one. */
  readonly listen: string;
  readonly credentials: ServerCredentials;
  /** Who calls. A throw or undefined: it is refused. */
  readonly identify: (call: XdsCall) => PeerIdentity | undefined;
  readonly log: ResourceLog;
  /** What this peer may see; undefined: nothing is for it, it is refused. */
  readonly views: (peer: PeerIdentity) => View | undefined;
  /** Told of agents: peers with the role agent and a node. */
  readonly acks?: AckTracker;
  readonly logger: Log;
  readonly metrics: Metrics;
  readonly limits?: StreamLimits;
  /** Streams at the same time, of all peers together and of one identity. */
  readonly maxStreams?: { readonly total: number; readonly perPeer: number };
  /** Services that share the address. */
  readonly services?: readonly {
    readonly definition: ServiceDefinition;
    readonly implementation: UntypedServiceImplementation;
  }[];
}

export interface XdsServer {
  readonly port: number;
  /** For /debug: who is connected. */
  streams(): readonly StreamSnapshot[];
  /** Views see other things than before: tells their clients. */
  refresh(): void;
  /** Ends the streams of these peers. */
  disconnect(which: (peer: PeerIdentity) => boolean, message: string): void;
  close(): Promise<void>;
}

interface StreamSnapshot {
  readonly peer: string;
  readonly address: string;
  readonly view: string;
}

/** What waits to leave: of one stream, and of all together. */
const streamBytes = 256 * 1024;
const serverBytes = 128 * 1024 * 1024;

interface OpenStream {
  readonly peer: PeerIdentity;
  readonly stream: DeltaServerStream;
  readonly view: View;
  readonly address: string;
  readonly end: (error: AppError) => void;
}

const bytes = (message: Buffer): Buffer => message;

/** envoy.service.discovery.v3.AggregatedDiscoveryService, messages as bytes. */
export const adsPath = '/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources';
const adsService: ServiceDefinition = {
  DeltaAggregatedResources: {
    path: adsPath,
    requestStream: true,
    responseStream: true,
    requestSerialize: bytes,
    requestDeserialize: bytes,
    responseSerialize: bytes,
    responseDeserialize: bytes,
  },
};

const serverOptions = {
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5_000,
  'grpc.max_receive_message_length': 4 * 1024 * 1024,
  'grpc.max_send_message_length': -1,
  'grpc.max_concurrent_streams': 100,
};

const peerName = (peer: PeerIdentity): string =>
  [peer.cluster, peer.role, peer.node].filter((part) => part !== undefined).join('/');

/** Serves the log over delta ADS. Throws E_LISTEN. */
export async function startXdsServer(options: XdsServerOptions): Promise<XdsServer> {
  const server = new Server(serverOptions);
  const streams = new Set<OpenStream>();
  const budget = new SendBudget(serverBytes);
  if (options.acks) watchClientLag(options.metrics, options.acks, () => options.log.position);
  server.addService(adsService, {
    DeltaAggregatedResources: (call: XdsCall) => accept(options, streams, budget, call),
  });
  for (const { definition, implementation } of options.services ?? []) {
    server.addService(definition, implementation);
  }
  const port = await bind(server, options);
  return {
    port,
    streams: () =>
      [...streams].map(({ peer, address, view }) => ({ peer: peerName(peer), address, view: view.key })),
    refresh: () => {
      for (const open of streams) open.stream.refresh();
    },
    disconnect: (which, message) => {
      for (const open of [...streams]) {
        if (which(open.peer)) open.end(new AppError('E_PEER_IDENTITY', message));
      }
    },
    close: async () => {
      for (const open of [...streams]) open.end(new AppError('E_XDS_STREAM', 'the server stops'));
      server.forceShutdown();
    },
  };
}

function accept(
  options: XdsServerOptions,
  streams: Set<OpenStream>,
  budget: SendBudget,
  call: XdsCall,
): void {
  const { log, logger } = options;
  const address = call.getPeer();
  const admitted = admit(options, streams, call);
  if (admitted instanceof AppError) {
    logger.warn({ peer: address, code: admitted.code }, `xDS stream refused: ${admitted.message}`);
    call.emit('error', { code: statusOf(admitted), details: `${admitted.code}: ${admitted.message}` });
    return;
  }
  const { peer, view } = admitted;
  const name = peerName(peer);
  const metrics = xdsMetrics(options.metrics);
  const isAgent = peer.role === 'agent' && peer.node !== undefined;
  const session = isAgent ? options.acks?.connect(peer.node as string) : undefined;
  let ended = false;
  const close = (): void => {
    if (ended) return;
    ended = true;
    stream.close();
    window.close();
    streams.delete(open);
    session?.close();
    metrics.streams.dec({ role: peer.role });
    logger.info({ peer: name, address }, 'xDS stream ended');
  };
  const end = (error: AppError): void => {
    if (ended) return;
    close();
    logger.warn({ peer: name, address, code: error.code }, `xDS stream ended by us: ${error.message}`);
    call.emit('error', { code: statusOf(error), details: `${error.code}: ${error.message}` });
  };
  const window = new SendWindow({
    budget,
    bytes: streamBytes,
    write: (message, done) => void call.write(message, done),
    drained: () => stream.drained(),
  });
  const stream = new DeltaServerStream({
    log,
    view,
    limits: options.limits ?? defaultStreamLimits,
    send: (message) => window.send(message),
    fail: end,
    observer: {
      node: (node) => session?.setBypassed(saysBypassed(node)),
      progress: (typeUrl, position) => session?.progress(typeUrl, position),
      answered: (typeUrl, told, refused) => {
        session?.answered(typeUrl, told, refused);
        if (refused.length === 0) return;
        metrics.nacks.inc({ role: peer.role }, refused.length);
        const [first] = refused;
        logger.warn(
          { peer: name, type: typeUrl, refused: refused.length, name: first?.entry.name },
          `xDS client refuses resources: ${first?.message.slice(0, 500)}`,
        );
      },
      sent: (_typeUrl, size) => metrics.pushBytes.inc({ role: peer.role }, size),
    },
  });
  const open: OpenStream = { peer, stream, view, address, end };
  streams.add(open);
  metrics.streams.inc({ role: peer.role });
  logger.info({ peer: name, address, view: view.key }, 'xDS stream begins');
  call.on('data', (message: Buffer) => {
    try {
      stream.receive(message);
    } catch (error) {
      end(
        error instanceof AppError ? error : new AppError('E_XDS_STREAM', messageOf(error), { cause: error }),
      );
    }
  });
  call.on('end', () => {
    close();
    call.end();
  });
  call.on('cancelled', close);
  call.on('error', close);
  call.on('close', close);
  // The client learns at once that it was taken, before there is anything to tell.
  call.sendMetadata(new Metadata());
}

function admit(
  options: XdsServerOptions,
  streams: Set<OpenStream>,
  call: XdsCall,
): { peer: PeerIdentity; view: View } | AppError {
  const { total, perPeer } = options.maxStreams ?? { total: 10_000, perPeer: 8 };
  let peer: PeerIdentity | undefined;
  try {
    peer = options.identify(call);
  } catch (error) {
    return new AppError('E_PEER_IDENTITY', messageOf(error), { cause: error });
  }
  const view = peer && options.views(peer);
  if (!peer || !view) {
    const found = peer ? peerName(peer) : 'no identity';
    return new AppError('E_PEER_IDENTITY', `expected a peer that may subscribe here, found ${found}`);
  }
  const name = peerName(peer);
  const same = [...streams].filter((open) => peerName(open.peer) === name).length;
  if (streams.size >= total || same >= perPeer) {
    return new AppError('E_XDS_STREAM', `expected at most ${perPeer} streams of ${name} and ${total} in all`);
  }
  return { peer, view };
}

function statusOf(error: AppError): number {
  return error.code === 'E_PEER_IDENTITY' ? status.PERMISSION_DENIED : status.RESOURCE_EXHAUSTED;
}

/** `metadata["causeway.dev"].bypassed` of the node. */
function saysBypassed(node: Uint8Array): boolean {
  const facts = fromStruct(codec('envoy.config.core.v3.Node').decode(node).metadata)[metadataKey];
  return facts instanceof Object && 'bypassed' in facts && facts.bypassed === true;
}

function bind(server: Server, options: XdsServerOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(options.listen, options.credentials, (cause, port) => {
      if (!cause) return resolve(port);
      reject(new AppError('E_LISTEN', `cannot listen on ${options.listen}: ${messageOf(cause)}`, { cause }));
    });
  });
}
