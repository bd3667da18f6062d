import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Export } from '../../model/compiled.ts';
import type { RemoteEndpoint } from '../../model/inputs.ts';
import { decodeLinkFacts } from '../../model/relay/link-metadata.ts';
import { type ContributionName, parseRelayName } from '../../model/relay/names.ts';
import { renderExport } from '../../outputs/relay/render.ts';
import type { AssignmentMessage } from '../../wire/proto/messages.ts';
import { codec } from '../../wire/proto/registry.ts';
import { typeUrls } from '../../wire/proto/type-urls.ts';
import { toMetadata } from '../../wire/proto/typed-config.ts';
import { BadContent, decodeCluster, decodeShard } from './decode.ts';
import { LinkContents } from './link-contents.ts';

const octet = fc.integer({ min: 0, max: 255 });
const arbitraryEndpoint: fc.Arbitrary<RemoteEndpoint> = fc.record({
  addresses: fc
    .tuple(octet, octet, octet, fc.boolean())
    .map(([a, b, c, dual]) => [`10.${a}.${b}.${c}`, ...(dual ? [`fd00::${a + 1}:${b + 1}:${c + 1}`] : [])]),
  port: fc.integer({ min: 1, max: 65_535 }),
  zone: fc.constantFrom('', 'a', 'eu-west-1b'),
  health: fc.constantFrom('Healthy' as const, 'Draining' as const),
});
const keyOf = (e: RemoteEndpoint) => `${e.addresses.join(' ')} ${e.port}`;
const arbitraryExport: fc.Arbitrary<Export> = fc
  .record({
    protocol: fc.constantFrom('TCP' as const, 'UDP' as const),
    appProtocol: fc.constantFrom({}, { appProtocol: 'kubernetes.io/h2c' }),
    endpoints: fc.uniqueArray(arbitraryEndpoint, { maxLength: 300, selector: keyOf }),
  })
  .map(({ protocol, appProtocol, endpoints }) => ({
    ...appProtocol,
    namespace: 'shop',
    composite: 'store',
    protocol,
    port: 53,
    kinds: ['XEndpointSelector'],
    ready: endpoints.filter((e) => e.health === 'Healthy').length,
    selected: endpoints.length,
    endpoints: endpoints.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1)),
    to: [{}],
  }));

test('what is rendered is read back, in any order of its parts', () => {
  const from = { set: 'demo', cluster: 'west', network: 'n1' };
  fc.assert(
    fc.property(arbitraryExport, fc.infiniteStream(fc.nat()), (exported, order) => {
      const resources = [...renderExport(exported, from, 5)].sort(
        () => ((order.next().value as number) % 3) - 1,
      );
      const contents = new LinkContents();
      const port = `shop/store/${exported.protocol.toLowerCase()}-53`;
      for (const { name, version = '', typeUrl, body } of resources) {
        const told = { name, version, body };
        const parsed = parseRelayName(name) as ContributionName;
        expect(contents.contribution(port, 'west')).toBeUndefined();
        if (typeUrl === typeUrls.cluster) {
          const facts = decodeCluster(body, name);
          if (!(facts instanceof BadContent)) contents.setFacts(parsed, facts, told);
        } else {
          const shard = decodeShard(body, { name, cluster: 'west', limit: 100 });
          if (!(shard instanceof BadContent)) contents.setShard(parsed, shard, told);
        }
      }
      expect(contents.contribution(port, 'west')).toBeUndefined();
      contents.commit('west');
      const { to: _, kinds: __, ...rest } = exported;
      expect(contents.contribution(port, 'west')).toEqual({ cluster: 'west', ...rest });
      expect([...contents.told()].map((t) => t.name).sort()).toEqual(resources.map((r) => r.name).sort());
      for (const { name } of resources) contents.remove(parseRelayName(name) as ContributionName);
      expect([...contents.told()]).toEqual([]);
      expect(contents.contribution(port, 'west')).toEqual({ cluster: 'west', ...rest });
      contents.commit('west');
      expect(contents.contribution(port, 'west')).toBeUndefined();
    }),
    { numRuns: 50 },
  );
});

test('a peer that does not tell what is selected, or less than is ready, has selected what is ready', () => {
  const name = 'xdstp://demo/envoy.config.cluster.v3.Cluster/v1/shop/store/tcp-80/west';
  const told = (facts: Record<string, number>) =>
    decodeCluster(
      codec('envoy.config.cluster.v3.Cluster').encode({
        name,
        metadata: toMetadata({ shards: 1, ...facts }),
      }),
      name,
    );
  expect(told({ ready: 3 })).toEqual({ ready: 3, selected: 3, shards: 1 });
  expect(told({ ready: 3, selected: 1 })).toEqual({ ready: 3, selected: 3, shards: 1 });
  expect(told({ ready: 3, selected: 4 })).toEqual({ ready: 3, selected: 4, shards: 1 });
  expect(told({ selected: 4 })).toBeInstanceOf(BadContent);
  expect(told({ ready: 3, selected: -1 })).toBeInstanceOf(BadContent);
});

