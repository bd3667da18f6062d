import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { relayAddress } from '../../src/cli/playground/control-plane.ts';
import { startLoad } from '../../src/cli/playground/load-process.ts';
import { typeUrls } from '../../src/wire/proto/type-urls.ts';
import { XdsCapture } from './case-capture.ts';
import { consumerOf, providerOf, wholeOf } from './case-objects.ts';
import { caseWorld, Traffic, until } from './case-world.ts';

/** Who may take part in a name: both sides say so. */

/** As another team in namespace `titi` would have written it. */
const ofTiti = (objects: readonly object[]): readonly object[] =>
  objects.map((object) => ({
    ...object,
    metadata: { ...(object as { metadata: object }).metadata, namespace: 'titi' },
  }));
const api = (spec: Readonly<Record<string, unknown>>): readonly object[] => ofTiti(providerOf('api', spec));
/** `front` of east takes `api` of west's namespace `titi`, and nothing else. */
const takesApi = {
  import: { from: [{ clusters: { names: ['west'] }, namespace: 'titi', name: 'api' }] },
};
const grant = { export: { to: [{ clusters: { names: ['east'] }, namespace: 'shop', name: 'front' }] } };
const from = (...names: string[]) => ({ import: { from: [{ clusters: { names } }] } });
const to = (...names: string[]) => ({ export: { to: [{ clusters: { names } }] } });
const toProd = { export: { to: [{ clusters: { matchLabels: { env: 'prod' } } }] } };

const world = caseWorld({
  clusters: {
    east: { nodes: ['e1'], dataPlane: true, labels: { env: 'prod' } },
    west: { nodes: ['w1'] },
    north: { nodes: ['n1'], dataPlane: true },
  },
  prepare: async (w) => {
    const [east, west, north] = [w.cluster('east'), w.cluster('west'), w.cluster('north')];
    west.addNamespace('titi');
    // C4
    east.objects.write('front.yaml', ...consumerOf('front', takesApi));
    north.objects.write('front.yaml', ...consumerOf('front', takesApi));
    west.objects.write('api.yaml', ...api({}));
    // C5
    east.objects.write('web.yaml', ...wholeOf('web', from('west')));
    for (const cluster of [west, north]) cluster.objects.write('web.yaml', ...providerOf('web'));
    // C6
    west.objects.write('solo.yaml', ...providerOf('solo', to('east')));
    west.objects.write('gold.yaml', ...providerOf('gold', toProd));
    for (const cluster of [east, north]) {
      cluster.objects.write('solo.yaml', ...consumerOf('solo', from('west')));
      cluster.objects.write('gold.yaml', ...consumerOf('gold', from('west')));
    }
    await Promise.all([
      w.addClient('east', 'e1'),
      w.addClient('north', 'n1'),
      w.addPods('west', 'api', ['w1', 'w1'], { namespace: 'titi' }),
      w.addPods('east', 'web', ['e1']),
      w.addPods('west', 'web', ['w1']),
      w.addPods('north', 'web', ['n1']),
      w.addPods('west', 'solo', ['w1']),
      w.addPods('west', 'gold', ['w1']),
    ]);
  },
});

const standing = (cluster: string, name: string, of: string, wanted: string): Promise<void> =>
  until(`${of} is ${wanted} for ${name} of ${cluster}`, () =>
    expect(world().standing(cluster, name, of)).toBe(wanted),
  );
const podsOf = (cluster: string, app: string) =>
  [...world().cluster(cluster).pods.values()].filter((pod) => pod.name.startsWith(`${app}-`));
const at = (...pods: ReturnType<typeof podsOf>) => pods.map((pod) => `${pod.ip}:8080`);
const client = (cluster: string, node: string) => world().pod(cluster, `client-${node}`).host;

/** Real connections to the address are refused. */
async function refuses(cluster: string, node: string, name: string): Promise<void> {
  const w = world();
  const vip = await w.programmed(cluster, name);
  await w.leadsTo(cluster, vip, ['rejected']);
  const plan = { host: vip, port: 80, protocol: 'TCP', requests: 5, timeoutMs: 5_000 } as const;
  const { answers, errors } = await startLoad(client(cluster, node), plan).done;
  expect(answers).toEqual({});
  expect(errors).toEqual({ ECONNREFUSED: 5 });
}

