import { expect, test } from 'vitest';
import { startLoad } from '../../src/cli/playground/load-process.ts';
import type { PodPort } from '../../src/cli/playground/pod-objects.ts';
import { composite, frontEnd, providerOf, selector, wholeOf } from './case-objects.ts';
import { caseWorld, Traffic, until } from './case-world.ts';

const tcp = (port: number): PodPort => ({ port, protocol: 'TCP' });
const many = Array.from({ length: 14 }, (_, i) => ({ port: 7001 + i }));
const time = { port: 123, protocol: 'UDP', targetPort: 8123 } as const;

const world = caseWorld({
  clusters: { east: { nodes: ['e1', 'e2'], dataPlane: true }, west: { nodes: ['w1'] } },
  prepare: async (w) => {
    const [east, west] = [w.cluster('east').objects, w.cluster('west').objects];
    // One name, another port of the pods in each cluster.
    east.write('shift.yaml', ...wholeOf('shift'));
    west.write('shift.yaml', composite('shift', [{ port: 80, targetPort: 9090 }], true), selector('shift'));
    // A port that only one cluster has.
    east.write('part.yaml', ...frontEnd('part', [{ port: 80 }, { port: 443 }]), ...providerOf('part'));
    const both = [
      { port: 80, targetPort: 8080 },
      { port: 443, targetPort: 8443 },
    ];
    west.write('part.yaml', composite('part', both, true), selector('part'));
    east.write('many.yaml', ...frontEnd('many', many), composite('many', many, false));
    west.write('many.yaml', composite('many', many, true), selector('many'));
    for (const objects of [east, west])
      objects.write(
        'clock.yaml',
        ...frontEnd('clock', [time]),
        composite('clock', [time], true),
        selector('clock'),
      );
    const udp: PodPort = { port: time.targetPort, protocol: 'UDP' };
    await Promise.all([
      w.addClient('east', 'e1'),
      w.addPods('east', 'shift', ['e2'], { ports: [tcp(8080), tcp(9090)] }),
      w.addPods('west', 'shift', ['w1'], { ports: [tcp(8080), tcp(9090)] }),
      w.addPods('east', 'part', ['e1'], { ports: [tcp(8080), tcp(8443)] }),
      w.addPods('west', 'part', ['w1'], { ports: [tcp(8080), tcp(8443)] }),
      w.addPods('west', 'many', ['w1'], { ports: many.map(({ port }) => tcp(port)) }),
      w.addPods('east', 'clock', ['e2'], { ports: [udp] }),
      w.addPods('west', 'clock', ['w1', 'w1'], { ports: [udp] }),
    ]);
  },
});

const client = () => world().pod('east', 'client-e1').host;
const of = (app: string) => `${app}.shop.gw.cluster.local`;

test('T1 each cluster translates a port with its own target port', async () => {
  const w = world();
  const [here, there] = [w.pod('east', 'shift-0'), w.pod('west', 'shift-0')];
  const vip = await w.programmed('east', 'shift');
  await w.leadsTo('east', vip, [`${here.ip}:8080`, `${there.ip}:9090`]);
  const traffic = await Traffic.start(client(), { host: of('shift'), port: 80 });
  await traffic.comesOnlyFrom([here, there]);
  await traffic.endsWithoutFailure();
  // The pods listen on both ports in both clusters: only what they say tells which one was used.
  const said = await Promise.all(
    Array.from({ length: 40 }, async () => {
      const { stdout, stderr } = await client().run(['curl', '-sS', '-m', '10', `http://${vip}`]);
      return stdout || stderr;
    }),
  );
  const seen = new Set(said.map((text) => text.replace(/^(\S+) .* port=(\d+)\s*$/s, '$1 $2')));
  expect([...seen].sort()).toEqual([`${here.answer} 8080`, `${there.answer} 9090`]);
});

