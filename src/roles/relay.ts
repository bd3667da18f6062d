import type { ServerDuplexStream, ServiceDefinition, UntypedServiceImplementation } from '@grpc/grpc-js';
import { Metadata, status } from '@grpc/grpc-js';
import { stringify } from 'yaml';
import type { PeerLimits } from '../model/relay/peer-budget.ts';
import { epochHeader, publishPath } from '../outputs/relay/publish-link.ts';
import { startXdsServer, type XdsServer } from '../outputs/xds/server.ts';
import { startAdmin } from '../runtime/admin.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { AppError, messageOf } from '../runtime/errors.ts';
import { Lifecycle } from '../runtime/lifecycle.ts';
import { createLog, type Log } from '../runtime/log.ts';
import { Metrics } from '../runtime/metrics.ts';
import { identifyCall, requireOwnIdentity, serverCredentials, type TlsFiles } from '../runtime/tls.ts';
import type { ClientConnection } from '../sources/xds/delta-client-stream.ts';
import { typeUrls } from '../wire/proto/type-urls.ts';
import { RelayHub } from './relay/hub.ts';
import { MembersFile } from './relay/members-file.ts';

export interface RelayOptions {
  readonly name: string;
  readonly set: string;
  /** Path of the YAML list of members. */
  readonly members: string;
  readonly listen: string;
  readonly admin: string;
  readonly logLevel: string;
  readonly tls: TlsFiles | 'insecure';
}

/** Runs until SIGINT or SIGTERM. */
export async function runRelay(options: RelayOptions): Promise<void> {
  const log = createLog({ role: 'relay', level: options.logLevel });
  const lifecycle = new Lifecycle(log);
  const metrics = new Metrics();
  metrics.collectProcess();
  const relay = await startRelay({ ...options, log, metrics, clock: systemClock });
  lifecycle.add('relay', () => relay.close());
  const admin = await startAdmin({
    listen: options.admin,
    metrics,
    ready: () => relay.hub.waitingFor,
    debug: debugPages(relay),
  });
  lifecycle.add('admin', () => admin.close());
  log.info({ port: relay.port, admin: admin.port, name: options.name, set: options.set }, 'relay is up');
  await lifecycle.untilSignal();
}

export interface StartRelayOptions {
  readonly name: string;
  readonly set: string;
  readonly members: string;
  readonly listen: string;
  readonly tls: TlsFiles | 'insecure';
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly limits?: PeerLimits;
  readonly settleMs?: number;
}

export interface Relay {
  readonly port: number;
  readonly hub: RelayHub;
  readonly server: XdsServer;
  close(): Promise<void>;
}

/** Throws E_TLS_LOAD, E_LISTEN or E_USAGE. */
export async function startRelay(options: StartRelayOptions): Promise<Relay> {
  const { tls, set, name, clock, log, metrics } = options;
  if (tls === 'insecure') {
    throw new AppError(
      'E_USAGE',
      'a relay needs --tls-cert, --tls-key and --tls-ca: it knows its members by them',
    );
  }
  requireOwnIdentity(tls, { set, cluster: name, role: 'relay' });
  let server: XdsServer | undefined;
  const hub = new RelayHub({
    set,
    name,
    clock,
    log,
    metrics,
    ...(options.limits ? { limits: options.limits } : {}),
    ...(options.settleMs === undefined ? {} : { settleMs: options.settleMs }),
    onRefresh: () => server?.refresh(),
    onExpelled: (cluster) =>
      server?.disconnect((peer) => peer.cluster === cluster, `${cluster} is not a member`),
  });
  server = await startXdsServer({
    listen: options.listen,
    credentials: serverCredentials(tls),
    identify: (call) => identifyCall(call, { set, roles: ['controller'] }),
    log: hub.log,
    views: (peer) => hub.viewFor(peer),
    logger: log,
    metrics,
    services: [publishService(hub, options)],
  });
  const members = new MembersFile({
    path: options.members,
    clock,
    log,
    onList: (clusters) => hub.setMembers(clusters),
  });
  return {
    port: server.port,
    hub,
    server,
    close: async () => {
      members.close();
      hub.close();
      await server.close();
    },
  };
}

