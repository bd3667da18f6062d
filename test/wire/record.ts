import { X509Certificate } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { Export } from '../../src/model/compiled.ts';
import type { Backend, Frontend } from '../../src/model/ir.ts';
import { encodeLinkFacts } from '../../src/model/relay/link-metadata.ts';
import { formatOriginName } from '../../src/model/relay/names.ts';
import { encodeOriginStatus, withIdentity } from '../../src/model/relay/origin-status.ts';
import { formatClaims } from '../../src/outputs/objects/claim-file.ts';
import { renderExport } from '../../src/outputs/relay/render.ts';
import { nodesName, renderNodes } from '../../src/outputs/xds/assignment.ts';
import { renderBackend, renderFrontend } from '../../src/outputs/xds/render.ts';
import { contentVersion } from '../../src/outputs/xds/resource-log.ts';
import { issue, makeCa } from '../../src/runtime/certificates.ts';
import type { PeerIdentity } from '../../src/runtime/identity.ts';
import { formatKeptPeers } from '../../src/sources/relay/kept-peers.ts';
import { acknowledgement, encodeDeltaRequest, encodeDeltaResponse } from '../../src/wire/proto/discovery.ts';
import { codec, describeMessage } from '../../src/wire/proto/registry.ts';
import { toStruct } from '../../src/wire/proto/struct.ts';
import { metadataKey, typeUrls } from '../../src/wire/proto/type-urls.ts';
import { wireFolder } from './fixture.ts';
import { type Reading, read } from './readings.ts';

/**
 * `node test/wire/record.ts`: records what this version says as fixtures. Files that are there stay as they are: they
 * are what an earlier version said. To be run by hand, when a message or a file of a new kind is there to record.
 */

interface Recorded {
  readonly file: string;
  readonly about: string;
  readonly reading: Reading;
  readonly message?: string;
  readonly name?: string;
  readonly bytes: Uint8Array;
}

const epoch = 1_790_000_000_000;
const origin = formatOriginName({ set: 'demo', cluster: 'west' });
const west = { set: 'demo', cluster: 'west', network: 'n1' };

const frontend: Frontend = {
  key: 'gateway/shop/store',
  generation: 3,
  names: ['store.shop.gw.cluster.local'],
  ttl: 5,
  vips: ['10.96.0.7', 'fd00:96::7'],
  ports: [
    {
      protocol: 'TCP',
      port: 80,
      listeners: ['http', 'web'],
      appProtocol: 'http',
      targets: [
        { backend: 'composite/shop/store/tcp-80', weight: 9 },
        { backend: 'selector/shop/canary/tcp-8080', weight: 1 },
        { backend: null, weight: 2 },
        { backend: 'service/shop/old/tcp-80', weight: 0 },
      ],
    },
    {
      protocol: 'UDP',
      port: 53,
      listeners: ['echo'],
      targets: [{ backend: 'composite/shop/echo/udp-53', weight: 1 }],
    },
  ],
};

const backend: Backend = {
  key: 'composite/shop/store/tcp-80',
  policy: 'PreferLocal',
  groups: [
    {
      ...{ cluster: 'east', network: 'n1', region: 'eu', zone: 'eu-1', priority: 0, weight: 3 },
      endpoints: [
        { addresses: ['10.10.1.4', 'fd00:10:1::4'], port: 8080, health: 'Healthy', weight: 1 },
        { addresses: ['10.10.2.9'], port: 8080, health: 'Healthy', weight: 2, snat: true },
      ],
    },
    {
      ...{ cluster: 'west', network: 'n1', region: 'us', zone: 'us-1', priority: 1, weight: 1 },
      endpoints: [{ addresses: ['10.20.1.4'], port: 9090, health: 'Healthy', weight: 1 }],
    },
  ],
};
/** No healthy endpoint is left: those that drain may be used. */
const draining: Backend = {
  key: 'selector/shop/canary/tcp-8080',
  policy: 'Even',
  groups: [
    {
      ...{ cluster: 'east', network: '', region: '', zone: '', priority: 0, weight: 1 },
      endpoints: [{ addresses: ['10.10.1.5'], port: 8080, health: 'Draining', weight: 1 }],
    },
  ],
};

