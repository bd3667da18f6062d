import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { rcodes } from '../../src/wire/dns/codes.ts';
import type { Message } from '../../src/wire/dns/message.ts';
import { consumerOf, wholeOf } from './case-objects.ts';
import { caseWorld, Traffic, until } from './case-world.ts';
import { startCoreDns } from './dns-process.ts';
import { documentedStanza, kubernetesStanza } from './documented-corefile.ts';

const name = 'web.shop.gw.cluster.local';
const zone = 'gw.cluster.local';

/** dns is there before its controller, and what it answered then. */
const early: Message[] = [];

const world = caseWorld({
  clusters: { east: { nodes: ['e1', 'e2'], dataPlane: true }, west: { nodes: ['w1'] } },
  prepare: async (w) => {
    w.cluster('east').objects.write('web.yaml', ...wholeOf('web'));
    w.cluster('west').objects.write('web.yaml', ...wholeOf('web'));
    w.cluster('east').objects.write('cart.yaml', ...consumerOf('cart'));
    w.cluster('west').objects.write('cart.yaml', ...wholeOf('cart'));
    await Promise.all([
      w.addClient('east', 'e1'),
      w.addClient('east', 'e2'),
      w.addPods('east', 'coredns', ['e2'], { ports: [] }),
      w.addPods('west', 'web', ['w1', 'w1']),
      w.addPods('west', 'cart', ['w1']),
    ]);
  },
  start: async (w) => {
    w.supervisor.launch(await w.plane.dns(w.cluster('east')));
    const client = w.dns('east');
    await until('dns answers', async () => {
      early.push(await client.ask(name), await client.ask(name, { transport: 'tcp' }));
    });
    await Promise.all([w.startRelay(), w.startController('east'), w.startController('west')]);
    await w.supervisor.untilReady('east dns');
    await Promise.all(['e1', 'e2'].map((node) => w.startAgent('east', node)));
  },
});

test('N8 dns that knows nothing yet answers SERVFAIL, later NXDOMAIN and no data come with the SOA', async () => {
  expect(early.map(({ rcode }) => rcode)).toEqual([rcodes.SERVFAIL, rcodes.SERVFAIL]);
  const vip = await world().programmed('east', 'web');
  const client = world().dns('east');
  const soa = [{ name: zone, data: { type: 'SOA' } }];
  for (const transport of ['udp', 'tcp'] as const) {
    expect(await client.addresses(name, { transport })).toEqual([vip]);
    const unknown = await client.ask(`none.shop.${zone}`, { transport });
    expect(unknown).toMatchObject({ rcode: rcodes.NXDOMAIN, answers: [], authorities: soa });
    const otherFamily = await client.ask(name, { type: 'AAAA', transport });
    expect(otherFamily).toMatchObject({ rcode: rcodes.NOERROR, answers: [], authorities: soa });
  }
});

test('N1 pods move to another cluster: name and address stay, and no connection fails', async () => {
  const w = world();
  const [east, west] = [w.cluster('east'), w.cluster('west')];
  const before = await w.programmed('east', 'web');
  const old = ['web-0', 'web-1'].map((pod) => w.pod('west', pod));
  await w.leadsTo(
    'east',
    before,
    old.map((pod) => `${pod.ip}:8080`),
  );
  const traffic = await Traffic.start(w.pod('east', 'client-e1').host, { host: name, port: 80 });
  await traffic.comesOnlyFrom(old);

  const fresh = await w.addPods('east', 'web', ['e1', 'e2']);
  await traffic.comesOnlyFrom([...old, ...fresh]);
  for (const pod of old) pod.terminate();
  await traffic.comesOnlyFrom(fresh);
  for (const pod of old) await west.removePod(pod);
  await w.leadsTo(
    'east',
    before,
    fresh.map((pod) => `${pod.ip}:8080`),
  );
  expect(await w.dns('east').addresses(name)).toEqual([before]);
  expect(w.vip('east', 'web')).toBe(before);

  const back = await w.addPods('west', 'web', ['w1', 'w1']);
  await traffic.comesOnlyFrom([...fresh, ...back]);
  for (const pod of fresh) pod.terminate();
  await traffic.comesOnlyFrom(back);
  for (const pod of fresh) await east.removePod(pod);
  await traffic.endsWithoutFailure();
  expect(await w.dns('east').addresses(name)).toEqual([before]);
  expect(w.vip('east', 'web')).toBe(before);
});

test('N3 a pod that asks stock CoreDNS, set up as docs/dns.md says, reaches the VIP by its name', async () => {
  const w = world();
  const cart = `cart.shop.${zone}`;
  const vip = await w.programmed('east', 'cart');
  await w.leadsTo('east', vip, [`${w.pod('west', 'cart-0').ip}:8080`]);
  const own = { dns: w.cluster('east').plan.control.v4 };
  const others = { 'kubernetes.default.svc.cluster.local': '10.96.0.1' };
  const resolver = w.pod('east', 'coredns-0');
  const corefile = documentedStanza(zone, own) + kubernetesStanza(others);
  const coredns = await startCoreDns(corefile, resolver.host);
  const client = w.pod('east', 'client-e2').host;
  client.useResolver(resolver.ip);
  const resolve = async (asked: string): Promise<string | undefined> =>
    (await client.run(['getent', 'ahostsv4', asked])).stdout.split(/\s/, 1)[0];
  try {
    expect(await resolve(cart)).toBe(vip);
    expect(await resolve('kubernetes.default.svc.cluster.local')).toBe('10.96.0.1');
    const traffic = await Traffic.start(client, { host: cart, port: 80 });
    await traffic.comesOnlyFrom([w.pod('west', 'cart-0')]);
    await traffic.endsWithoutFailure();
  } finally {
    await coredns.stop();
  }
  // It was CoreDNS that the pod asked.
  expect(await resolve(cart)).toBe('');
});

test('N3 a cluster with a front end only reaches the pods of another one, and no Service is made', async () => {
  const w = world();
  const { objects } = w.cluster('east');
  const vip = await w.programmed('east', 'cart');
  expect(await w.dns('east').addresses('cart.shop.gw.cluster.local')).toEqual([vip]);
  const traffic = await Traffic.start(w.pod('east', 'client-e1').host, {
    host: 'cart.shop.gw.cluster.local',
    port: 80,
  });
  await traffic.comesOnlyFrom([w.pod('west', 'cart-0')]);
  await traffic.endsWithoutFailure();
  const inputs = await w.page('east controller', '/debug/inputs');
  expect(inputs).toContain('kind: Gateway');
  expect(inputs).not.toMatch(/^kind: (Service|EndpointSlice)$/m);
  // Nothing is written among the user's objects.
  expect(readdirSync(objects.dir).sort()).toEqual([
    'cart.yaml',
    'class.yaml',
    'namespaces',
    'nodes',
    'pods',
    'web.yaml',
  ]);
});
