import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { runCommand } from '../../src/cli/playground/run-command.ts';
import type { Verification } from '../../src/cli/verify/hop.ts';
import { dumpCompiled } from '../../src/model/dump.ts';
import { dumpIr } from '../../src/model/dump-ir.ts';
import { Model } from '../../src/model/model.ts';
import { readInputs } from '../../src/model/read-inputs.ts';
import type { ExplainAnswer } from '../../src/roles/controller/api.ts';
import { yamlText } from '../../src/wire/yaml-text.ts';
import { composite, consumerOf, gateway, providerOf, route, selector, wholeOf } from './case-objects.ts';
import { caseWorld, until } from './case-world.ts';

/** Breakages as people make them; each must be named by the line that `explain` or `verify` prints. */

const causeway = [process.execPath, join(import.meta.dirname, '..', '..', 'bin', 'causeway.mjs')];
const http = { port: 80, targetPort: 8080 };
const stock = { kind: 'XEndpointSelector', group: 'gateway.networking.x-k8s.io', name: 'web', port: 8080 };

const world = caseWorld({
  clusters: { east: { nodes: ['e1', 'e2'], dataPlane: true }, west: { nodes: ['w1'], dataPlane: true } },
  prepare: async (w) => {
    w.cluster('east').objects.write('web.yaml', ...wholeOf('web'));
    w.cluster('west').objects.write('web.yaml', ...providerOf('web'));
    await Promise.all([
      w.addClient('east', 'e1'),
      w.addClient('east', 'e2'),
      w.addPods('east', 'web', ['e1', 'e2']),
      w.addPods('west', 'web', ['w1']),
    ]);
  },
});

const nameOf = (app: string) => `${app}.shop.gw.cluster.local`;
const admin = () => `${world().cluster('east').plan.control.v4}:9101`;

/** Runs the command in a pod of east. */
async function run(pod: string, ...command: readonly string[]) {
  const env = { ...process.env, CAUSEWAY_ADMIN: admin(), NO_COLOR: '1' };
  const done = await world()
    .pod('east', pod)
    .host.run([...causeway, ...command], { env });
  expect(done.stderr).toBe('');
  return done;
}

async function explain(app: string, ...flags: readonly string[]) {
  const { stdout, code } = await run('client-e1', 'explain', nameOf(app), '-o', 'json', ...flags);
  return { code, ...(JSON.parse(stdout) as ExplainAnswer) };
}

/** The first lines that people read. */
async function explained(app: string): Promise<string> {
  const { stdout, code } = await run('client-e1', 'explain', nameOf(app));
  return `exit ${code}\n${stdout}`;
}

async function verify(pod: string, app: string, ...flags: readonly string[]) {
  const { stdout, code } = await run(pod, 'verify', nameOf(app), '-o', 'json', ...flags);
  const result = JSON.parse(stdout) as Verification;
  const first = result.hops.find((hop) => hop.result === 'Broken');
  return { code, ...result, hop: first?.hop, what: first?.what, reason: first?.cause?.reason };
}

test('a name that works: explain and verify say yes, get lists it', async () => {
  await world().programmed('east', 'web');
  await until('explain and verify say yes', async () => {
    const { code, causes, nodes } = await explain('web');
    expect([code, causes]).toEqual([0, []]);
    expect(nodes.map(({ node, holds }) => `${node} ${holds}`)).toEqual(['e1 Yes', 'e2 Yes']);
    const { code: verified, hops } = await verify('client-e1', 'web');
    expect(hops.filter(({ result }) => result !== 'Good')).toEqual([]);
    expect(verified).toBe(0);
  });
  const lists = await Promise.all(
    ['frontends', 'backends', 'clusters', 'nodes'].map(
      async (kind) => (await run('client-e1', 'get', kind)).stdout,
    ),
  );
  expect(lists[0]).toMatch(
    /^shop\/web +web\.shop\.gw\.cluster\.local +10\.96\.\S+ +80\/TCP +1 +Programmed$/m,
  );
  expect(lists[1]).toMatch(/^shop\/web +CompositeBackend +80\/TCP +2\/2 +3 +3 +Even +Synced$/m);
  expect(lists[2]).toMatch(/^west +n1 +- +direct +Synced +1 +\S+ \w+ ago +/m);
  expect(lists[3]).toMatch(/^e1 .*yes +connected +\S+:9103 +0 +Programming$/m);
});

