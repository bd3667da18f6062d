import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { relayAddress } from '../../src/cli/playground/control-plane.ts';
import { rcodes } from '../../src/wire/dns/codes.ts';
import { typeUrls } from '../../src/wire/proto/type-urls.ts';
import { XdsCapture } from './case-capture.ts';
import { wholeOf } from './case-objects.ts';
import { caseWorld, Traffic, until } from './case-world.ts';

const zone = 'gw.deva.example';
const name = `web.shop.${zone}`;
const zoneFlag = ['--zone', zone];

const world = caseWorld({
  clusters: { east: { nodes: ['e1'], dataPlane: true }, west: { nodes: ['w1'], dataPlane: true } },
  flags: { controller: zoneFlag, dns: zoneFlag },
  prepare: async (w) => {
    for (const cluster of ['east', 'west']) w.cluster(cluster).objects.write('web.yaml', ...wholeOf('web'));
    await Promise.all([
      w.addClient('east', 'e1'),
      w.addPods('east', 'web', ['e1']),
      w.addPods('west', 'web', ['w1']),
    ]);
  },
});

test('N6 names resolve in another zone, and nothing anywhere says cluster.local', async () => {
  const w = world();
  const vip = await w.programmed('east', 'web');
  expect(await w.dns('east').addresses(name)).toEqual([vip]);
  expect(await w.dns('east').addresses('web.shop.gw.cluster.local')).toBe(rcodes.REFUSED);
  const traffic = await Traffic.start(w.pod('east', 'client-e1').host, { host: name, port: 80 });
  await traffic.comesOnlyFrom([w.pod('east', 'web-0'), w.pod('west', 'web-0')]);
  await traffic.endsWithoutFailure();

  const texts = new Map<string, string>();
  for (const process of w.supervisor.names) {
    for (const page of ['/readyz', '/metrics', '/debug/inputs', '/debug/ir', '/debug/wanted'])
      texts.set(`${process} ${page}`, await w.page(process, page));
    texts.set(`${process} log`, w.supervisor.tail(process, 10_000).join('\n'));
  }
  for (const page of ['problems', 'nodes', 'claims', 'streams'])
    texts.set(`east controller ${page}`, await w.page('east controller', `/debug/${page}`));
  for (const [path, text] of filesBelow(w.cluster('east').stateDir)) texts.set(path, text);
  texts.set('nft', await nftTable());
  for (const [who, text] of await onTheWire()) texts.set(who, text);

  const hits = [...texts].filter(([, text]) => text.includes('cluster.local')).map(([where]) => where);
  expect(hits).toEqual([]);
  // The same search finds what is there.
  const found = [...texts].filter(([, text]) => text.includes(zone)).map(([where]) => where);
  expect(found).toEqual(expect.arrayContaining(['east dns /debug/wanted', 'xDS agent', 'xDS dns']));
});

async function nftTable(): Promise<string> {
  const { namespace } = world().cluster('east').node('e1');
  return (await namespace.run(['nft', 'list', 'ruleset'])).stdout;
}

/** What clients of each kind get from the controller, and a controller from the relay. */
async function onTheWire(): Promise<readonly (readonly [string, string])[]> {
  const w = world();
  const { listener, cluster, assignment, originStatus } = typeUrls;
  const all = Object.fromEntries([listener, cluster, assignment, originStatus].map((type) => [type, ['*']]));
  const controller = `${w.cluster('east').plan.control.v4}:18000`;
  const captures = await Promise.all(
    (['agent', 'dns'] as const).map(async (role) => {
      const tls = await w.plane.certificate('east', role, role === 'agent' ? { node: 'probe' } : {});
      return [
        `xDS ${role}`,
        new XdsCapture({ address: controller, tls, server: 'controller', names: all }),
      ] as const;
    }),
  );
  const globs = (type: string): [string, string[]] => [
    type,
    [`xdstp://demo/${type.split('/')[1]}/v1/shop/web/tcp-80/*`],
  ];
  const relay = new XdsCapture({
    address: relayAddress,
    tls: await w.plane.certificate('east', 'controller'),
    server: 'relay',
    names: Object.fromEntries([globs(cluster), globs(assignment)]),
  });
  try {
    await until('every client was told the Listener, and the controller what west offers', () => {
      for (const [who, capture] of captures) {
        expect(capture.failure, who).toBeUndefined();
        expect([...capture.sent.keys()], who).toContain('gateway/shop/web/tcp-80');
      }
      expect(relay.failure).toBeUndefined();
      expect([...relay.sent.keys()].filter((n) => n.endsWith('/west')).length).toBe(2);
    });
    return [
      ...captures.map(([who, capture]) => [who, capture.text] as const),
      ['relay', relay.text] as const,
    ];
  } finally {
    for (const [, capture] of captures) capture.close();
    relay.close();
  }
}

function filesBelow(folder: string): readonly (readonly [string, string])[] {
  const paths = (readdirSync(folder, { recursive: true }) as string[]).map((path) => join(folder, path));
  return paths.filter((path) => statSync(path).isFile()).map((path) => [path, readFileSync(path, 'utf8')]);
}
