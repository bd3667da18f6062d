import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Endpoint, Ir, Port, Target } from '../../src/model/ir.ts';
import type { NftOutput } from '../../src/outputs/nft/apply.ts';
import { backend, endpoint, frontend, ir, node, tcp, to, udp } from '../../src/outputs/nft/sample-ir.ts';
import { HeldConnection } from './held-connection.ts';
import { NodeNet } from './node-net.ts';

const vip = { v4: '10.96.0.10', v6: 'fd00:96:1::10' };
const families = ['v4', 'v6'] as const;
const store = 'composite/shop/store/tcp-80';
const other = 'composite/shop/other/tcp-80';

let net: NodeNet;
let output: NftOutput;

beforeAll(async () => {
  net = await NodeNet.create('dataplane-traffic');
});
afterAll(() => net.close());
beforeEach(async () => {
  await net.reset();
  output = net.output();
  return () => output.close();
});

const nodes = () => [
  node('e1', [net.node.podCidrs.v4, net.node.podCidrs.v6]),
  node('e2', [net.cluster.node('e2').podCidrs.v4, net.cluster.node('e2').podCidrs.v6], 'b'),
];

function both(
  pod: { address: { v4: string; v6: string } },
  port = 8080,
  more: Partial<Endpoint> = {},
): Endpoint {
  return endpoint([pod.address.v4, pod.address.v6], port, more);
}

/** A Gateway with both addresses, TCP 80 and UDP 53. */
function gateway(endpoints: readonly Endpoint[], more: { ports?: readonly Port[] } = {}): Ir {
  const udpEndpoints = endpoints.map((e) => ({ ...e, port: 5353 }));
  const ports = more.ports ?? [tcp(80, [to(store)]), udp(53, [to(`${store}u`)])];
  return ir({
    frontends: [frontend('gateway/shop/store', [vip.v4, vip.v6], ports)],
    backends: [backend(store, endpoints), backend(`${store}u`, udpEndpoints)],
    nodes: nodes(),
  });
}

test('dataplane 4 connections follow the weights', async () => {
  const split = (targets: readonly Target[]): Ir => ({
    ...gateway([both(net.pod(0))], { ports: [tcp(80, targets)] }),
    backends: new Map([
      [store, backend(store, [both(net.pod(0))])],
      [other, backend(other, [both(net.pod(1))])],
    ]),
  });
  const requests = 3000;
  const run = () => net.load(net.remote.host, { host: vip.v4, port: 80, requests });
  const chiSquare = (answers: Readonly<Record<string, number>>, expected: Record<string, number>): number =>
    Object.entries(expected).reduce((sum, [who, share]) => {
      const want = share * requests;
      return sum + ((answers[who] ?? 0) - want) ** 2 / want;
    }, 0);
  await output.update(split([to(store, 90), to(other, 10)]));
  const canary = await run();
  expect(canary.failed).toBe(0);
  // 99.99 % of fair draws are below these (1 and 2 degrees of freedom).
  expect(chiSquare(canary.answers, { 'east/p0': 0.9, 'east/p1': 0.1 })).toBeLessThan(15.2);
  await output.update(split([to(store, 0), to(other, 10)]));
  expect((await run()).answers).toEqual({ 'east/p1': requests });
  await output.update(gateway(net.pods.map((p) => both(p))));
  const third = 1 / 3;
  const even = await run();
  expect(chiSquare(even.answers, { 'east/p0': third, 'east/p1': third, 'east/p2': third })).toBeLessThan(
    18.5,
  );
});

