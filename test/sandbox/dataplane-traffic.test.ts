import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Endpoint, Ir, Port, Target } from '../../src/model/ir.ts';
import type { NftOutput } from '../../src/outputs/nft/apply.ts';
import { backend, endpoint, frontend, ir, node, tcp, to, udp } from '../../src/outputs/nft/sample-ir.ts';
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

test('dataplane 9 the last endpoint goes: refused, not timed out; it comes back: served', async () => {
  await output.update(gateway([both(net.pod(0))]));
  const from = [net.pod(1).host, net.node.namespace, net.network.client];
  const everyWay = async (): Promise<Set<string>> => {
    const answers = new Set<string>();
    for (const host of from) {
      for (const family of families) {
        answers.add((await net.ask(host, 'TCP', vip[family], 80)).split(' ')[0] as string);
        answers.add((await net.ask(host, 'UDP', vip[family], 53)).split(' ')[0] as string);
      }
    }
    return answers;
  };
  expect(await everyWay()).toEqual(new Set(['east/p0']));
  await output.update(gateway([]));
  const refused = await everyWay();
  // A datagram that the kernel refuses on the way out is EPERM for its sender, at once.
  refused.delete('EPERM');
  expect(refused).toEqual(new Set(['ECONNREFUSED']));
  await output.update(gateway([both(net.pod(2))]));
  expect(await everyWay()).toEqual(new Set(['east/p2']));
});

test('dataplane 10 an unused port of our VIP is refused, and ping is answered with unreachable', async () => {
  await output.update(gateway([both(net.pod(0))]));
  for (const host of [net.pod(1).host, net.node.namespace, net.network.client]) {
    for (const family of families) {
      expect(await net.ask(host, 'TCP', vip[family], 81)).toBe('ECONNREFUSED');
      const sent = await net.ask(host, 'UDP', vip[family], 54);
      expect(sent).toBe(host === net.node.namespace ? 'EPERM' : 'ECONNREFUSED');
    }
  }
  // An echo request, from a raw socket: ping(8) itself may not be there, or may not be allowed.
  const ping = `use Socket; socket(S, PF_INET, SOCK_RAW, 1) or die; $SIG{ALRM} = sub { exit 3 }; alarm 3;
    my $body = pack("CCnnn", 8, 0, 0, 7, 1) . "causeway";
    my $sum = 0; $sum += $_ for unpack("n*", $body); $sum = ($sum & 0xffff) + ($sum >> 16) while $sum >> 16;
    substr($body, 2, 2) = pack("n", ~$sum & 0xffff);
    send(S, $body, 0, pack_sockaddr_in(0, inet_aton("${vip.v4}"))) or die; recv(S, my $r, 200, 0);
    print unpack("C", substr($r, 20, 1));`;
  const answer = await net.pod(1).run(['perl', '-e', ping]);
  expect(answer).toMatchObject({ code: 0, stdout: '3' });
  expect(await net.ask(net.pod(1).host, 'TCP', vip.v4, 80)).toContain('east/p0');
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
  const held = client.host.start(
    [
      'bash',
      '-c',
      `exec 3<>/dev/tcp/${vip.v4}/80; while read -r line; do echo "$line" >&3; head -1 <&3; done`,
    ],
    { stdio: ['pipe', 'pipe', 'ignore'] },
  );
  const line = (): Promise<string> => {
    held.stdin?.write('who\n');
    return new Promise((resolve) => held.stdout?.once('data', (d: Buffer) => resolve(d.toString())));
  };
  expect(await line()).toContain(`client=${client.address.v4}`);
  await output.update(gateway([both(net.remote, 8080, { snat: true })]));
  expect(await source()).toBe(net.node.address.v4);
  expect(await line()).toContain(`client=${client.address.v4}`);
  await output.update(gateway([both(net.remote)]));
  await expect.poll(source, { timeout: 20_000 }).toBe(client.address.v4);
  held.kill('SIGKILL');
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
      const result = await net.load(from, { host: vip[family], port: 80, requests: 200, timeoutMs: 2000 });
      expect(result.answers['east/p0']).toBeGreaterThan(50);
      expect(result.errors.ECONNREFUSED).toBe(result.failed);
      expect(result.failed).toBeGreaterThan(50);
    }
  }
});