test('T3 a port that one cluster does not offer goes to the other only, and a condition says so', async () => {
  const w = world();
  const [here, there] = [w.pod('east', 'part-0'), w.pod('west', 'part-0')];
  const vip = await w.programmed('east', 'part');
  await w.leadsTo('east', vip, [`${here.ip}:8080`, `${there.ip}:8080`]);
  await w.leadsTo('east', vip, [`${there.ip}:8443`], { port: 443 });
  for (const [port, pods] of [
    [80, [here, there]],
    [443, [there]],
  ] as const) {
    const traffic = await Traffic.start(client(), { host: of('part'), port });
    await traffic.comesOnlyFrom(pods);
    await traffic.endsWithoutFailure();
  }
  await until('the composite says Conflicted', () => {
    expect(w.condition('east', 'CompositeBackend', 'part', 'Conflicted')).toMatchObject({
      status: 'True',
      reason: 'PortConflict',
      message: expect.stringMatching(/east.*443|443.*east/),
    });
  });
});

test('T8 fourteen ports are offered and all of them are reached', async () => {
  const w = world();
  const pod = w.pod('west', 'many-0');
  const vip = await w.programmed('east', 'many');
  for (const { port } of many) await w.leadsTo('east', vip, [`${pod.ip}:${port}`], { port });
  for (const { port } of many) {
    const done = await client().run(['curl', '-sS', '-m', '10', `http://${of('many')}:${port}`]);
    expect(done).toMatchObject({ code: 0, stdout: expect.stringContaining(`${pod.answer} `) });
    expect(done.stdout).toContain(`port=${port}\n`);
  }
});

test('T9 datagrams cross clusters, and none goes to a pod that was removed', async () => {
  const w = world();
  const pods = [w.pod('east', 'clock-0'), w.pod('west', 'clock-0'), w.pod('west', 'clock-1')];
  const vip = await w.programmed('east', 'clock');
  const at = (list: typeof pods) => list.map((pod) => `${pod.ip}:${time.targetPort}`);
  await w.leadsTo('east', vip, at(pods), { port: time.port, protocol: 'udp' });
  const plan = { host: of('clock'), port: time.port, protocol: 'UDP' } as const;
  const first = await startLoad(client(), { ...plan, requests: 1000 }).done;
  expect(first.requests).toBe(1000);
  expect(first.failed).toBeLessThanOrEqual(10);
  expect(Object.keys(first.answers)).toEqual(pods.map((pod) => pod.answer).sort());

  // One socket for all datagrams: the kernel remembers where they go. The pod itself stays and would answer.
  const flow = await Traffic.start(client(), { ...plan, oneSocket: true, concurrency: 1, timeoutMs: 2_000 });
  const answering = Object.keys(flow.recent().answers);
  expect(answering).toHaveLength(1);
  const gone = pods.find((pod) => pod.answer === answering[0]);
  const left = pods.filter((pod) => pod !== gone);
  gone?.cluster.objects.remove(`pods/shop.${gone.name}.yaml`);
  await w.leadsTo('east', vip, at(left), { port: time.port, protocol: 'udp' });
  await until(`the flow leaves ${gone?.answer}`, async () => {
    flow.recent();
    await flow.flows(20);
    expect(Object.keys(flow.recent().answers)).not.toContain(gone?.answer);
  });
  flow.recent();
  const after = await startLoad(client(), { ...plan, requests: 1000 }).done;
  await flow.flows(100);
  expect(after.failed).toBeLessThanOrEqual(10);
  expect(Object.keys(after.answers)).toEqual(left.map((pod) => pod.answer).sort());
  expect(Object.keys(flow.recent().answers)).not.toContain(gone?.answer);
  expect((await flow.stop()).failed).toBeLessThanOrEqual(10);
});

test('O6 host-network pods and processes on a node reach local and remote pods', async () => {
  const w = world();
  const vip = await w.programmed('east', 'shift');
  const pods = [w.pod('east', 'shift-0'), w.pod('west', 'shift-0')];
  for (const node of ['e1', 'e2']) {
    const { namespace } = w.cluster('east').node(node);
    // A host-network pod asks the cluster's dns, a process on the node has an address from somewhere.
    for (const host of [of('shift'), vip]) {
      const traffic = await Traffic.start(namespace, { host, port: 80 });
      await traffic.comesOnlyFrom(pods);
      await traffic.endsWithoutFailure();
    }
  }
});
