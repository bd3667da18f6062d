import { expect, test } from 'vitest';
import type {
  ClusterExplanation,
  Explanation,
  FrontendExplanation,
  PortExplanation,
} from '../../model/explain/explanation.ts';
import type { NodeHolding } from '../../outputs/xds/acks.ts';
import { explainAnswer } from '../../roles/controller/api.ts';
import type { NodeLine } from '../../roles/controller/node-lines.ts';
import type { Probes, Resolved, Tried } from './hop.ts';
import { verifyPath } from './verify-path.ts';

const name = 'store.shop.gw.cluster.local';
const vip = '10.96.0.7';
const resolver = '10.96.0.10';

const cluster = (id: string, path: 'own' | 'direct', endpoints: readonly string[]): ClusterExplanation => ({
  cluster: id,
  path,
  network: 'n1',
  state: 'Synced',
  reason: 'Synced',
  ready: endpoints.length,
  selected: endpoints.length,
  share: 0.5,
  why: '',
  endpoints,
  notUsed: [],
  causes: [],
});

const explanation: Explanation = {
  asked: name,
  cluster: 'east',
  works: true,
  causes: [],
  frontend: {
    namespace: 'shop',
    name: 'store',
    class: 'cluster-ip',
    names: [name],
    ttl: 5,
    addresses: [vip],
    conditions: [],
    causes: [],
    ports: [
      {
        listener: 'http',
        protocol: 'TCP',
        port: 80,
        causes: [],
        route: { kind: 'TCPRoute', namespace: 'shop', name: 'store', attached: true },
        notUsed: [],
        backends: [
          {
            kind: 'CompositeBackend',
            namespace: 'shop',
            name: 'store',
            port: 80,
            share: 1,
            causes: [],
            clusters: [
              cluster('east', 'own', ['10.10.1.4:8080', '10.10.2.4:8080']),
              cluster('west', 'direct', ['10.20.1.4:8080', '10.20.2.4:8080']),
            ],
          },
        ],
      },
    ],
  },
};

const holding = (node: string, connected: boolean): NodeHolding => ({
  node,
  connected,
  holds: connected ? 'Yes' : 'Unknown',
  reason: connected ? 'Held' : 'AgentNotConnected',
  message: connected ? 'it holds this generation' : 'its agent is not connected',
});

const nodes: readonly NodeLine[] = ['e1', 'e2'].map((node, i) => ({
  node,
  zone: '',
  podCIDRs: [`10.10.${i + 1}.0/24`],
  ready: true,
  admin: '',
  connected: true,
  refused: [],
  state: 'Programmed',
}));

interface Broken {
  readonly resolve?: (server: string) => Resolved;
  readonly connect?: (address: string) => Tried;
  readonly down?: string;
  readonly dns?: string;
  readonly addresses?: readonly string[];
  readonly ports?: readonly PortExplanation[];
  readonly vips?: readonly string[];
  readonly datagram?: Buffer;
}

async function verify({
  resolve,
  connect,
  down,
  dns,
  addresses = ['10.10.1.99'],
  ports,
  vips = [vip],
  datagram,
}: Broken = {}) {
  let ms = 0;
  const probes: Probes = {
    from: 'client 10.10.1.99',
    hostname: 'client',
    addresses,
    resolver,
    resolve: async (server, _, family) =>
      resolve?.(server) ?? {
        rcode: 'NOERROR',
        addresses: vips.filter((a) => a.includes(':') === (family === 'IPv6')),
      },
    connect: async (address) => connect?.(address) ?? 'answered',
    exchange: async (address) => connect?.(address) ?? 'answered',
    now: () => ms++,
  };
  const acks = {
    holding: () => nodes.map(({ node }) => holding(node, node !== down)),
    adminOf: () => '',
  };
  const frontend = explanation.frontend as FrontendExplanation;
  const asked = {
    ...explanation,
    frontend: { ...frontend, addresses: vips, ports: ports ?? frontend.ports },
  };
  const answer = explainAnswer(asked, { acks, refused: [], broken: [], relays: [], node: undefined });
  const result = await verifyPath({
    answer,
    nodes,
    probes,
    ...(dns === undefined ? {} : { dns }),
    ...(datagram === undefined ? {} : { datagram }),
  });
  const first = result.hops.find(({ result: r }) => r === 'Broken');
  return { ...result, first, reason: first?.cause?.reason, message: first?.cause?.message };
}