/** What is asked of a VIP from a pod, from the node itself and from outside the cluster, in both families. */
async function everyWay(ports: { readonly TCP: number; readonly UDP: number }): Promise<readonly string[]> {
  const from = [net.pod(1).host, net.node.namespace, net.network.client];
  const asked = from.flatMap((host) =>
    families.flatMap((family) =>
      (['TCP', 'UDP'] as const).map(async (protocol) => {
        const answer = (await net.ask(host, protocol, vip[family], ports[protocol])).split(' ')[0];
        // A datagram that the kernel refuses on the way out is EPERM for its sender, at once.
        const refused = host === net.node.namespace && protocol === 'UDP' ? 'EPERM' : 'ECONNREFUSED';
        return answer === refused ? 'refused' : `${answer}`;
      }),
    ),
  );
  return Promise.all(asked);
}

const ports = { TCP: 80, UDP: 53 };
const all = (answer: string): string[] => Array(12).fill(answer);

async function theLastEndpointGoes(): Promise<void> {
  await output.update(gateway([both(net.pod(0))]));
  expect(await everyWay(ports)).toEqual(all('east/p0'));
  await output.update(gateway([]));
  expect(await everyWay(ports)).toEqual(all('refused'));
  await output.update(gateway([both(net.pod(2))]));
  expect(await everyWay(ports)).toEqual(all('east/p2'));
}

async function unusedPortsAreRefused(): Promise<void> {
  await output.update(gateway([both(net.pod(0))]));
  expect(await everyWay({ TCP: 81, UDP: 54 })).toEqual(all('refused'));
  for (const family of families) expect(await ping(vip[family]), family).toBe(unreachable[family]);
  expect(await everyWay(ports)).toEqual(all('east/p0'));
}

/** Types of ICMP messages. */
const unreachable = { v4: 3, v6: 1 };

/**
 * The type of the ICMP message that answers an echo request of a pod. The request is from a raw socket: ping(8) may
 * not be there, or may not be allowed. Of ICMPv6 the kernel makes the checksum and cuts off the header.
 */
async function ping(address: string): Promise<number> {
  const v4 = `socket(S, PF_INET, SOCK_RAW, 1) or die; my $head = 20; my $to = pack_sockaddr_in(0, inet_aton($ip));
    my $body = pack("CCnnn", 8, 0, 0, 7, 1) . "causeway";
    my $sum = 0; $sum += $_ for unpack("n*", $body); $sum = ($sum & 0xffff) + ($sum >> 16) while $sum >> 16;
    substr($body, 2, 2) = pack("n", ~$sum & 0xffff);`;
  const v6 = `socket(S, PF_INET6, SOCK_RAW, 58) or die; my $head = 0;
    my $to = pack_sockaddr_in6(0, inet_pton(PF_INET6, $ip));
    my $body = pack("CCnnn", 128, 0, 0, 7, 1) . "causeway";`;
  // A raw socket is given everything: neighbour discovery too.
  const script = `use Socket qw(:DEFAULT inet_pton pack_sockaddr_in6 PF_INET6); my $ip = "${address}";
    ${address.includes(':') ? v6 : v4} $SIG{ALRM} = sub { exit 3 }; alarm 10;
    send(S, $body, 0, $to) or die;
    for (;;) { recv(S, my $r, 200, 0); my $type = unpack("C", substr($r, $head, 1));
      next if $type >= 130 && $type <= 143; print $type; exit 0 }`;
  const { code, stdout, stderr } = await net.pod(1).run(['perl', '-e', script]);
  if (code !== 0) throw new Error(code === 3 ? `nothing answers the ping of ${address}` : stderr);
  return Number(stdout);
}

test(
  'dataplane 9 the last endpoint goes: refused, not timed out; it comes back: served',
  theLastEndpointGoes,
);

test(
  'dataplane 10 an unused port of our VIP is refused, and ping is answered with unreachable',
  unusedPortsAreRefused,
);

