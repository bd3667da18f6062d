import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { startLoad } from '../../src/cli/playground/load-process.ts';
import { podObject } from '../../src/cli/playground/pod-objects.ts';
import { byCluster, matchesShares } from '../../src/cli/playground/proportions.ts';
import type { Protocol } from './case-objects.ts';
import { composite, frontEnd, gateway, providerOf, route, selector, wholeOf } from './case-objects.ts';
import { type CaseWorld, caseWorld, until } from './case-world.ts';

/** Seen from us-west, where the clients are: us-east is in its region, eu is not. */
const clusters = ['eu', 'us-east', 'us-west'] as const;
const nodeOf = { eu: 'e1', 'us-east': 'n1', 'us-west': 'w1' } as const;
type ClusterName = (typeof clusters)[number];

const http = { port: 80, targetPort: 8080 };
const datagrams = { port: 53, protocol: 'UDP' as const, targetPort: 5353 };
const preferLocal = { distribution: { policy: 'PreferLocal' } };
const ramp = { distribution: { policy: 'PreferLocal', localThresholdPercent: 50 } };
const ordered = { distribution: { policy: 'Ordered', order: clusters.map((name) => ({ names: [name] })) } };
const crowdSize = 30;

const world = caseWorld({
  clusters: {
    eu: { nodes: ['e1'], region: 'eu' },
    'us-east': { nodes: ['n1'], region: 'us' },
    'us-west': { nodes: ['w1', 'w2'], region: 'us', dataPlane: true },
  },
  prepare: async (w) => {
    for (const name of clusters) {
      const { objects } = w.cluster(name);
      const whole = name === 'us-west' ? wholeOf : providerOf;
      objects.write('ordered.yaml', ...whole('ordered', ordered));
      objects.write('local.yaml', ...whole('local', preferLocal));
      objects.write('ramp.yaml', composite('ramp', [http, datagrams], true, ramp), selector('ramp'));
      await w.addPods(name, 'ordered', [nodeOf[name], nodeOf[name]]);
      await w.addPods(name, 'local', [nodeOf[name]]);
      await addCrowd(w, name);
      setReady(w, name, name === 'us-west' ? 0 : crowdSize);
    }
    const { objects } = w.cluster('us-west');
    objects.write('front.yaml', ...frontEnd('ramp', [http, datagrams]));
    objects.write('stable.yaml', composite('stable', [http, datagrams], true), selector('stable'));
    objects.write('canary.yaml', gateway('canary', [http, datagrams]), ...[http, datagrams].map(canaryRoute));
    await w.addPods('us-west', 'stable', ['w2'], { ports: bothPorts });
    await Promise.all(['w1', 'w2'].map((node) => w.addClient('us-west', node)));
  },
});

const bothPorts = [
  { port: 8080, protocol: 'TCP' },
  { port: 5353, protocol: 'UDP' },
] as const;

/** Nine tenths to `stable`, one to `ramp`. */
function canaryRoute(port: { port: number; protocol?: Protocol }): object {
  const made = route('canary', port) as {
    spec: { rules: { backendRefs: { name: string; weight?: number }[] }[] };
  };
  const [ref] = made.spec.rules[0]?.backendRefs ?? [];
  if (!ref) throw new Error('a route has a back end');
  const backendRefs = [
    { ...ref, name: 'stable', weight: 90 },
    { ...ref, name: 'ramp', weight: 10 },
  ];
  return { ...made, spec: { ...made.spec, rules: [{ backendRefs }] } };
}

const crowdAddress = (w: CaseWorld, name: ClusterName, i: number): string =>
  w.cluster(name).plan.pod(1, 101 + i).v4;

/**
 * Thirty pods in one namespace: enough to answer as thirty would. Their addresses are translated to its own there, so
 * that a datagram is answered from where it was sent. (Without a rule that asks for it nothing is tracked.)
 */
async function addCrowd(w: CaseWorld, name: ClusterName): Promise<void> {
  const [pod] = await w.addPods(name, 'crowd', [nodeOf[name]], { ports: bothPorts });
  if (!pod) throw new Error('a pod is made');
  const addresses = Array.from({ length: crowdSize }, (_, i) => crowdAddress(w, name, i));
  const link = `p${pod.node.pods}`;
  await pod.node.namespace.ip(addresses.map((a) => `route add ${a} via ${pod.ip} dev ${link} onlink`));
  const table = `table ip crowd {
    chain nat { type nat hook prerouting priority -100; ip daddr { ${addresses.join(', ')} } dnat to ${pod.ip}; }
    chain tracked { type filter hook prerouting priority 0; ct state new accept; }
  }`;
  const done = await pod.run(['nft', table]);
  if (done.code !== 0) throw new Error(done.stderr);
}

/** All thirty are there, the first `ready` of them are ready. */
function setReady(w: CaseWorld, name: ClusterName, ready: number): void {
  const { objects } = w.cluster(name);
  for (let i = 0; i < crowdSize; i++) {
    objects.write(
      `ramp/${i}.yaml`,
      podObject({
        namespace: 'shop',
        name: `ramp-${i}`,
        uid: randomUUID(),
        node: nodeOf[name],
        labels: { app: 'ramp' },
        ports: bothPorts,
        ips: [crowdAddress(w, name, i)],
        hostIp: w.cluster(name).plan.node(1).v4,
        ready: i < ready,
        created: '2026-01-01T00:00:00Z',
      }),
    );
  }
}

