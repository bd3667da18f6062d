import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { dumpCompiled } from '../../src/model/dump.ts';
import { dumpIr } from '../../src/model/dump-ir.ts';
import { Model } from '../../src/model/model.ts';
import { readInputs } from '../../src/model/read-inputs.ts';
import { yamlText } from '../../src/wire/yaml-text.ts';
import { composite, consumerOf, gateway, providerOf, route, selector, wholeOf } from './case-objects.ts';
import { until } from './case-world.ts';
import { causeway, http, nameOf, whyWorld } from './why-world.ts';

/** Breakages as people make them; each must be named by the line that `explain` or `verify` prints. */

const stock = { kind: 'XEndpointSelector', group: 'gateway.networking.x-k8s.io', name: 'web', port: 8080 };

const { world, run, explain, explained, verify } = whyWorld();

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
  expect(lists[1]).toMatch(/^shop\/web +CompositeBackend +80\/TCP +2\/2 +3 +3 +Even +- +Synced$/m);
  expect(lists[2]).toMatch(/^west +n1 +- +direct +Synced +1 +\S+ \w+ ago +/m);
  expect(lists[3]).toMatch(/^e1 .*yes +connected +\S+:9103 +0 +Programmed$/m);
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
    expect(stdout).toMatch(/:18100 +✖ not connected: E_\w+: .* +/m);
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