/** What kube-proxy does beside us: translates its own Services, drops what it does not know of the ServiceCIDR. */
const kubeProxy = `
table inet kube-proxy-like {
  chain nat-pre { type nat hook prerouting priority -100; ip daddr 10.96.0.1 tcp dport 443 dnat ip to 10.10.1.250:6443; }
  chain nat-out { type nat hook output priority -100; ip daddr 10.96.0.1 tcp dport 443 dnat ip to 10.10.1.250:6443; }
  chain check { ct state new ip daddr 10.96.0.0/16 counter drop; ct state new ip6 daddr fd00:96:1::/112 counter drop; }
  chain f-forward { type filter hook forward priority 0; jump check; }
  chain f-output { type filter hook output priority 0; jump check; }
}`;

test('dataplane 11 beside a table that drops unknown addresses of the ServiceCIDR, all that holds as well', async () => {
  await net.sh(`nft -f - <<'END'\n${kubeProxy}\nEND`);
  try {
    await theLastEndpointGoes();
    await unusedPortsAreRefused();
    // It does drop: addresses that are nobody's.
    const nobodys = ['10.96.7.7', 'fd00:96:1::707'].flatMap((address) =>
      (['TCP', 'UDP'] as const).map((protocol) => net.ask(net.pod(1).host, protocol, address, 80, 2)),
    );
    expect(await Promise.all(nobodys)).toEqual(Array(4).fill('timeout'));
    const counted = await net.sh('nft list chain inet kube-proxy-like check');
    expect(counted).toMatch(/ip daddr.* packets [1-9]/);
    expect(counted).toMatch(/ip6 daddr.* packets [1-9]/);
  } finally {
    await net.sh('nft delete table inet kube-proxy-like');
  }
});

test('dataplane 13 ports and families of a VIP do not mix', async () => {
  const separate = ir({
    frontends: [
      frontend(
        'gateway/shop/store',
        [vip.v4, vip.v6],
        [tcp(80, [to('a')]), udp(80, [to('b')]), tcp(81, [to('a')])],
      ),
      frontend('gateway/shop/other', ['10.96.0.11'], [tcp(80, [to('c')])]),
    ],
    backends: [
      backend('a', [endpoint(net.pod(0).address.v4), endpoint(net.pod(1).address.v6)]),
      backend('b', [endpoint(net.pod(2).address.v4, 5353), endpoint(net.pod(0).address.v6, 5353)]),
      backend('c', [endpoint(net.pod(1).address.v4, 9090)]),
    ],
    nodes: nodes(),
  });
  await output.update(separate);
  const who = async (protocol: 'TCP' | 'UDP', host: string, port: number) =>
    (await net.ask(net.remote.host, protocol, host, port)).replace(/ hostname.* port=/, ' ');
  expect(await who('TCP', vip.v4, 80)).toBe('east/p0 8080');
  expect(await who('TCP', vip.v4, 81)).toBe('east/p0 8080');
  expect(await who('UDP', vip.v4, 80)).toBe('east/p2 5353');
  expect(await who('TCP', vip.v6, 80)).toBe('east/p1 8080');
  expect(await who('UDP', vip.v6, 80)).toBe('east/p0 5353');
  expect(await who('TCP', '10.96.0.11', 80)).toBe('east/p1 9090');
});

test('dataplane 14 a pod reaches itself through the VIP; its neighbours see its own address', async () => {
  const [p0, p1] = [net.pod(0), net.pod(1)];
  const source = (answer: string) => / client=(\S+)/.exec(answer)?.[1];
  for (const family of families) {
    for (const [protocol, port] of [
      ['TCP', 80],
      ['UDP', 53],
    ] as const) {
      await output.update(gateway([both(p0)]));
      const itself = await net.ask(p0.host, protocol, vip[family], port);
      expect(itself).toMatch(/^east\/p0 /);
      expect(source(itself)).not.toBe(p0.address[family]);
      expect(source(await net.ask(p1.host, protocol, vip[family], port))).toBe(p1.address[family]);
      // Another port of the client, and the conntrack entry of the pod's own connection does not matter.
      await output.update(gateway([both(p0), both(p1)]));
      for (let i = 0; i < 6; i++) {
        const answer = await net.ask(p0.host, protocol, vip[family], port);
        const kept = source(answer) === p0.address[family];
        expect(kept).toBe(answer.startsWith('east/p1 '));
      }
    }
  }
});