test('a path that works: every hop is Good and says what was found', async () => {
  const { works, hops } = await verify();
  expect(works).toBe(true);
  expect(hops.map(({ hop, what, result }) => `${hop} ${what} ${result}`)).toEqual([
    'Wanted controller east Good',
    `DNS ${name} Good`,
    'Node e1 Good',
    'Endpoint east Good',
    'Endpoint west Good',
    `VIP ${vip}:80 Good`,
  ]);
});

test('DNS not forwarding the zone', async () => {
  const nx = { rcode: 'NXDOMAIN', addresses: [] };
  const { first, reason, message } = await verify({ resolve: () => nx });
  expect([first?.hop, reason]).toEqual(['DNS', 'ZoneNotForwarded']);
  expect(message).toBe(
    `the resolver ${resolver} does not forward the zone gw.cluster.local: it says NXDOMAIN for ${name}`,
  );
  const sure = await verify({
    dns: '10.0.0.53',
    resolve: (server) => (server === resolver ? nx : { rcode: 'NOERROR', addresses: [vip] }),
  });
  expect(sure.message).toContain('causeway dns at 10.0.0.53 answers it');
  const both = await verify({ dns: '10.0.0.53', resolve: () => nx });
  expect(both.reason).toBe('DnsNotAnswering');
});

test('SERVFAIL alone does not say whether the zone is forwarded or causeway dns is missing', async () => {
  const fails = { rcode: 'SERVFAIL', addresses: [] };
  const { first, reason, message } = await verify({ resolve: () => fails });
  expect(reason).toBe('ZoneNotForwarded');
  expect(message).toContain(
    'does not forward the zone gw.cluster.local, or causeway dns is not reached by it or not ready yet: it says SERVFAIL',
  );
  expect(first?.cause?.next).toContain('--dns ADDRESS');
  const sure = await verify({
    dns: '10.0.0.53',
    resolve: (server) => (server === resolver ? fails : { rcode: 'NOERROR', addresses: [vip] }),
  });
  expect(sure.message).not.toContain('not ready yet');
});

test('where nothing can be sent it does not work: no address of the family, no Gateway', async () => {
  const none = await verify({ addresses: ['fd00::1'] });
  expect(none.works).toBe(false);
  expect(none.reason).toBe('NothingSent');
  expect(none.message).toContain('nothing is sent: this machine has no IPv4 address');
  const offer = { namespace: 'shop', name: 'ledger', conditions: [], causes: [], ports: [] };
  const { frontend: _, ...rest } = explanation;
  const result = await verifyPath({
    answer: { ...rest, works: true, causes: [], offer, nodes: [], relays: [] },
    nodes,
    probes: {} as Probes,
  });
  expect(result.works).toBe(false);
  expect(result.hops[0]?.cause?.reason).toBe('NothingSent');
});

test('a resolver that is silent, or says another address', async () => {
  const silent = await verify({ resolve: () => ({ rcode: 'TIMEOUT', addresses: [] }) });
  expect(silent.reason).toBe('ResolverSilent');
  const other = await verify({ resolve: () => ({ rcode: 'NOERROR', addresses: ['10.96.0.8'] }) });
  expect(other.message).toContain(`expected ${vip} for ${name} from ${resolver}, found 10.96.0.8`);
});

test('agent down on the client’s node; on another node it does not matter', async () => {
  const { first, reason } = await verify({ down: 'e1' });
  expect([first?.hop, first?.what, reason]).toEqual(['Node', 'e1', 'AgentNotConnected']);
  expect((await verify({ down: 'e2' })).works).toBe(true);
});

test('data path to a cluster cut: the cluster is named before the VIP', async () => {
  const { first, reason, message } = await verify({
    connect: (address) => (address.startsWith('10.20.') ? 'silent' : 'answered'),
  });
  expect([first?.hop, first?.what, reason]).toEqual(['Endpoint', 'west', 'NetworkCut']);
  expect(message).toContain('no packet comes through to west (network n1)');
});