test('S10 a change of another cluster, and one of our own, is in propagation_seconds once each node holds it', async () => {
  const w = world();
  const counted = (cluster: string, scope: string) =>
    w.metric('east controller', 'propagation_seconds_count', { cluster, scope }).then((n) => n ?? 0);
  for (const [cluster, scope, node] of [
    ['west', 'remote', 'w1'],
    ['east', 'local', 'e1'],
  ] as const) {
    const before = await counted(cluster, scope);
    const pod = await w
      .cluster(cluster)
      .addPod({ namespace: 'shop', name: 'web-9', node, labels: { app: 'web' } });
    // Two agents, each of which acknowledges it.
    await until(`${cluster} is counted`, async () =>
      expect((await counted(cluster, scope)) - before).toBeGreaterThanOrEqual(2),
    );
    await w.cluster(cluster).removePod(pod);
  }
  expect(await w.metric('east controller', 'propagation_skewed_total')).toBeUndefined();
});

test('each role exports exactly the metrics that docs/metrics.md gives it, with these labels', async () => {
  const w = world();
  const text = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'metrics.md'), 'utf8');
  const rows = [...text.matchAll(/^\| `causeway_(\w+)` \| ([^|]*)\| ([^|]*)\|/gm)].map(
    ([, name, labels, roles]) => ({
      name,
      labels: [...(labels ?? '').matchAll(/`(\w+)`/g)].map(([, label]) => label),
      roles: (roles ?? '').trim().split(', '),
    }),
  );
  for (const [role, process] of [
    ['controller', 'east controller'],
    ['agent', 'east agent e1'],
    ['dns', 'east dns'],
    ['relay', 'relay'],
  ] as const) {
    const documented = rows.filter(({ roles }) => roles.includes(role) || roles.includes('all'));
    const page = await w.page(process, '/metrics');
    const exported = [...page.matchAll(/^# TYPE causeway_(\w+) /gm)].map(([, name]) => name);
    expect(exported.sort(), role).toEqual(documented.map(({ name }) => name).sort());
    for (const [, name = '', list = ''] of page.matchAll(/^causeway_(\w+)\{([^}]*)\} /gm)) {
      const of = documented.find(
        (row) => row.name === name.replace(/_(bucket|sum|count)$/, '') || row.name === name,
      );
      const labels = [...list.matchAll(/(\w+)="/g)]
        .map(([, label]) => label)
        .filter((label) => label !== 'le');
      expect(labels, `${role} ${name}`).toEqual(of?.labels);
    }
  }
  // What a working cluster has counted by now.
  for (const [process, name, labels] of [
    ['east controller', 'compile_seconds_count', {}],
    ['east controller', 'endpoints', { cluster: 'west', state: 'healthy' }],
    ['east controller', 'source_synced', { cluster: 'west' }],
    ['east controller', 'xds_streams', { role: 'agent' }],
    ['east controller', 'xds_push_bytes_total', { role: 'dns' }],
    ['east controller', 'relay_links', {}],
    ['east agent e1', 'sync_seconds_count', {}],
    ['east agent e1', 'vip_ports', {}],
    ['east agent e1', 'xds_connected', {}],
    ['east agent e1', 'nft_commands_total', {}],
    ['east dns', 'dns_answers_total', { rcode: 'NOERROR' }],
    ['relay', 'relay_members', {}],
  ] as const) {
    expect(await w.metric(process, name, labels), `${process} ${name}`).toBeGreaterThan(0);
  }
  expect(await w.metric('east controller', 'xds_client_lag', { node: 'e1' })).toBe(0);
});

test('wrong selector', async () => {
  const { objects } = world().cluster('east');
  const wrong = { ...selector('typo'), spec: { selector: { matchLabels: { app: 'wbe' } } } };
  const [front, lead] = [gateway('typo', [http]), route('typo', http)];
  objects.write('typo.yaml', front, lead, composite('typo', [http], true), wrong);
  await until('explain names the selector', async () => {
    expect(await explained('typo')).toMatch(
      /^exit 1\n✖ XEndpointSelector shop\/typo {2}spec\.selector {2}SelectsNothing\n.*app=wbe, found none; pods there have app: web\n/,
    );
  });
});

test('pods not ready', async () => {
  const w = world();
  w.cluster('east').objects.write('slow.yaml', ...wholeOf('slow'));
  const [pod] = await w.addPods('east', 'slow', ['e1']);
  pod?.setReady(false);
  await until('explain names the pod', async () => {
    expect(await explained('slow')).toMatch(
      /^exit 1\n✖ XEndpointSelector shop\/slow {2}NoEndpoints\n.*none is ready: slow-0 not ready\n/,
    );
  });
});

test('port not offered by a cluster', async () => {
  const w = world();
  const ports = [http, { port: 81, targetPort: 8080 }];
  const routes = ports.map((port) => route('two', port));
  w.cluster('east').objects.write(
    'two.yaml',
    gateway('two', ports),
    ...routes,
    composite('two', ports, false),
  );
  w.cluster('west').objects.write('two.yaml', composite('two', ports.slice(1), true), selector('two'));
  await w.addPods('west', 'two', ['w1']);
  await until('explain names the cluster and the port', async () => {
    expect(await explained('two')).toMatch(
      /^exit 1\n✖ CompositeBackend shop\/two {2}PortNotOffered\n {2}west does not offer port 80\/TCP\n/,
    );
  });
});

test('missing ReferenceGrant', async () => {
  const foreign = {
    ...route('far', http),
    spec: { parentRefs: [{ name: 'far' }], rules: [{ backendRefs: [{ ...stock, namespace: 'stock' }] }] },
  };
  world()
    .cluster('east')
    .objects.write('far.yaml', gateway('far', [http]), foreign);
  await until('explain names the grant', async () => {
    expect(await explained('far')).toMatch(
      /^exit 1\n✖ TCPRoute shop\/far-80 {2}spec\.rules\[0\]\.backendRefs\[0\] {2}RefNotPermitted\n.*expected a ReferenceGrant in namespace "stock"/,
    );
  });
});

test('listener that does not allow the route', async () => {
  const closed = {
    ...gateway('closed', []),
    spec: {
      gatewayClassName: 'cluster-ip',
      listeners: [
        {
          name: 'tcp-80',
          protocol: 'TCP',
          port: 80,
          allowedRoutes: { namespaces: { from: 'Selector', selector: { matchLabels: { team: 'other' } } } },
        },
      ],
    },
  };
  world()
    .cluster('east')
    .objects.write('closed.yaml', closed, route('closed', http, 'web'));
  await until('explain names the listener, and what would be', async () => {
    const text = await explained('closed');
    expect(text).toMatch(
      /^exit 1\n✖ TCPRoute shop\/closed-80 {2}spec\.parentRefs\[0\] {2}NotAllowedByListeners\n/,
    );
    expect(text).toMatch(/CompositeBackend shop\/web port 80 .*would be/);
  });
});

test('cluster not exporting', async () => {
  const w = world();
  const named = { import: { from: [{ clusters: { names: ['west'] } }] } };
  w.cluster('east').objects.write('kept.yaml', ...consumerOf('kept', named));
  w.cluster('west').objects.write('kept.yaml', ...providerOf('kept', { export: { to: [] } }));
  await w.addPods('west', 'kept', ['w1']);
  await until('explain names the cluster', async () => {
    expect(await explained('kept')).toMatch(
      /^exit 1\n✖ CompositeBackend shop\/kept {2}status\.clusters {2}NotOffered\n {2}west: it offers nothing /,
    );
  });
});

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

test('a table that somebody else changed: what is missing in the kernel of a node', async () => {
  const w = world();
  const agent = `${w.cluster('east').node('e2').address.v4}:9103`;
  const path = async () => (await run('client-e2', 'explain', nameOf('web'), '--agent', agent)).stdout;
  await until('the kernel holds what is wanted', async () => {
    expect(await path()).toMatch(/^✔ node e2 {3}10\.96\.\S+ TCP 80 {3}wanted: .* in the kernel: the same$/m);
  });
  // The agent repairs it: it may have been faster than the question.
  await until('explain names what the kernel lacks', async () => {
    await w.cluster('east').node('e2').namespace.run(['nft', 'delete', 'table', 'inet', 'causeway']);
    expect(await path()).toMatch(/^✖ Node e2 {2}TableDiffers\n.*missing .*:8080.*; too much untouched$/m);
  });
  await w.supervisor.kill('east agent e2');
  await w.supervisor.restart('east agent e2');
});

test('explain for one client: its node, what that holds, what it reaches, and as whom it is seen', async () => {
  const w = world();
  const nodes = await run('client-e1', 'get', 'nodes');
  expect(nodes.stdout).toContain(`${w.cluster('east').node('e2').address.v4}:9103`);
  const from = async (client: string) =>
    (await run('client-e1', 'explain', nameOf('web'), '--from', client)).stdout;
  await until('the kernel holds what is wanted', async () => {
    const text = await from('pod/shop/client-e2');
    const { ip } = w.pod('east', 'client-e2');
    expect(text).toContain(`\nfrom pod shop/client-e2 on node e2   ${ip}`);
    expect(text).toMatch(/^✔ node e2 {3}10\.96\.\S+ TCP 80 {3}wanted: .* in the kernel: the same$/m);
    for (const [cluster, pod] of [
      ['east', 'web-0'],
      ['west', 'web-0'],
    ] as const) {
      expect(text).toMatch(
        new RegExp(`^ {4}${w.pod(cluster, pod).ip}:8080 +${cluster} +33.3 % +seen as ${ip}$`, 'm'),
      );
    }
  });
  expect(await from('node/e1')).toMatch(/:8080 +west +33.3 % +seen as node e1$/m);
});

test('V1 DNS: the resolver does not forward the zone, or says nothing', async () => {
  const w = world();
  const [own, other] = [w.cluster('east').plan.control.v4, w.cluster('west').plan.control.v4];
  // A resolver that knows nothing of this name.
  const result = await verify('client-e2', 'web', '--resolver', other, '--dns', own);
  expect([result.code, result.hop, result.reason]).toEqual([1, 'DNS', 'ZoneNotForwarded']);
  const silent = await verify('client-e2', 'web', '--resolver', `${own}:5353`);
  expect(silent.reason).toBe('ResolverSilent');
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
  const env = { PATH: '', NO_COLOR: '1', CAUSEWAY_ADMIN: admin() };
  const command = ['/usr/bin/nsenter', net, ...causeway, 'verify', nameOf('web'), ...resolver];
  await until('it works from there, too', async () => {
    const done = await runCommand(command, { env });
    expect([done.code, done.stderr]).toEqual([0, '']);
    expect(done.stdout).toMatch(/✔ Node {6}e2/);
  });
});

test('relay down', async () => {
  const w = world();
  await w.supervisor.kill('relay');
  await until('explain and get name the relay and the cluster', async () => {
    const text = await explained('web');
    expect(text).toMatch(/● Relay \S+:18100 {2}RelayDown\n/);
    expect(text).toMatch(
      /● CompositeBackend shop\/web {2}status\.clusters {2}NoContact\n {2}west: no contact/,
    );
    const { stdout } = await run('client-e1', 'get', 'clusters');
    expect(stdout).toMatch(/^west .* Stale \d+ s /m);
    expect(stdout).toMatch(/:18100 +✖ not connected +/m);
  });
});

test('a bug report of all roles compiles to what the controller said, and holds no key', async () => {
  const w = world();
  await w.supervisor.restart('relay');
  const roles = ['east controller', 'east dns', 'relay'];
  const admins = roles.map((role) => new URL(w.supervisor.spec(role).readyUrl).host);
  const out = '/run/causeway/case/report';
  const { stdout, code } = await run('client-e1', 'bugreport', '--out', out, '--admin', ...admins);
  // The agents of both nodes are found by what they told the controller.
  expect([code, stdout.match(/^✔/gm)?.length]).toEqual([0, 5]);
  const read = (...path: string[]) => readFileSync(join(out, ...path), 'utf8');
  const [controller = ''] = admins.map((admin) => admin.replace(':', '-'));
  const documents = parseAllDocuments(read(controller, 'in.yaml')).map((document) => document.toJS());
  const { config, now, changes, errors } = readInputs(documents);
  expect(errors).toEqual([]);
  const model = new Model(config);
  model.update(changes, now);
  expect(yamlText(dumpIr(model.compiled))).toBe(read(controller, 'ir.txt'));
  expect(yamlText(dumpCompiled(model.compiled))).toBe(read(controller, 'out.yaml'));
  const files = readdirSync(out, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
  for (const { parentPath, name } of files) {
    expect(readFileSync(join(parentPath, name), 'utf8'), name).not.toContain('PRIVATE KEY');
  }
});

test('nobody to ask is exit 2', async () => {
  const done = await world()
    .pod('east', 'client-e1')
    .host.run([...causeway, 'get', 'nodes', '--admin', '127.0.0.1:1']);
  expect(done.code).toBe(2);
  expect(done.stderr).toContain('E_UNREACHABLE');
});