const exported: Export = {
  namespace: 'shop',
  composite: 'store',
  protocol: 'TCP',
  port: 80,
  appProtocol: 'http',
  kinds: ['XEndpointSelector'],
  ready: 2,
  selected: 3,
  endpoints: [
    { addresses: ['10.20.1.4', 'fd00:20:1::4'], port: 9090, zone: 'us-1', health: 'Healthy' },
    { addresses: ['10.20.2.4'], port: 9090, zone: 'us-2', health: 'Draining' },
  ],
  to: [{ matchLabels: { env: 'prod' } }, { names: ['east'] }],
  as: { 'team-b/api': [{}] },
};

const identity: PeerIdentity = {
  set: 'demo',
  cluster: 'west',
  role: 'controller',
  labels: { env: 'prod', tier: 'gold' },
  namespaces: ['shop', 'team-*'],
  region: 'us',
  network: 'n1',
};

const node = codec('envoy.config.core.v3.Node').encode({
  id: 'e1',
  cluster: 'east',
  user_agent_name: 'causeway',
  metadata: toStruct({ [metadataKey]: { bypassed: true } }),
});

function resources(): Recorded[] {
  const [tcp, udp] = renderFrontend(frontend);
  const [cluster, assignment] = renderBackend(backend);
  const [, drained] = renderBackend(draining);
  const nodes = renderNodes([
    { name: 'e1', zone: 'eu-1', podCIDRs: ['10.10.1.0/24', 'fd00:10:1::/64'] },
    { name: 'e2', zone: 'eu-2', podCIDRs: [] },
  ]);
  const own = codec('causeway.v1.OriginStatus').encode({ epoch, synced: true });
  const [linkCluster, linkAssignment] = renderExport(exported, west, epoch + 5);
  const status = encodeOriginStatus({
    ...{ epoch, sequence: 12, synced: true, sentAt: epoch + 60_000 },
    counts: { Cluster: 2, ClusterLoadAssignment: 2 },
  });
  const listener = 'envoy.config.listener.v3.Listener';
  const clusterMessage = 'envoy.config.cluster.v3.Cluster';
  const assignmentMessage = 'envoy.config.endpoint.v3.ClusterLoadAssignment';
  const originMessage = 'causeway.v1.OriginStatus';
  const of = (r: { name: string; body: Uint8Array | undefined } | undefined) => ({
    name: r?.name ?? '',
    bytes: r?.body ?? new Uint8Array(),
  });
  const to = (who: string, what: string): string => `${what}, as a controller tells it to ${who}`;
  return [
    {
      ...{ file: 'listener-tcp', reading: 'Listener', message: listener, ...of(tcp) },
      about: to('agents and dns', 'a TCP port of a Gateway, of two families and four targets'),
    },
    {
      ...{ file: 'listener-udp', reading: 'Listener', message: listener, ...of(udp) },
      about: to('agents and dns', 'a UDP port of a Gateway'),
    },
    {
      ...{ file: 'cluster', reading: 'Cluster', message: clusterMessage, ...of(cluster) },
      about: to('agents', 'a back end'),
    },
    {
      ...{
        file: 'assignment',
        reading: 'ClusterLoadAssignment',
        message: assignmentMessage,
        ...of(assignment),
      },
      about: to('agents', 'endpoints of two clusters'),
    },
    {
      ...{ file: 'assignment-draining', reading: 'ClusterLoadAssignment', message: assignmentMessage },
      ...of(drained),
      about: to('agents', 'an endpoint that drains, of a cluster without a network'),
    },
    {
      ...{ file: 'nodes', reading: 'nodes', message: assignmentMessage, name: nodesName, bytes: nodes },
      about: to('agents', 'the nodes of the cluster'),
    },
    {
      ...{
        file: 'origin-status-own',
        reading: 'OriginStatus',
        message: originMessage,
        name: origin,
        bytes: own,
      },
      about: to('agents and dns', 'the marker of a complete state'),
    },
    {
      ...{ file: 'origin-status-published', reading: 'OriginStatus', message: originMessage, name: origin },
      bytes: status,
      about: 'the heartbeat of a cluster, as it tells its relay',
    },
    {
      ...{ file: 'origin-status-relayed', reading: 'OriginStatus', message: originMessage, name: origin },
      bytes: withIdentity(status, identity),
      about: 'the same heartbeat, as the relay tells it to other clusters',
    },
    {
      ...{ file: 'link-cluster', reading: 'link Cluster', message: clusterMessage, ...of(linkCluster) },
      about: 'an exported port, as a cluster tells its relay and the relay other clusters',
    },
    {
      ...{ file: 'link-assignment', reading: 'link ClusterLoadAssignment', message: assignmentMessage },
      ...of(linkAssignment),
      about: 'its endpoints',
    },
    {
      ...{
        file: 'link-metadata-published',
        reading: 'link metadata',
        message: 'envoy.config.core.v3.Metadata',
      },
      bytes: linkCluster?.metadata ?? new Uint8Array(),
      about: 'what rides beside it from a cluster to its relay',
    },
    {
      ...{
        file: 'link-metadata-relayed',
        reading: 'link metadata',
        message: 'envoy.config.core.v3.Metadata',
      },
      bytes: encodeLinkFacts({ path: ['hub'], mark: epoch + 5 }),
      about: 'what rides beside it from the relay to other clusters',
    },
  ];
}