/** A controller of `cluster` that asks the relay for everything there could be. */
async function capture(cluster: string, labels: Readonly<Record<string, string>> = {}): Promise<XdsCapture> {
  const globs = (type: string): string[] =>
    ['shop/front', 'shop/gold', 'shop/solo', 'shop/web', 'titi/api'].map(
      (name) => `xdstp://demo/${type.split('/')[1]}/v1/${name}/tcp-80/*`,
    );
  return new XdsCapture({
    address: relayAddress,
    tls: await world().plane.certificate(cluster, 'controller', { network: 'n1', labels }),
    server: 'relay',
    names: {
      [typeUrls.cluster]: [...globs(typeUrls.cluster), '*'],
      [typeUrls.assignment]: [...globs(typeUrls.assignment), '*'],
      [typeUrls.originStatus]: ['xdstp://demo/causeway.v1.OriginStatus/v1/*', '*'],
    },
  });
}

test('C4 names that differ are joined when both sides name each other, and parted by either', async () => {
  const w = world();
  const all = podsOf('west', 'api');
  const write = (cluster: string, file: string, objects: readonly object[]) =>
    w.cluster(cluster).objects.write(file, ...objects);

  // The consumer alone is not enough: what is not granted looks as what is not there.
  await standing('east', 'front', 'west', 'NotOffered NotOffered');
  await refuses('east', 'e1', 'front');

  write('west', 'api.yaml', api(grant));
  const vip = await w.programmed('east', 'front');
  await w.leadsTo('east', vip, at(...all));
  await standing('east', 'front', 'west', 'Synced Synced');
  const traffic = await Traffic.start(client('east', 'e1'), { host: vip, port: 80 });
  await traffic.comesOnlyFrom(all);
  await traffic.endsWithoutFailure();
  // Nobody else has it, though it asks for the same.
  await standing('north', 'front', 'west', 'NotOffered NotOffered');
  await refuses('north', 'n1', 'front');

  // The exporter alone is not enough: the same offer, without an import that names it.
  const front = (spec: Readonly<Record<string, unknown>>) => consumerOf('front', spec);
  write('east', 'front.yaml', front({}));
  await standing('east', 'front', 'west', 'Refused NotImported');
  await refuses('east', 'e1', 'front');
  write('east', 'front.yaml', front(from('west')));
  await standing('east', 'front', 'west', 'Refused NotImported');
  write('east', 'front.yaml', front(takesApi));
  await w.leadsTo('east', vip, at(...all));

  // Another composite of the same cluster may not use the grant.
  write('east', 'other.yaml', consumerOf('other', takesApi));
  await standing('east', 'other', 'west', 'NotOffered NotOffered');
  await refuses('east', 'e1', 'other');

  write('west', 'api.yaml', api(to('north')));
  await standing('east', 'front', 'west', 'NotOffered NotOffered');
  await refuses('east', 'e1', 'front');
});

test('C5 a cluster that is not imported gives nothing to a name, whatever it exports', async () => {
  const w = world();
  const vip = await w.programmed('east', 'web');
  await standing('east', 'web', 'west', 'Synced Synced');
  await standing('east', 'web', 'north', 'Refused NotImported');
  await w.leadsTo('east', vip, at(...podsOf('east', 'web'), ...podsOf('west', 'web')));
  const traffic = await Traffic.start(client('east', 'e1'), { host: vip, port: 80 });
  await traffic.comesOnlyFrom([...podsOf('east', 'web'), ...podsOf('west', 'web')]);
  await traffic.endsWithoutFailure();
  for (const { ip } of podsOf('north', 'web'))
    expect(await w.page('east controller', '/debug/ir')).not.toContain(ip);

  // Nor by another name of its own, which it offers under this one.
  const trap = { export: { to: [{ name: 'web' }] } };
  w.cluster('north').objects.write('trap.yaml', ...providerOf('trap', trap));
  await w.addPods('north', 'trap', ['n1']);
  await until('the offer has come', () => {
    const status = w.status('east', 'CompositeBackend', 'web').clusters?.find((c) => c.name === 'north');
    expect(status).toMatchObject({ state: 'Refused', message: expect.stringContaining('shop/trap') });
  });
  await w.leadsTo('east', vip, at(...podsOf('east', 'web'), ...podsOf('west', 'web')));
});