interface To {
  readonly port?: number;
  readonly protocol?: 'tcp' | 'udp';
}

/** Every slot of every node's table: what each endpoint gets, exactly. `wanted` is by `<address>:<port>`. */
async function sharesAre(
  address: string,
  wanted: ReadonlyMap<string, number>,
  { port, protocol }: To = {},
): Promise<void> {
  const w = world();
  const sorted = [...wanted].filter(([, share]) => share > 0).sort(([a], [b]) => (a < b ? -1 : 1));
  for (const node of w.cluster('us-west').nodes.keys()) {
    await until(`the table of ${node} has the shares of ${address}`, async () => {
      const shares = await w.shares('us-west', node, address, port, protocol);
      expect([...shares.keys()]).toEqual(sorted.map(([to]) => to));
      for (const [to, share] of sorted) expect(shares.get(to), to).toBeCloseTo(share, 9);
    });
  }
}

/** An even part of `share` for each. */
const each = (of: readonly string[], share: number): [string, number][] =>
  of.map((to) => [to, share / of.length]);
const pods = (name: ClusterName, app: string): string[] =>
  [...world().cluster(name).pods.values()]
    .filter((p) => p.name.startsWith(`${app}-`))
    .map((p) => `${p.ip}:8080`);
const crowd = (name: ClusterName, ready: number, port = 8080): string[] =>
  Array.from({ length: ready }, (_, i) => `${crowdAddress(world(), name, i)}:${port}`);

/** The shares of clusters among real connections of a pod on each node; a right split fails once in a million. */
async function trafficIs(
  host: string,
  wanted: Readonly<Record<string, number>>,
  { port = 80, protocol = 'tcp' }: To = {},
): Promise<void> {
  for (const node of ['w1', 'w2']) {
    const client = world().pod('us-west', `client-${node}`).host;
    const plan = {
      host,
      port,
      protocol: protocol === 'udp' ? 'UDP' : 'TCP',
      requests: 1000,
      timeoutMs: 10_000,
    } as const;
    const { answers, errors } = await startLoad(client, plan).done;
    expect(errors).toEqual({});
    const counts = byCluster(answers);
    expect(matchesShares(counts, wanted), `${node}: ${JSON.stringify(counts)}`).toBe(true);
  }
}

test('L1 of thirty local pods k are ready: k/30 stay below fifteen, everything from fifteen on', async () => {
  const w = world();
  const vip = await w.programmed('us-west', 'ramp');
  for (let ready = 0; ready <= crowdSize; ready++) {
    setReady(w, 'us-west', ready);
    const local = ready < 15 ? ready / crowdSize : 1;
    const wanted = new Map([
      ...each(crowd('us-west', ready), local),
      ...each(crowd('us-east', crowdSize), 1 - local),
    ]);
    await sharesAre(vip, wanted);
    if ([0, 1, 7, 14, 15, 30].includes(ready))
      await trafficIs(vip, { 'us-west': local, 'us-east': 1 - local });
  }
}, 300_000);

test('L1 a tenth of a route to a composite that spills: each cluster has its part of the tenth, TCP and UDP', async () => {
  const w = world();
  const ready = 10;
  setReady(w, 'us-west', ready);
  const vip = await w.programmed('us-west', 'canary');
  const local = ready / crowdSize;
  for (const [protocol, port, target] of [
    ['tcp', 80, 8080],
    ['udp', 53, 5353],
  ] as const) {
    const wanted = new Map([
      ...each([`${w.pod('us-west', 'stable-0').ip}:${target}`], 0.9),
      ...each(crowd('us-west', ready, target), 0.1 * local),
      ...each(crowd('us-east', crowdSize, target), 0.1 * (1 - local)),
    ]);
    await sharesAre(vip, wanted, { port, protocol });
    await trafficIs(vip, { 'us-west': 0.9 + 0.1 * local, 'us-east': 0.1 * (1 - local) }, { port, protocol });
  }
});

test('L3 PreferLocal and nothing else: local pods, another cluster of the region when none is ready, and back', async () => {
  const w = world();
  const vip = await w.programmed('us-west', 'local');
  const local = w.pod('us-west', 'local-0');
  for (const ready of [true, false, true]) {
    local.setReady(ready);
    const taking = ready ? 'us-west' : 'us-east';
    await sharesAre(vip, new Map(each(pods(taking, 'local'), 1)));
    await trafficIs(vip, { [taking]: 1 });
  }
});

test('L2 in order eu, us-east, us-west: one after the other is killed, the next takes everything', async () => {
  const w = world();
  const vip = await w.programmed('us-west', 'ordered');
  for (const name of clusters) {
    await sharesAre(vip, new Map(each(pods(name, 'ordered'), 1)));
    await trafficIs(vip, { [name]: 1 });
    if (name === 'us-west') break;
    await w.supervisor.kill(`${name} controller`);
    for (const pod of w.cluster(name).pods.values()) await pod.stopEcho();
  }
});