test('one endpoint that refuses, one that is silent', async () => {
  const refuses = await verify({ connect: (a) => (a === '10.10.2.4' ? 'refused' : 'answered') });
  expect(refuses.message).toContain('10.10.2.4:8080 refused');
  expect(refuses.reason).toBe('EndpointRefuses');
  const silent = await verify({ connect: (a) => (a === '10.10.2.4' ? 'silent' : 'answered') });
  expect(silent.reason).toBe('EndpointSilent');
});

test('a node that does not translate: endpoints answer and the VIP does not', async () => {
  const { reason, first } = await verify({
    connect: (address) => (address === vip ? 'silent' : 'answered'),
  });
  expect([first?.hop, reason]).toEqual(['VIP', 'NotTranslated']);
  const rejected = await verify({ connect: (address) => (address === vip ? 'refused' : 'answered') });
  expect(rejected.reason).toBe('Rejected');
});

test('from a machine that is no node the node’s hop is skipped', async () => {
  const { hops, works } = await verify({ addresses: ['192.0.2.1'] });
  expect(hops.find(({ hop }) => hop === 'Node')).toMatchObject({ result: 'Skipped' });
  expect(works).toBe(true);
});

const [tcp] = explanation.frontend?.ports ?? [];
const udp: PortExplanation = { ...(tcp as PortExplanation), listener: 'dns', protocol: 'UDP', port: 53 };

test('UDP: an answer is one, a refusal is one, and silence alone says nothing', async () => {
  const ports = [udp];
  const good = await verify({ ports });
  expect(good.hops.map(({ found }) => found)).toContain('5 of 5 datagrams answered');
  const refused = await verify({ ports, connect: () => 'refused' });
  expect(
    refused.hops.filter(({ cause }) => cause).map(({ hop, cause }) => `${hop} ${cause?.reason}`),
  ).toEqual(['Endpoint EndpointRefuses', 'Endpoint EndpointRefuses', 'VIP Rejected']);
  const silent = await verify({ ports, connect: () => 'silent' });
  expect(silent.works).toBe(true);
  expect(
    silent.hops.filter(({ result }) => result === 'Skipped').map(({ hop, found }) => `${hop} ${found}`),
  ).toEqual([
    'Endpoint 0 of 2 endpoints answered, 2 no answer: it may not answer what it does not understand',
    'Endpoint 0 of 2 endpoints answered, 2 no answer: it may not answer what it does not understand',
    'VIP 0 of 5 datagrams answered, 5 no answer: it may not answer what it does not understand',
  ]);
  const told = await verify({ ports, connect: () => 'silent', datagram: Buffer.from('ping') });
  expect(told.reason).toBe('EndpointSilent');
});

test('UDP that answers somewhere must answer everywhere', async () => {
  const ports = [udp];
  const far = await verify({ ports, connect: (a) => (a.startsWith('10.20.') ? 'silent' : 'answered') });
  expect([far.first?.what, far.reason]).toEqual(['west', 'NetworkCut']);
  const vipOnly = await verify({ ports, connect: (a) => (a === vip ? 'silent' : 'answered') });
  expect(vipOnly.reason).toBe('NotTranslated');
});

test('several ports are told apart; a family that this machine does not have is left out', async () => {
  const { hops, works } = await verify({ ports: [tcp as PortExplanation, udp], vips: [vip, 'fd00:96::7'] });
  expect(works).toBe(true);
  expect(hops.filter(({ hop }) => hop === 'VIP').map(({ what, found }) => `${what} ${found}`)).toEqual([
    `${vip}:80 5 of 5 connections (port 80/TCP)`,
    '[fd00:96::7]:80 nothing is sent: this machine has no IPv6 address',
    `${vip}:53 5 of 5 datagrams answered (port 53/UDP)`,
    '[fd00:96::7]:53 nothing is sent: this machine has no IPv6 address',
  ]);
  const both = await verify({ vips: [vip, 'fd00:96::7'], addresses: ['10.10.1.99', 'fd00:10::99'] });
  expect(both.hops.filter(({ hop, result }) => hop === 'VIP' && result === 'Good')).toHaveLength(2);
});
