import type { PeerLimits } from '../model/relay/peer-budget.ts';
import { defaultStreamLimits, type StreamLimits } from '../outputs/xds/delta-server-stream.ts';
import { startXdsServer, type XdsServer } from '../outputs/xds/server.ts';
import { Admission } from '../runtime/admission.ts';
import { CertificateWatch } from '../runtime/certificate-watch.ts';
import { FollowedFile } from '../runtime/followed-file.ts';
import { type Role, type RoleContext, type RoleOptions, runRole } from '../runtime/run-role.ts';
import { identifyCall, serverCredentials } from '../runtime/tls.ts';
import { requireOwnIdentity, type TlsFiles } from '../runtime/tls-files.ts';
import { typeUrls } from '../wire/proto/type-urls.ts';
import { yamlText } from '../wire/yaml-text.ts';
import { RelayHub } from './relay/hub.ts';
import { parseMembers } from './relay/members-file.ts';
import { ParentLinks } from './relay/parent-links.ts';
import { publishService } from './relay/publish-service.ts';

export interface RelayOptions extends RoleOptions {
  readonly name: string;
  readonly set: string;
  /** Path of the YAML list of members. */
  readonly members: string;
  readonly listen: string;
  /** `host:port` of each relay to dial. */
  readonly relays?: readonly string[];
  readonly tls: TlsFiles;
}

/** Runs until SIGINT or SIGTERM. Throws E_TLS_LOAD or E_LISTEN. */
export async function runRelay(options: RelayOptions): Promise<void> {
  const { name, set } = options;
  await runRole('relay', options, { name, set }, (context) => startRelay({ ...options, ...context }));
}

/** Of a cluster. A relay that dials us asks for many. */
const memberLimits: StreamLimits = {
  ...defaultStreamLimits,
  names: 100_000,
  requestBytes: 32 * 1024 * 1024,
};

export interface StartRelayOptions extends RoleContext, Omit<RelayOptions, keyof RoleOptions> {
  readonly limits?: PeerLimits;
  readonly settleMs?: number;
}

export interface Relay extends Role {
  readonly port: number;
  readonly hub: RelayHub;
}

/** Passes on what members publish to those it is for. Throws E_TLS_LOAD or E_LISTEN. */
export async function startRelay(options: StartRelayOptions): Promise<Relay> {
  const { tls, set, name, clock, log, metrics } = options;
  requireOwnIdentity(tls, { set, cluster: name, role: 'relay' });
  const certificates = new CertificateWatch({ own: tls.cert, clock, log, metrics });
  const admission = new Admission({ certificates, clock, log, metrics });
  const links = new ParentLinks({ ...options, targets: options.relays ?? [], admission });
  let server: XdsServer | undefined;
  const hub = new RelayHub({
    set,
    name,
    parents: links.parents,
    clock,
    log,
    metrics,
    ...(options.limits ? { limits: options.limits } : {}),
    ...(options.settleMs === undefined ? {} : { settleMs: options.settleMs }),
    onRefresh: () => server?.refresh(),
    onExpelled: ({ cluster, role }) =>
      server?.disconnect(
        (peer) => peer.cluster === cluster && peer.role === role,
        `${cluster} is not on the list of members`,
      ),
  });
  server = await startXdsServer({
    listen: options.listen,
    credentials: serverCredentials(tls, clock),
    identify: (call) => identifyCall(call, { set, roles: ['controller', 'relay'] }),
    admission,
    log: hub.log,
    views: (peer) => hub.viewFor(peer),
    limits: ({ role }) => (role === 'relay' ? defaultStreamLimits : memberLimits),
    logger: log,
    metrics,
    services: [publishService({ hub, set, admission, clock, log })],
  });
  const members = new FollowedFile({
    path: options.members,
    what: 'the list of members',
    parse: parseMembers,
    clock,
    log,
    onContent: ({ list, revoked }) => {
      admission.setRevoked(revoked);
      hub.setMembers(list);
    },
  });
  links.dial(hub);
  return {
    port: server.port,
    hub,
    get waitingFor() {
      return hub.waitingFor;
    },
    debug: debugPages(hub, server, admission),
    close: async () => {
      admission.close();
      members.close();
      hub.close();
      links.close();
      await server.close();
    },
  };
}

function debugPages(hub: RelayHub, server: XdsServer, admission: Admission): Role['debug'] {
  return {
    inputs: () =>
      yamlText({
        members: hub.members.map((cluster) => {
          const way = hub.origin(cluster);
          const { epoch, sequence, synced } = way?.heard?.status ?? {};
          return {
            cluster,
            linked: way?.isLinked ?? false,
            complete: way?.isComplete ?? false,
            ...(way && way.relay !== '' ? { relay: way.relay } : {}),
            ...(epoch === undefined ? {} : { epoch, sequence, synced }),
            heardAt: way?.heard ? new Date(way.heard.heardAt).toISOString() : null,
            ...way?.usage,
          };
        }),
        relays: [...hub.feeds.relays.values()].map(({ name, isLinked, clusters }) => ({
          relay: name,
          linked: isLinked,
          clusters: [...clusters].sort(),
        })),
        parents: hub.feeds.parents.map(({ target, name, isUp }) => ({ relay: target, name, linked: isUp })),
        consumers: server.streams(),
        certificates: admission.certificates,
      }),
    ir: () =>
      yamlText({
        contributions: hub.origins.flatMap((cluster) => {
          const way = hub.origin(cluster);
          return [...(way?.resources ?? [])].map(({ name, offer, mark }) => ({
            name,
            export: offer.to,
            path: way?.path,
            mark,
          }));
        }),
      }),
    wanted: () =>
      yamlText({
        resources: [typeUrls.cluster, typeUrls.assignment, typeUrls.originStatus].flatMap((typeUrl) =>
          [...hub.log.entries(typeUrl)].map(({ name, version }) => ({ name, version })),
        ),
      }),
  };
}