test('equal exports give equal bytes and versions; the policy is part of the version', () => {
  const from = { set: 'demo', cluster: 'west', network: 'n1' };
  const [exported] = fc.sample(arbitraryExport, { numRuns: 1, seed: 1 }) as [Export];
  const versions = (e: Export, mark: number) =>
    renderExport(e, from, mark).map((r) => `${r.name} ${r.version}`);
  expect(versions(structuredClone(exported), 9)).toEqual(versions(exported, 5));
  const narrower = versions({ ...exported, to: [{ names: ['east'] }] }, 5);
  for (const [i, version] of versions(exported, 5).entries()) expect(narrower[i]).not.toBe(version);
});

test('under another name the same is told to whom that is offered, and nothing else is', () => {
  const from = { set: 'demo', cluster: 'west', network: 'n1' };
  const [exported] = fc.sample(arbitraryExport, { numRuns: 1, seed: 1 }) as [Export];
  const only = { ...exported, to: [], as: { 'team-b/shop': [{ names: ['east'] }] } };
  const both = renderExport({ ...only, to: [{}] }, from, 5);
  const renamed = renderExport(only, from, 5);
  expect(renamed.map((r) => r.name)).toEqual(
    renderExport(exported, from, 5).map(
      (r) => `${r.name.replace('/shop/store/', '/team-b/shop/')}:shop:store`,
    ),
  );
  expect(both.filter((r) => r.name.includes('/team-b/'))).toEqual(renamed);
  for (const { metadata } of renamed) {
    expect(decodeLinkFacts(metadata)?.export).toEqual([{ clusters: { names: ['east'] } }]);
  }
});

const name = 'xdstp://demo/envoy.config.endpoint.v3.ClusterLoadAssignment/v1/shop/store/tcp-80/west';
const shardOf = (message: AssignmentMessage) =>
  decodeShard(codec('envoy.config.endpoint.v3.ClusterLoadAssignment').encode(message), {
    name,
    cluster: 'west',
    limit: 3,
  });
const one = (address: string, port_value = 80, additional: string[] = []): AssignmentMessage => ({
  cluster_name: name,
  endpoints: [
    {
      locality: { sub_zone: 'west' },
      lb_endpoints: [
        {
          endpoint: {
            address: { socket_address: { address, port_value } },
            additional_addresses: additional.map((a) => ({
              address: { socket_address: { address: a, port_value } },
            })),
          },
        },
      ],
    },
  ],
});

test('an assignment that is not what it may be is refused with what is wrong', () => {
  expect(shardOf(one('10.0.0.1'))).toEqual([
    { addresses: ['10.0.0.1'], port: 80, zone: '', health: 'Healthy' },
  ]);
  expect(shardOf(one('10.0.0.1', 80, ['fd00::1']))).toMatchObject([{ addresses: ['10.0.0.1', 'fd00::1'] }]);
  const four = one('10.0.0.1');
  four.endpoints?.push(...Array.from({ length: 3 }, () => one('10.0.0.2').endpoints?.[0] ?? {}));
  const wrong: [AssignmentMessage, RegExp][] = [
    [{ ...one('10.0.0.1'), cluster_name: 'other' }, /with the resource's name, found "other"/],
    [
      { cluster_name: name, endpoints: [{ locality: { sub_zone: 'east' } }] },
      /localities of west, found "east"/,
    ],
    [{ cluster_name: name, endpoints: [{}] }, /localities of west, found none/],
    [one('store.shop.svc'), /an address that traffic may go to, found "store.shop.svc"/],
    [one('127.0.0.1'), /found "127.0.0.1"/],
    [one(''), /found ""/],
    [one('10.0.0.1', 0), /one port/],
    [one('10.0.0.1', 80, ['10.0.0.2']), /at most one address of each family/],
    [four, /at most 3 endpoints/],
  ];
  for (const [message, error] of wrong) {
    expect((shardOf(message) as BadContent).message).toMatch(error);
  }
});

test('an application protocol that is none is refused', () => {
  const cluster = (appProtocol: string) =>
    decodeCluster(
      codec('envoy.config.cluster.v3.Cluster').encode({
        name,
        metadata: toMetadata({ appProtocol, ready: 0, selected: 0, shards: 1 }),
      }),
      name,
    );
  expect(cluster('kubernetes.io/h2c')).toMatchObject({ appProtocol: 'kubernetes.io/h2c' });
  for (const wrong of ['', 'two words', 'a\nb', 'x'.repeat(318), 'a/b/c']) {
    expect((cluster(wrong) as BadContent).message).toMatch(/an application protocol, found "/);
  }
});

test('any bytes are content or refused', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (body) => {
      decodeCluster(body, name);
      decodeShard(body, { name, cluster: 'west', limit: 3 });
    }),
  );
  expect(decodeCluster(Buffer.from('nonsense'), name)).toBeInstanceOf(BadContent);
});
