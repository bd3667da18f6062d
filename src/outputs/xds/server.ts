import {
  Metadata,
  Server,
  type ServerCredentials,
  type ServiceDefinition,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import type { Admission } from '../../runtime/admission.ts';
import { type BytesCall, bytesMethod, serveBytesCall } from '../../runtime/bytes-call.ts';
import { AppError, messageOf } from '../../runtime/errors.ts';
import { formatHostPort, requireHostPort } from '../../runtime/host-port.ts';
import type { PeerIdentity } from '../../runtime/identity.ts';
import type { Log } from '../../runtime/log.ts';
import type { Metrics } from '../../runtime/metrics.ts';
import { nameOfPeer } from '../../runtime/peer-certificate.ts';
import { methods } from '../../wire/proto/methods.ts';
import type { AckTracker } from './acks.ts';
import { defaultStreamLimits, type StreamLimits } from './delta-server-stream.ts';
import { PeerStream, type StreamSnapshot } from './peer-stream.ts';
import type { ResourceLog } from './resource-log.ts';
import { SendBudget } from './send-window.ts';
import { watchClientLag, xdsMetrics } from './server-metrics.ts';
import type { View } from './view.ts';

export interface XdsServerOptions {
  /** `host:port`; port 0 takes a free one. */
  readonly listen: string;
  readonly credentials: ServerCredentials;
  /** Who calls. A throw or undefined: it is refused. */
  readonly identify: (call: BytesCall) => PeerIdentity | undefined;
  /** Whether calls are taken and stay, beside who calls. */
  readonly admission?: Admission;
  readonly log: ResourceLog;
  /** What this peer may see; undefined: nothing is for it, it is refused. */
  readonly views: (peer: PeerIdentity) => View | undefined;
  /** Told of agents: peers with the role agent and a node. */
  readonly acks?: AckTracker;
  /** A peer is told nothing before this resolves; undefined: it may be told at once. Asked after `acks` is told. */
  readonly admitted?: (peer: PeerIdentity) => Promise<void> | undefined;
  readonly logger: Log;
  readonly metrics: Metrics;
  /** What a peer may cost; absent: the default ones. None may have bigger requests than those. */
  readonly limits?: (peer: PeerIdentity) => StreamLimits;
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

/** What waits to leave, of all streams together. */
const serverBytes = 128 * 1024 * 1024;

const serverOptions = {
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5_000,
  'grpc.max_receive_message_length': defaultStreamLimits.requestBytes,
  'grpc.max_send_message_length': -1,
  'grpc.max_concurrent_streams': 100,
};

/** Serves the log over delta ADS. Throws E_LISTEN. */
export async function startXdsServer(options: XdsServerOptions): Promise<XdsServer> {
  const server = new Server(serverOptions);
  const streams = new Set<PeerStream>();
  const budget = new SendBudget(serverBytes);
  if (options.acks) watchClientLag(options.metrics, options.acks, () => options.log.position);
  server.addService(
    { DeltaAggregatedResources: bytesMethod(methods.deltaAds) },
    { DeltaAggregatedResources: (call: BytesCall) => accept(options, streams, budget, call) },
  );
  for (const { definition, implementation } of options.services ?? []) {
    server.addService(definition, implementation);
  }
  const port = await bind(server, options);
  return {
    port,
    streams: () => [...streams].map((stream) => stream.snapshot),
    refresh: () => {
      for (const stream of streams) stream.refresh();
    },
    disconnect: (which, message) => {
      for (const stream of [...streams]) {
        if (which(stream.peer)) stream.end(new AppError('E_PEER_IDENTITY', message));
      }
    },
    close: async () => {
      for (const stream of [...streams]) stream.end(new AppError('E_XDS_STREAM', 'the server stops'));
      server.forceShutdown();
    },
  };
}

function accept(
  options: XdsServerOptions,
  streams: Set<PeerStream>,
  budget: SendBudget,
  call: BytesCall,
): void {
  const address = call.getPeer();
  let name: string | undefined;
  serveBytesCall(call, {
    admission: options.admission,
    open: (end) => {
      const admitted = admit(options, streams, call);
      const stream = new PeerStream({
        ...options,
        ...admitted,
        limits: options.limits?.(admitted.peer) ?? defaultStreamLimits,
        address,
        budget,
        write: (message, done) => void call.write(message, done),
        end,
      });
      name = stream.name;
      streams.add(stream);
      // The client learns at once that it was taken, before there is anything to tell.
      call.sendMetadata(new Metadata());
      return {
        receive: (message) => stream.receive(message),
        closed: () => {
          streams.delete(stream);
          stream.close();
        },
      };
    },
    failed: ({ code, message }, refused) => {
      const what = refused ? 'refused' : 'ended by us';
      xdsMetrics(options.metrics).ended.inc({ code });
      options.logger.warn({ peer: name ?? address, address, code }, `xDS stream ${what}: ${message}`);
    },
  });
}

/** Throws E_PEER_IDENTITY or E_XDS_STREAM where the call is not taken. */
function admit(
  options: XdsServerOptions,
  streams: ReadonlySet<PeerStream>,
  call: BytesCall,
): { readonly peer: PeerIdentity; readonly view: View } {
  const { total, perPeer } = options.maxStreams ?? { total: 10_000, perPeer: 8 };
  let peer: PeerIdentity | undefined;
  try {
    peer = options.identify(call);
  } catch (cause) {
    throw new AppError('E_PEER_IDENTITY', messageOf(cause), { cause });
  }
  const view = peer && options.views(peer);
  if (!peer || !view) {
    const found = peer ? nameOfPeer(peer) : 'no identity';
    throw new AppError('E_PEER_IDENTITY', `expected a peer that may subscribe here, found ${found}`);
  }
  const name = nameOfPeer(peer);
  const same = [...streams].filter((stream) => stream.name === name).length;
  if (streams.size >= total || same >= perPeer) {
    throw new AppError('E_XDS_STREAM', `expected at most ${perPeer} streams of ${name} and ${total} in all`);
  }
  return { peer, view };
}

/** Throws E_USAGE or E_LISTEN. */
async function bind(server: Server, { listen, credentials }: XdsServerOptions): Promise<number> {
  const { host, port } = requireHostPort('--listen', listen);
  // `::` is both families; a machine may have none of the second.
  const hosts = host === '' ? ['::', '0.0.0.0'] : [host];
  let fault: Error | undefined;
  for (const each of hosts) {
    const at = formatHostPort({ host: each, port });
    const bound = await new Promise<number | Error>((resolve) =>
      server.bindAsync(at, credentials, (error, chosen) => resolve(error ?? chosen)),
    );
    if (typeof bound === 'number') return bound;
    fault ??= bound;
    if (!/EAFNOSUPPORT|EADDRNOTAVAIL/.test(bound.message)) break;
  }
  server.forceShutdown();
  const message = `cannot listen on ${listen} (--listen): ${messageOf(fault)}`;
  throw new AppError('E_LISTEN', message, { cause: fault });
}
