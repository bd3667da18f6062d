import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { runCommand } from '../../src/cli/playground/run-command.ts';
import type { Verification } from '../../src/cli/verify/hop.ts';
import { composite, gateway, route, selector } from './case-objects.ts';
import { until } from './case-world.ts';
import { startCoreDns } from './dns-process.ts';
import { documentedStanza } from './documented-corefile.ts';
import { causeway, nameOf, whyWorld } from './why-world.ts';

/** What cuts a path, at each of its stages: `causeway verify` names the stage. */

const { world, admin, explain, verify } = whyWorld();

test('V1 node: agent down on the client’s node', async () => {
  const w = world();
  await w.supervisor.kill('east agent e1');
  try {
    await until('explain and verify name the node', async () => {
      const { code, causes } = await explain('web', '--node', 'e1');
      expect([code, causes[0]?.reason, causes[0]?.ref.name]).toEqual([1, 'AgentNotConnected', 'e1']);
      const here = await verify('client-e1', 'web');
      expect([here.code, here.hop, here.what, here.reason]).toEqual([1, 'Node', 'e1', 'AgentNotConnected']);
    });
    await until('another node works', async () => expect((await verify('client-e2', 'web')).code).toBe(0));
  } finally {
    await w.supervisor.restart('east agent e1');
  }
});

test('V1 DNS: the resolver does not forward the zone, or says nothing', async () => {
  const w = world();
  const own = w.cluster('east').plan.control.v4;
  const [resolver] = await w.addPods('east', 'coredns', ['e2'], { ports: [] });
  const client = await w
    .cluster('east')
    .addPod({ namespace: 'shop', name: 'resolving', node: 'e1', ports: [] });
  if (!resolver) throw new Error('there is no pod for CoreDNS');
  client.host.useResolver(resolver.ip);
  // As the kubernetes plugin does, it answers for all of cluster.local, with NXDOMAIN for what it does not know.
  const records = '/run/causeway/case/cluster.local';
  writeFileSync(
    records,
    '@ 5 IN SOA ns.dns hostmaster 1 7200 1800 86400 5\nkubernetes.default.svc 5 IN A 10.96.0.1\n',
  );
  const others = `cluster.local:53 {\n    errors\n    file ${records}\n}\n`;
  const withCoreDns = async (corefile: string, check: () => Promise<void>): Promise<void> => {
    const coredns = await startCoreDns(corefile, resolver.host);
    try {
      await check();
    } finally {
      await coredns.stop();
    }
  };
  await withCoreDns(others, async () => {
    const known = await client.host.run(['getent', 'ahostsv4', 'kubernetes.default.svc.cluster.local']);
    expect(known.stdout).toMatch(/^10\.96\.0\.1\s/);
    for (const flags of [[], ['--dns', own]]) {
      const result = await verify('resolving', 'web', ...flags);
      expect([result.code, result.hop, result.reason]).toEqual([1, 'DNS', 'ZoneNotForwarded']);
      const message = result.hops.find(({ hop }) => hop === 'DNS')?.cause?.message;
      expect(message).toContain(
        `the resolver ${resolver.ip} does not forward the zone gw.cluster.local: it says NXDOMAIN`,
      );
    }
  });
  // What the line says to do is what helps.
  await withCoreDns(documentedStanza('gw.cluster.local', { dns: own }) + others, async () => {
    await until('the zone is forwarded', async () => {
      const { code, hops } = await verify('resolving', 'web');
      expect([code, hops.find(({ hop }) => hop === 'DNS')?.result]).toEqual([0, 'Good']);
    });
  });
  expect((await verify('resolving', 'web')).reason).toBe('ResolverSilent');
});

test('V1 network: the data path to a cluster is cut', async () => {
  const w = world();
  const cut =
    'table inet cut {\nchain c {\ntype filter hook forward priority 0;\nip daddr 10.20.0.0/16 drop\n}\n}\n';
  const done = await w.network.router.run(['nft', '-f', '-'], { input: cut });
  expect(done.stderr).toBe('');
  try {
    const result = await verify('client-e2', 'web');
    expect([result.code, result.hop, result.what, result.reason]).toEqual([
      1,
      'Endpoint',
      'west',
      'NetworkCut',
    ]);
  } finally {
    await w.network.router.run(['nft', 'delete', 'table', 'inet', 'cut']);
  }
});

test('V1 endpoint: the server of a pod is dead, or a policy keeps it away', async () => {
  const w = world();
  const pod = w.pod('east', 'web-0');
  await pod.stopEcho();
  try {
    await until('verify names the endpoint that refuses', async () => {
      const dead = await verify('client-e2', 'web');
      expect([dead.code, dead.hop, dead.what, dead.reason]).toEqual([
        1,
        'Endpoint',
        'east',
        'EndpointRefuses',
      ]);
    });
    const drop =
      'table inet cut {\nchain c {\ntype filter hook input priority 0;\ntcp dport 8080 drop\n}\n}\n';
    await pod.host.run(['nft', '-f', '-'], { input: drop });
    const silent = await verify('client-e2', 'web');
    expect([silent.code, silent.hop, silent.what, silent.reason]).toEqual([
      1,
      'Endpoint',
      'east',
      'EndpointSilent',
    ]);
  } finally {
    await pod.host.run(['nft', 'delete', 'table', 'inet', 'cut']);
    await pod.startEcho();
  }
});