test('dataplane 15 off-cluster clients are masqueraded, pods of every node are not, the host gets its reply', async () => {
  await output.update(gateway([both(net.pod(0))]));
  const client = (from: Parameters<NodeNet['ask']>[0], family: 'v4' | 'v6') =>
    net.ask(from, 'TCP', vip[family], 80).then((a) => / client=(\S+)/.exec(a)?.[1]);
  for (const family of families) {
    expect(await client(net.network.client, family)).toBe(net.node.address[family]);
    expect(await client(net.remote.host, family)).toBe(net.remote.address[family]);
    expect(await client(net.node.namespace, family)).toBe(net.node.address[family]);
  }
});

test('dataplane 16 an endpoint that needs source translation gets it, for new connections only', async () => {
  const client = net.pod(1);
  const source = async () => / client=(\S+)/.exec(await net.ask(client.host, 'TCP', vip.v4, 80))?.[1];
  await output.update(gateway([both(net.remote)]));
  expect(await source()).toBe(client.address.v4);
  const held = await HeldConnection.open(client.host, vip.v4, 80);
  expect(await held.ask()).toContain(`client=${client.address.v4}`);
  await output.update(gateway([both(net.remote, 8080, { snat: true })]));
  expect(await source()).toBe(net.node.address.v4);
  expect(await held.ask()).toContain(`client=${client.address.v4}`);
  await output.update(gateway([both(net.remote)]));
  await expect.poll(source, { timeout: 20_000 }).toBe(client.address.v4);
  held.end();
});

test('dataplane 23 VIPs share endpoints, and an endpoint of both back ends counts twice', async () => {
  const shared = ir({
    frontends: [
      frontend('gateway/shop/store', [vip.v4], [tcp(80, [to('a'), to('b')])]),
      frontend('gateway/shop/other', ['10.96.0.11'], [tcp(80, [to('a')])]),
    ],
    backends: [backend('a', [both(net.pod(0))]), backend('b', [both(net.pod(0)), both(net.pod(1))])],
    nodes: nodes(),
  });
  await output.update(shared);
  const result = await net.load(net.remote.host, { host: vip.v4, port: 80, requests: 1000 });
  expect(result.failed).toBe(0);
  expect(result.answers['east/p0']).toBeGreaterThan(650);
  expect(result.answers['east/p1']).toBeGreaterThan(150);
  const second = await net.load(net.remote.host, { host: '10.96.0.11', port: 80, requests: 50 });
  expect(second.answers).toEqual({ 'east/p0': 50 });
  // A thousand endpoints of which only one listens: the rest are refused, so every slot is there.
  const many = [both(net.pod(0)), ...Array.from({ length: 999 }, (_, i) => both(net.pod(1), 20_000 + i))];
  await output.update(gateway(many, { ports: [tcp(80, [to(store)])] }));
  const set = await net.sh('nft list map inet causeway et4');
  expect(new Set(set.match(/ : [0-9.]+ \. [0-9]+/g)).size).toBe(1000);
});

test('a share that leads nowhere is rejected, the rest is served', async () => {
  const state = gateway([both(net.pod(0))], {
    ports: [tcp(80, [to(store, 1), to(null, 1)]), udp(53, [to(`${store}u`), to('gone')])],
  });
  await output.update(state);
  for (const from of [net.pod(1).host, net.node.namespace]) {
    for (const family of families) {
      const result = await net.load(from, { host: vip[family], port: 80, requests: 200, timeoutMs: 10_000 });
      expect(result.answers['east/p0']).toBeGreaterThan(50);
      expect(result.errors.ECONNREFUSED).toBe(result.failed);
      expect(result.failed).toBeGreaterThan(50);
    }
  }
});
