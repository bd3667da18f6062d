import { expect, test } from 'vitest';
import type { Backend, Frontend, Ir } from '../../model/ir.ts';
import { Zone } from '../../outputs/dns/zone.ts';
import { renderTable } from '../../outputs/nft/wanted-table.ts';
import { nodesName } from '../../outputs/xds/assignment.ts';
import { render } from '../../outputs/xds/render.ts';
import { AppError } from '../../runtime/errors.ts';
import { fuzz } from '../../runtime/fuzz-bed.ts';
import { DeltaClientStream } from '../../sources/xds/delta-client-stream.ts';
import { ResourceTables } from '../../sources/xds/resource-tables.ts';
import { encodeDeltaResponse } from '../../wire/proto/discovery.ts';
import { codec } from '../../wire/proto/registry.ts';
import { typeUrls } from '../../wire/proto/type-urls.ts';

const cases = 50_000;
const types = [typeUrls.cluster, typeUrls.assignment, typeUrls.listener, typeUrls.originStatus];

const frontend = (name: string, vips: readonly string[], protocol: 'TCP' | 'UDP'): Frontend => ({
  ...{ key: `gateway/shop/${name}`, generation: 2, names: [`${name}.shop.gw.cluster.local`], ttl: 5, vips },
  ports: [
    {
      ...{ protocol, port: 80, listeners: ['http'], appProtocol: 'http' },
      targets: [
        { backend: `composite/shop/${name}/tcp-80`, weight: 3 },
        { backend: null, weight: 1 },
      ],
    },
  ],
});
const backend = (name: string): Backend => ({
  ...{ key: `composite/shop/${name}/tcp-80`, policy: 'PreferLocal' },
  groups: ['east', 'west'].map((cluster, priority) => ({
    ...{ cluster, network: 'n1', region: 'eu', zone: 'a', priority, weight: 2 },
    endpoints: [1, 2, 3].map((i) => ({
      addresses: [`10.${priority}.0.${i}`, `fd00::${priority}:${i}`],
      ...{ port: 8080, health: 'Healthy' as const, weight: i },
    })),
  })),
});
const frontends = [
  frontend('store', ['10.96.0.7', 'fd00:96::7'], 'TCP'),
  frontend('echo', ['10.96.0.8'], 'UDP'),
];
const backends = ['store', 'echo'].map(backend);
const nodes = ['e1', 'e2'].map((name) => ({ name, zone: 'a', podCIDRs: ['10.10.1.0/24'] }));
const ir: Ir = {
  frontends: new Map(frontends.map((f) => [f.key, f])),
  backends: new Map(backends.map((b) => [b.key, b])),
  nodes: new Map(nodes.map((n) => [n.name, n])),
};

function seeds(): readonly Buffer[] {
  const resources = render(ir).flatMap(({ typeUrl, name, body }) =>
    body ? [{ typeUrl, name, version: '1', body }] : [],
  );
  const marker = codec('causeway.v1.OriginStatus').encode({ epoch: 1, synced: true });
  const status = {
    typeUrl: typeUrls.originStatus,
    name: 'xdstp://s/causeway.v1.OriginStatus/v1/east',
    version: '1',
  };
  return types.flatMap((typeUrl) => {
    const own = [...resources, { ...status, body: marker }].filter((r) => r.typeUrl === typeUrl);
    const removals = own.slice(1).map(({ name }) => name);
    return [
      encodeDeltaResponse({ typeUrl, nonce: '1', resources: own, removals: [] }),
      encodeDeltaResponse({ typeUrl, nonce: '2', resources: own.slice(0, 1), removals }),
      encodeDeltaResponse({ typeUrl, nonce: '3', resources: [], removals: [nodesName, 'barrier/1'] }),
    ];
  });
}

test(`${cases} frames of a server: each is taken, refused by name, or ends the stream; what is taken can be programmed`, async () => {
  const frames = seeds();
  let tables = new ResourceTables();
  let [taken, refused, ended] = [0, 0, 0];
  const connect = (): DeltaClientStream => {
    const stream = new DeltaClientStream({
      node: () => new Uint8Array(),
      apply: (update) => {
        const refusals = tables.apply(update);
        taken += update.upserts.length - refusals.length;
        refused += refusals.length;
        return refusals;
      },
    });
    for (const typeUrl of types) stream.subscribe(typeUrl, ['*']);
    stream.opened({ send: () => {}, fail: (error) => expect.fail(error.message) });
    return stream;
  };
  let stream = connect();
  let zone = new Zone({ zone: 'gw.cluster.local' });
  await fuzz(cases, async (random, i) => {
    const seed = random.pick(frames);
    const frame = random.chance(85) ? random.mutatedMessage(seed, random.pick(frames)) : seed;
    try {
      stream.receive(frame);
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'E_XDS_STREAM') throw error;
      ended += 1;
      stream.closed();
      stream = connect();
    }
    if (i % 200 > 0) return;
    await new Promise((resolve) => setImmediate(resolve));
    const { ir: told, touched } = tables.take();
    renderTable(told, { node: 'e1', cluster: 'east' });
    zone.update(
      [...touched.frontends].map((key) => [key, told.frontends.get(key)] as const),
      i,
    );
    if (i % 5_000 > 0) return;
    tables = new ResourceTables();
    zone = new Zone({ zone: 'gw.cluster.local' });
  });
  expect(taken).toBeGreaterThan(cases / 4);
  expect(refused).toBeGreaterThan(cases / 100);
  expect(ended).toBeGreaterThan(cases / 100);
}, 300_000);