function frames(): Recorded[] {
  const cluster = typeUrls.cluster;
  const published = renderExport(exported, west, epoch + 5);
  const request = { typeUrl: cluster, subscribe: [], unsubscribe: [], initialVersions: new Map(), nonce: '' };
  const requestMessage = 'envoy.service.discovery.v3.DeltaDiscoveryRequest';
  const responseMessage = 'envoy.service.discovery.v3.DeltaDiscoveryResponse';
  const [linkCluster, linkAssignment] = published;
  const ask = (file: string, about: string, bytes: Uint8Array): Recorded => {
    return { file, about, reading: 'DeltaDiscoveryRequest', message: requestMessage, bytes };
  };
  const tell = (file: string, about: string, bytes: Uint8Array): Recorded => {
    return { file, about, reading: 'DeltaDiscoveryResponse', message: responseMessage, bytes };
  };
  const responseOf = (typeUrl: string, found: typeof linkCluster, removals: readonly string[]): Buffer => {
    if (!found) throw new Error('nothing is published');
    const { name, body, version = '', metadata } = found;
    return encodeDeltaResponse({
      typeUrl,
      nonce: '2f',
      resources: [{ name, version, typeUrl, body, metadata }],
      removals,
    });
  };
  const names = [...published.filter((r) => r.typeUrl === cluster)].map((r) => r.name);
  return [
    ask(
      'request-first',
      'the first request of an agent after a reconnect',
      encodeDeltaRequest({
        ...{ ...request, node, subscribe: ['*'] },
        initialVersions: new Map([
          ['composite/shop/store/tcp-80', contentVersion(Buffer.from('a'))],
          ['composite/shop/odd/tcp-80', '?'],
        ]),
      }),
    ),
    ask(
      'request-subscriptions',
      'a controller asks a relay for a port of all clusters, and no more for another',
      encodeDeltaRequest({
        ...request,
        subscribe: [`xdstp://demo/envoy.config.cluster.v3.Cluster/v1/shop/store/tcp-80/*`],
        unsubscribe: [`xdstp://demo/envoy.config.cluster.v3.Cluster/v1/shop/old/tcp-80/*`],
      }),
    ),
    ask('request-ack', 'an acknowledgement', encodeDeltaRequest(acknowledgement(cluster, '2f', []))),
    ask(
      'request-nack',
      'a refusal by name',
      encodeDeltaRequest(acknowledgement(cluster, '2f', [{ name: names[0] ?? '', message: 'too odd' }])),
    ),
    tell(
      'publish-cluster',
      'a publish link: a Cluster, and one that is gone',
      responseOf(cluster, linkCluster, [`${names[0]}:shop:old`]),
    ),
    tell(
      'publish-assignment',
      'a publish link: an assignment',
      responseOf(typeUrls.assignment, linkAssignment, []),
    ),
  ];
}

