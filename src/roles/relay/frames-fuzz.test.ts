import { expect, test } from 'vitest';
import { formatOriginName, parseRelayName } from '../../model/relay/names.ts';
import { encodeOriginStatus } from '../../model/relay/origin-status.ts';
import { renderExport } from '../../outputs/relay/render.ts';
import { AppError } from '../../runtime/errors.ts';
import { fuzz } from '../../runtime/fuzz-bed.ts';
import { encodeDeltaResponse } from '../../wire/proto/discovery.ts';
import { typeUrls } from '../../wire/proto/type-urls.ts';
import { addresses, identity, RelayMemoryBed } from './memory-bed.ts';
import { store } from './test-bed.ts';

const cases = 30_000;
const types = [typeUrls.cluster, typeUrls.assignment, typeUrls.originStatus];

function seeds(): readonly Buffer[] {
  const from = { set: 'demo', cluster: 'west', network: 'n1' };
  const exported = [
    store(addresses(3)),
    store(addresses(40), { composite: 'big', as: { 'team-b/api': [{}] } }),
  ];
  const body = encodeOriginStatus({ epoch: 5, sequence: 1, synced: true, counts: { Cluster: 2 }, sentAt: 9 });
  const status = { typeUrl: typeUrls.originStatus, name: formatOriginName(from), version: '1', body };
  const all = [...exported.flatMap((e) => renderExport(e, from, 7)), status];
  return types.flatMap((typeUrl) => {
    const own = all
      .filter((r) => r.typeUrl === typeUrl)
      .map((r) => ({ ...r, version: r.version ?? '', body: r.body }));
    return [
      encodeDeltaResponse({ typeUrl, nonce: '1', resources: own, removals: [] }),
      encodeDeltaResponse({ typeUrl, nonce: '2', resources: [], removals: own.map(({ name }) => name) }),
    ];
  });
}

test(`${cases} frames of a member: each is taken, refused by name, or ends its link; it never speaks for others`, async () => {
  const frames = seeds();
  const peer = identity('west', { namespaces: ['shop', 'team-*'] });
  const fresh = () => {
    const bed = new RelayMemoryBed();
    const hub = bed.hub('east', 'west');
    bed.publisher(identity('east')).export().link(hub);
    // Nobody is answered before the members were waited for.
    bed.clock.advance(16_000);
    const connection = { send: () => {}, fail: () => {} };
    return { hub, connection, origin: hub.hub.link(peer, 1, connection) };
  };
  let { hub, connection, origin } = fresh();
  let [ended, served] = [0, 0];
  await fuzz(cases, async (random, i) => {
    const seed = random.pick(frames);
    const frame = random.chance(85) ? random.mutatedMessage(seed, random.pick(frames)) : seed;
    try {
      origin.receive(connection, frame);
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'E_XDS_STREAM') throw error;
      ended += 1;
      hub.hub.unlink(origin, connection);
      origin = hub.hub.link(peer, 1, connection);
    }
    if (i % 300 > 0) return;
    await new Promise((resolve) => setImmediate(resolve));
    const told = hub.wire(identity('east'));
    served += told.length;
    for (const { name } of told) {
      const parsed = parseRelayName(name);
      if (parsed?.cluster !== 'west' || parsed.set !== 'demo') throw new Error(`it is served ${name}`);
      const namespace = parsed.kind === 'contribution' ? parsed.namespace : 'shop';
      if (namespace !== 'shop' && !namespace.startsWith('team-')) throw new Error(`it is served ${name}`);
    }
    const held = types.slice(0, 2).flatMap((typeUrl) => [...hub.hub.log.entries(typeUrl)]);
    const bytes = held.reduce((sum, { fragment }) => sum + fragment.length, 0);
    if (held.length > 50 || bytes > 200_000) throw new Error(`it holds ${held.length} names, ${bytes} bytes`);
    if (i % 6_000 === 0) ({ hub, connection, origin } = fresh());
  });
  expect(ended).toBeGreaterThan(cases / 100);
  expect(served).toBeGreaterThan(0);
  for (const reason of ['content', 'name']) expect(await hub.refused(reason), reason).toBeGreaterThan(0);
}, 300_000);

test('a member that says very many names are gone, and never that it has told everything, fills no memory', async () => {
  const bed = new RelayMemoryBed();
  const { hub } = bed.hub('west');
  const connection = { send: () => {}, fail: () => {} };
  const origin = hub.link(identity('west'), 1, connection);
  const [told, gone] = seeds() as [Buffer, Buffer];
  origin.receive(connection, told);
  const typeUrl = typeUrls.cluster;
  await fuzz(300, async (_, i) => {
    const removals = Array.from(
      { length: 1_000 },
      (_name, n) => `xdstp://demo/envoy.config.cluster.v3.Cluster/v1/shop/s${i}-${n}/tcp-80/west`,
    );
    origin.receive(connection, encodeDeltaResponse({ typeUrl, nonce: '3', resources: [], removals }));
    await new Promise((resolve) => setImmediate(resolve));
  });
  const held = () => origin.words.origins.get('west')?.usage.names;
  expect(held()).toBeGreaterThan(1);
  origin.receive(connection, gone);
  await expect.poll(held).toBe(0);
}, 120_000);