type PublishCall = ServerDuplexStream<Buffer, Buffer>;
const bytes = (message: Buffer): Buffer => message;

/** causeway.v1.Relay: the member, which dialled, is the server of delta xDS on its Publish call. */
function publishService(
  hub: RelayHub,
  options: StartRelayOptions,
): { definition: ServiceDefinition; implementation: UntypedServiceImplementation } {
  return {
    definition: {
      Publish: {
        path: publishPath,
        requestStream: true,
        responseStream: true,
        requestSerialize: bytes,
        requestDeserialize: bytes,
        responseSerialize: bytes,
        responseDeserialize: bytes,
      },
    },
    implementation: { Publish: (call: PublishCall) => acceptPublisher(hub, options, call) },
  };
}

function acceptPublisher(hub: RelayHub, { set, clock, log }: StartRelayOptions, call: PublishCall): void {
  let ended = false;
  const fail = (error: AppError): void => {
    if (ended) return;
    ended = true;
    log.warn({ peer: call.getPeer(), code: error.code }, `publish link ended by us: ${error.message}`);
    const code = error.code === 'E_PEER_IDENTITY' ? status.PERMISSION_DENIED : status.ABORTED;
    call.emit('error', { code, details: `${error.code}: ${error.message}` });
  };
  const connection: ClientConnection = { send: (message) => void call.write(message), fail };
  try {
    const peer = identifyCall(call, { set, roles: ['controller'] });
    const epoch = Number(call.metadata.get(epochHeader)[0]);
    if (!Number.isSafeInteger(epoch) || epoch < 0) {
      throw new AppError('E_XDS_STREAM', `expected the publisher's epoch in ${epochHeader}`);
    }
    call.sendMetadata(new Metadata());
    const origin = hub.link(peer, epoch, connection);
    log.info({ cluster: peer.cluster, peer: call.getPeer(), epoch }, 'member publishes');
    const closed = (): void => {
      ended = true;
      hub.unlink(origin, connection);
    };
    call.on('data', (message: Buffer) => {
      try {
        const delay = origin.receive(connection, message);
        if (delay <= 0) return;
        call.pause();
        clock.after(delay, () => call.resume());
      } catch (error) {
        fail(asAppError(error));
        closed();
      }
    });
    call.on('end', () => {
      closed();
      call.end();
    });
    for (const event of ['cancelled', 'error', 'close']) call.on(event, closed);
  } catch (error) {
    fail(asAppError(error));
  }
}

const asAppError = (error: unknown): AppError =>
  error instanceof AppError ? error : new AppError('E_XDS_STREAM', messageOf(error), { cause: error });

function debugPages(relay: Relay): Readonly<Record<string, () => string>> {
  const { hub, server } = relay;
  return {
    inputs: () =>
      stringify({
        members: hub.members.map((cluster) => {
          const published = hub.origins.get(cluster);
          const { epoch, sequence, synced } = published?.status ?? {};
          return {
            cluster,
            linked: published?.isLinked ?? false,
            complete: published?.origin.isComplete ?? false,
            ...(epoch === undefined ? {} : { epoch, sequence, synced }),
            heardAt: published?.heardAt ? new Date(published.heardAt).toISOString() : null,
            ...published?.usage,
          };
        }),
        consumers: server.streams(),
      }),
    ir: () =>
      stringify({
        contributions: [...hub.origins.values()].flatMap(({ origin }) =>
          [...origin.resources].map(({ name, policy, path, mark }) => ({ name, export: policy, path, mark })),
        ),
      }),
    wanted: () =>
      stringify({
        resources: [typeUrls.cluster, typeUrls.assignment, typeUrls.originStatus].flatMap((typeUrl) =>
          [...hub.log.entries(typeUrl)].map(({ name, version }) => ({ name, version })),
        ),
      }),
  };
}