async function certificates(): Promise<Recorded[]> {
  const now = Date.now();
  const ca = await makeCa({ set: 'demo', now });
  const der = async (who: PeerIdentity): Promise<Buffer> => {
    const { certificate } = await issue({ ...who, ca, ttl: 3_600_000, now });
    return new X509Certificate(certificate).raw;
  };
  const nothing = { labels: {}, namespaces: [], region: '', network: '' };
  const agent: PeerIdentity = { set: 'demo', cluster: 'east', role: 'agent', node: 'e1', ...nothing };
  return [
    {
      file: 'certificate-member',
      about: 'of a controller',
      reading: 'certificate',
      bytes: await der(identity),
    },
    { file: 'certificate-agent', about: 'of an agent', reading: 'certificate', bytes: await der(agent) },
  ];
}

function files(): Recorded[] {
  const [cluster, assignment] = renderExport(exported, west, epoch);
  const told = [cluster, assignment].flatMap((r) =>
    r ? [{ name: r.name, version: contentVersion(r.body), body: r.body }] : [],
  );
  const status = encodeOriginStatus({
    epoch,
    sequence: 12,
    synced: true,
    counts: {},
    sentAt: epoch + 60_000,
  });
  const kept = {
    ...{ set: 'demo', cluster: 'east', ports: ['shop/store/tcp-80'], unanswered: ['shop/new/tcp-80'] },
    staleSince: new Map([['north', epoch]]),
    links: new Map([
      [
        '10.0.0.1:18100',
        {
          resources: told,
          origins: [{ cluster: 'west', body: withIdentity(status, identity), isGone: false }],
        },
      ],
    ]),
  };
  const failing = new Map([['shop/store/tcp-80/west', ['10.20.1.4 9090', '10.20.2.4 9090']]]);
  const gateway = { namespace: 'shop', name: 'store', uid: '6f1e7a86-2c52-4c4e-9a39-0f4c9a1b2c3d' };
  const claims = formatClaims({
    sequence: 9,
    claims: new Map([
      ['10.96.0.7', { address: '10.96.0.7', gateway, since: 2 }],
      ['fd00:96::9', { address: 'fd00:96::9', gateway: { ...gateway, name: 'old' }, since: 3, until: 8 }],
    ]),
    nodes: new Map([['e1', { first: 1, last: 9, connected: true, cleared: 4, object: true }]]),
  });
  return [
    {
      file: 'peers',
      about: 'peers.json in the state folder of a controller',
      reading: 'peers.json',
      bytes: Buffer.from(formatKeptPeers(kept)),
    },
    {
      file: 'peers-failing',
      about: 'peers.json while probes of endpoints fail',
      reading: 'peers.json',
      bytes: Buffer.from(formatKeptPeers({ ...kept, failing })),
    },
    {
      file: 'claims',
      about: 'claims.yaml in the state folder of a controller',
      reading: 'claims.yaml',
      bytes: Buffer.from(claims),
    },
  ];
}

mkdirSync(wireFolder, { recursive: true });
for (const { file, about, reading, message, name = '', bytes } of [
  ...resources(),
  ...frames(),
  ...(await certificates()),
  ...files(),
]) {
  const path = join(wireFolder, `${file}.yaml`);
  if (existsSync(path)) continue;
  const view = message === undefined ? undefined : describeMessage(message, bytes);
  const shown = stringify(
    {
      ...{ about, reading, ...(message === undefined ? {} : { message }), name },
      ...(view === undefined ? {} : { view: JSON.parse(JSON.stringify(view)) as unknown }),
      means: read(reading, name, bytes),
      bytes: Buffer.from(bytes)
        .toString('base64')
        .replace(/.{100}/g, '$&\n'),
    },
    { lineWidth: 110, aliasDuplicateObjects: false },
  );
  writeFileSync(path, shown);
  process.stdout.write(`${path}\n`);
}