test('V1 VIP: connections to the address are refused on the way', async () => {
  const w = world();
  const client = w.pod('east', 'client-e2').host;
  const reject = `table inet cut {\nchain c {\ntype filter hook output priority 0;\nip daddr ${w.vip('east', 'web')} tcp dport 80 reject with tcp reset\n}\n}\n`;
  await client.run(['nft', '-f', '-'], { input: reject });
  try {
    await until('verify names the address', async () => {
      const result = await verify('client-e2', 'web');
      expect([result.code, result.hop, result.reason]).toEqual([1, 'VIP', 'Rejected']);
    });
  } finally {
    await client.run(['nft', 'delete', 'table', 'inet', 'cut']);
  }
});

test('V1 translation: the node does not translate, though its agent is connected', async () => {
  const w = world();
  w.supervisor.signal('east agent e2', 'SIGSTOP');
  try {
    await w.cluster('east').node('e2').namespace.run(['nft', 'delete', 'table', 'inet', 'causeway']);
    await until('verify names the translation', async () => {
      const result = await verify('client-e2', 'web');
      const vip = result.hops.find(({ hop }) => hop === 'VIP');
      expect([result.code, vip?.result, vip?.cause?.reason]).toEqual([1, 'Broken', 'NotTranslated']);
    });
  } finally {
    w.supervisor.signal('east agent e2', 'SIGCONT');
  }
  await until('the agent has repaired it', async () =>
    expect((await verify('client-e2', 'web')).code).toBe(0),
  );
});

test('V1 UDP, both families and several ports: what answers, what refuses, and what nobody can tell', async () => {
  const w = world();
  const ports = [
    { port: 53, targetPort: 8053, protocol: 'UDP' },
    { port: 54, targetPort: 8054, protocol: 'UDP' },
    { port: 80, targetPort: 8080 },
  ] as const;
  const addresses = w.cluster('east').routing.ipv6 ? ['0.0.0.0', '::'] : [];
  w.cluster('east').objects.write(
    'talk.yaml',
    gateway('talk', ports, addresses),
    ...ports.map((port) => route('talk', port)),
    composite('talk', ports, true),
    selector('talk'),
  );
  const [pod] = await w.addPods('east', 'talk', ['e1'], {
    ports: [
      { port: 8053, protocol: 'UDP' },
      { port: 8054, protocol: 'UDP' },
      { port: 8080, protocol: 'TCP' },
    ],
  });
  const of = (hops: Verification['hops'], port: number, result: string) =>
    hops.filter((h) => h.hop === 'VIP' && h.what.endsWith(`:${port}`) && h.result === result);
  const families = Math.max(1, addresses.length);
  await w.programmed('east', 'talk');
  await until('everything answers', async () => {
    const { code, hops } = await verify('client-e2', 'talk');
    expect(hops.filter(({ result }) => result !== 'Good')).toEqual([]);
    for (const { port } of ports) expect(of(hops, port, 'Good')).toHaveLength(families);
    expect(code).toBe(0);
  });
  // Nothing listens: the pod's kernel says so, by ICMP.
  await pod?.stopEcho();
  await until('verify names the endpoint that refuses', async () => {
    const dead = await verify('client-e2', 'talk');
    expect([dead.code, dead.hop, dead.reason]).toEqual([1, 'Endpoint', 'EndpointRefuses']);
    for (const { port } of ports) expect(of(dead.hops, port, 'Broken')).toHaveLength(families);
  });
  // Datagrams of one port vanish: without an answer nobody can say why, unless the application always answers.
  await pod?.startEcho();
  const drop = 'table inet cut {\nchain c {\ntype filter hook input priority 0;\nudp dport 8054 drop\n}\n}\n';
  await pod?.host.run(['nft', '-f', '-'], { input: drop });
  await until('nobody can tell', async () => {
    const silent = await verify('client-e2', 'talk');
    expect(silent.code).toBe(0);
    expect(of(silent.hops, 54, 'Skipped')).toHaveLength(families);
  });
  await until('the application should answer', async () => {
    const told = await verify('client-e2', 'talk', '--datagram', 'hello');
    expect([told.code, told.hop, told.reason]).toEqual([1, 'Endpoint', 'EndpointSilent']);
  });
});

test('V1 from the network of a pod whose files have nothing to run', async () => {
  const w = world();
  const net = `--net=/run/netns/${w.pod('east', 'client-e2').host.name}`;
  const resolver = ['--resolver', w.cluster('east').plan.control.v4];
  const env = { PATH: '', NO_COLOR: '1', CAUSEWAY_CONTROLLER_ADMIN: admin() };
  const command = ['/usr/bin/nsenter', net, ...causeway, 'verify', nameOf('web'), ...resolver];
  await until('it works from there, too', async () => {
    const done = await runCommand(command, { env });
    expect([done.code, done.stderr]).toEqual([0, '']);
    expect(done.stdout).toMatch(/✔ Node {6}e2/);
  });
});
