import { expect, test } from 'vitest';
import type { ClusterExplanation, Explanation } from '../../model/explain/explanation.ts';
import type { NodeHolding } from '../../outputs/xds/acks.ts';
import { explainAnswer } from '../../roles/controller/api.ts';
import type { NodeLine } from '../../roles/controller/node-lines.ts';
import type { Connected, Probes, Resolved } from './hop.ts';
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
  state: 'Programming',
}));

interface Broken {
  readonly resolve?: (server: string) => Resolved;
  readonly connect?: (address: string) => Connected;
  readonly down?: string;
  readonly dns?: string;
  readonly addresses?: readonly string[];
}

async function verify({ resolve, connect, down, dns, addresses = ['10.10.1.99'] }: Broken = {}) {
  let ms = 0;
  const probes: Probes = {
    from: 'client 10.10.1.99',
    hostname: 'client',
    addresses,
    resolver,
    resolve: async (server) => resolve?.(server) ?? { rcode: 'NOERROR', addresses: [vip] },
    connect: async (address) => connect?.(address) ?? 'connected',
    now: () => ms++,
  };
  const acks = {
    holding: () => nodes.map(({ node }) => holding(node, node !== down)),
    adminOf: () => '',
  };
  const answer = explainAnswer(explanation, { acks, relays: [], node: undefined });
  const result = await verifyPath({ answer, nodes, probes, ...(dns === undefined ? {} : { dns }) });
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
    connect: (address) => (address.startsWith('10.20.') ? 'timeout' : 'connected'),
  });
  expect([first?.hop, first?.what, reason]).toEqual(['Endpoint', 'west', 'NetworkCut']);
  expect(message).toContain('no packet comes through to west (network n1)');
});

test('one endpoint that refuses, one that is silent', async () => {
  const refuses = await verify({ connect: (a) => (a === '10.10.2.4' ? 'refused' : 'connected') });
  expect(refuses.message).toContain('10.10.2.4:8080 refused');
  expect(refuses.reason).toBe('EndpointRefuses');
  const silent = await verify({ connect: (a) => (a === '10.10.2.4' ? 'timeout' : 'connected') });
  expect(silent.reason).toBe('EndpointSilent');
});

test('a node that does not translate: endpoints answer and the VIP does not', async () => {
  const { reason, first } = await verify({
    connect: (address) => (address === vip ? 'timeout' : 'connected'),
  });
  expect([first?.hop, reason]).toEqual(['VIP', 'NotTranslated']);
  const rejected = await verify({ connect: (address) => (address === vip ? 'refused' : 'connected') });
  expect(rejected.reason).toBe('Rejected');
});

test('from a machine that is no node the node’s hop is skipped', async () => {
  const { hops, works } = await verify({ addresses: ['192.0.2.1'] });
  expect(hops.find(({ hop }) => hop === 'Node')).toMatchObject({ result: 'Skipped' });
  expect(works).toBe(true);
});