test('C6 what is exported to one cluster resolves there; another is refused, and its wire has nothing of it', async () => {
  const w = world();
  const vip = await w.programmed('east', 'solo');
  await standing('east', 'solo', 'west', 'Synced Synced');
  await w.leadsTo('east', vip, at(...podsOf('west', 'solo')));
  const traffic = await Traffic.start(client('east', 'e1'), { host: vip, port: 80 });
  await traffic.comesOnlyFrom(podsOf('west', 'solo'));
  await traffic.endsWithoutFailure();

  await standing('north', 'solo', 'west', 'NotOffered NotOffered');
  await refuses('north', 'n1', 'solo');
  // The exporter sees who asks in vain; the others see nothing of that.
  await until('the exporter knows', async () => {
    const asked = parse(await w.page('west controller', '/debug/refused')) as readonly object[];
    expect(asked).toContainEqual({ cluster: 'north', port: 'shop/solo/tcp-80', composite: 'shop/solo' });
  });
  expect(await w.metric('west controller', 'refused_subscribers', { cluster: 'north' })).toBeGreaterThan(0);
  expect(await w.page('north controller', '/debug/refused')).not.toContain('solo');
  w.cluster('west').objects.write('api.yaml', ...api(grant));
  await standing('east', 'front', 'west', 'Synced Synced');
  const [east, north] = [await capture('east'), await capture('north')];
  try {
    const secrets = [...podsOf('west', 'solo'), ...podsOf('west', 'api')].map((pod) => pod.ip);
    await until('everything is answered', () => {
      for (const secret of secrets) expect(east.text).toContain(secret);
      expect([...north.answered].filter((name) => name.includes('/tcp-80/')).length).toBeGreaterThanOrEqual(
        10,
      );
      // What it may have did come.
      expect(north.text).toContain(podsOf('west', 'web')[0]?.ip);
    });
    for (const secret of [...secrets, 'titi:api', '/solo/tcp-80/west', '/front/tcp-80/west'])
      expect(north.text, secret).not.toContain(secret);
    // Revoked: it leaves at once.
    w.cluster('west').objects.write('solo.yaml', ...providerOf('solo', to()));
    await standing('east', 'solo', 'west', 'NotOffered NotOffered');
    await refuses('east', 'e1', 'solo');
  } finally {
    east.close();
    north.close();
  }
});

test('C6 export by labels: what the certificate says lets a cluster in, and nothing else does', async () => {
  const w = world();
  const ip = podsOf('west', 'gold')[0]?.ip as string;
  const vip = await w.programmed('east', 'gold');
  await standing('east', 'gold', 'west', 'Synced Synced');
  await w.leadsTo('east', vip, [`${ip}:8080`]);
  const traffic = await Traffic.start(client('east', 'e1'), { host: vip, port: 80 });
  const [without, with_] = [await capture('north'), await capture('north', { env: 'prod' })];
  try {
    await standing('north', 'gold', 'west', 'NotOffered NotOffered');
    await refuses('north', 'n1', 'gold');
    await until('everything is answered', () => {
      expect(with_.text).toContain(ip);
      expect([...without.answered].filter((name) => name.includes('/shop/gold/'))).toHaveLength(2);
    });
    for (const secret of [ip, '/gold/tcp-80/west', 'matchLabels'])
      expect(without.text, secret).not.toContain(secret);

    // The same process, with a certificate that says the label.
    await w.plane.renew('north controller', { labels: { env: 'prod' } });
    await standing('north', 'gold', 'west', 'Synced Synced');
    await w.leadsTo('north', await w.programmed('north', 'gold'), [`${ip}:8080`]);
    // And one without it again, the one that says it being revoked: the offer leaves at once.
    const { serial } = w.plane.certificateOf('north controller');
    await w.plane.renew('north controller');
    w.plane.setMembers(w.network.clusters.keys(), [{ serial }]);
    await standing('north', 'gold', 'west', 'NotOffered NotOffered');
    await refuses('north', 'n1', 'gold');

    // The exporter takes it back from who has the label.
    w.cluster('west').objects.write('gold.yaml', ...providerOf('gold', to()));
    await traffic.stop();
    await standing('east', 'gold', 'west', 'NotOffered NotOffered');
    await refuses('east', 'e1', 'gold');
  } finally {
    without.close();
    with_.close();
    w.plane.setMembers(w.network.clusters.keys());
  }
});
