import { beforeEach, expect, test } from 'vitest';
import type { Export } from '../../model/compiled.ts';
import { formatKeptPeers, type KeptPeers, parseKeptPeers } from '../../sources/relay/kept-peers.ts';
import { identity, RelayMemoryBed } from './memory-bed.ts';
import { store, storePort } from './test-bed.ts';

let bed: RelayMemoryBed;
beforeEach(() => {
  bed = new RelayMemoryBed();
});

const shopPort = 'team-b/shop/tcp-80';
const fromApi = `${shopPort}/west:team-a:api`;

/** `team-a/api` of west. */
const api = (over: Partial<Export> = {}): Export =>
  store(['10.1.0.1'], { namespace: 'team-a', composite: 'api', ...over });
const toShopOf = (...names: string[]) => ({ to: [], as: { 'team-b/shop': [{ names }] } });

test('C4 a composite is offered to one of another name, in the cluster that export names, and to nobody else', async () => {
  const hub = bed.hub('east', 'west', 'north');
  const west = bed
    .publisher(identity('west'))
    .export(api(toShopOf('east')))
    .link(hub);
  bed.publisher(identity('east')).export().link(hub);
  bed.publisher(identity('north')).export().link(hub);
  await bed.settle();
  const ports = [shopPort, 'team-a/api/tcp-80', 'team-b/other/tcp-80'];
  const east = bed.consumer(identity('east'), ...ports).link(hub);
  const north = bed.consumer(identity('north'), ...ports).link(hub);
  await bed.settle();
  expect([...east.contributions.keys()]).toEqual([fromApi]);
  expect(east.contributions.get(fromApi)).toMatchObject({
    cluster: 'west',
    namespace: 'team-b',
    composite: 'shop',
    from: 'team-a/api',
  });
  expect([...east.imports.values()]).toEqual([true, true, true]);
  expect([...north.contributions.keys()]).toEqual([]);
  expect([...north.imports.values()]).toEqual([true, true, true]);
  // Neither the name nor an address, nor that west is there at all.
  const seen = Buffer.concat(north.bytes).toString('latin1');
  for (const secret of ['west', '10.1.0.1', 'team-a:api']) expect(seen, secret).not.toContain(secret);
  expect(hub.wire(identity('north'))).toEqual([]);

  // Withdrawn: it goes at once.
  west.export(api());
  await bed.settle();
  expect([...east.contributions.keys()]).toEqual(['team-a/api/tcp-80/west']);
  west.export(api({ ...toShopOf('east', 'north'), to: [{}] }));
  await bed.settle();
  expect([...north.contributions.keys()].sort()).toEqual(['team-a/api/tcp-80/west', fromApi]);
  west.export(api(toShopOf('north')));
  await bed.settle();
  expect([...east.contributions.keys()]).toEqual([]);
  expect([...north.contributions.keys()]).toEqual([fromApi]);
});

test('C4 a consumer is offered nothing under names that its certificate does not speak for', async () => {
  const hub = bed.hub('east', 'west', 'north');
  bed
    .publisher(identity('west'))
    .export(api({ as: { 'team-b/shop': [{}] } }))
    .link(hub);
  bed.publisher(identity('east')).export().link(hub);
  bed.publisher(identity('north')).export().link(hub);
  await bed.settle();
  const ports = [shopPort, 'team-a/api/tcp-80'];
  const only = (namespace: string, cluster: string) =>
    bed.consumer(identity(cluster, { namespaces: [namespace] }), ...ports).link(hub);
  const [east, north] = [only('team-b', 'east'), only('team-a', 'north')];
  await bed.settle();
  expect([...east.contributions.keys()]).toEqual([fromApi]);
  expect([...north.contributions.keys()]).toEqual(['team-a/api/tcp-80/west']);
});

test('C5 a cluster cannot offer what is in namespaces that its certificate does not speak for', async () => {
  const hub = bed.hub('east', 'west');
  const west = bed
    .publisher(identity('west', { namespaces: ['team-x'] }))
    .export(api(toShopOf('east')), api({ ...toShopOf('east'), namespace: 'team-x', composite: 'trap' }))
    .link(hub);
  bed.publisher(identity('east')).export().link(hub);
  await bed.settle();
  const east = bed.consumer(identity('east'), shopPort).link(hub);
  await bed.settle();
  // What it may offer is told with its own name: the consumer's import does not name that.
  expect([...east.contributions.keys()]).toEqual([`${shopPort}/west:team-x:trap`]);
  expect(west.refused.length).toBe(2);
  expect(await hub.refused('namespace')).toBe(2);
});

test('two composites of a cluster, and shards of each, are told apart', async () => {
  const hub = bed.hub('east', 'west');
  const many = Array.from({ length: 150 }, (_, i) => `10.1.1.${i}`);
  const west = bed
    .publisher(identity('west'))
    .export(store(many, { namespace: 'team-a', composite: 'api', ...toShopOf('east') }), shop(['10.1.2.1']))
    .link(hub);
  bed.publisher(identity('east')).export().link(hub);
  await bed.settle();
  const east = bed.consumer(identity('east'), shopPort).link(hub);
  await bed.settle();
  const counts = () =>
    Object.fromEntries([...east.contributions].map(([key, c]) => [key, c.endpoints.length]));
  expect(counts()).toEqual({ [`${shopPort}/west`]: 1, [fromApi]: 150 });
  west.export(store(many, { namespace: 'team-a', composite: 'api', ...toShopOf('east') }));
  await bed.settle();
  expect(counts()).toEqual({ [fromApi]: 150 });
  // A relay that has forgotten everything, and the consumer with it, takes nothing away on the way back.
  east.unlink();
  east.changes.length = 0;
  west.link(hub);
  east.link(hub);
  await bed.settle();
  expect(east.losses()).toEqual([]);
  east.source.setImports(new Set());
  expect(counts()).toEqual({});
});

test('what a composite of another name gave is kept over a restart, and withdrawn when that is told', async () => {
  const hub = bed.hub('east', 'west');
  const west = bed
    .publisher(identity('west'))
    .export(api(toShopOf('east')), shop(['10.1.2.1']))
    .link(hub);
  bed.publisher(identity('east')).export().link(hub);
  await bed.settle();
  const before = bed.consumer(identity('east'), shopPort).link(hub);
  await bed.settle();
  const file = formatKeptPeers(before.source.kept as KeptPeers);
  before.unlink();
  const kept = parseKeptPeers(file, { set: 'demo', cluster: 'east' });
  if (typeof kept === 'string') throw new Error(kept);
  const after = bed.restarted(identity('east'), { kept, contactUntil: bed.clock.now(), isLost: false });
  expect(after.contributions).toEqual(before.contributions);
  expect(after.contributions.has(fromApi)).toBe(true);
  west.export(shop(['10.1.2.1']));
  after.link(hub);
  await bed.settle();
  expect([...after.contributions.keys()]).toEqual([`${shopPort}/west`]);
});

const shop = (addresses: string[]) => store(addresses, { namespace: 'team-b', composite: 'shop' });

test('C6 what is exported to one cluster is not told to another, nor who may have it', async () => {
  const hub = bed.hub('east', 'west', 'north');
  const web = (to: Export['to']) => store(['10.1.0.7'], { composite: 'web', to });
  const west = bed
    .publisher(identity('west'))
    .export(web([{ names: ['east'] }]))
    .link(hub);
  bed
    .publisher(identity('east', { labels: { tier: 'gold' } }))
    .export()
    .link(hub);
  bed.publisher(identity('north')).export().link(hub);
  await bed.settle();
  const east = bed.consumer(identity('east', { labels: { tier: 'gold' } }), 'shop/web/tcp-80').link(hub);
  const north = bed.consumer(identity('north'), 'shop/web/tcp-80').link(hub);
  await bed.settle();
  expect(east.get('shop/web/tcp-80')).toEqual({ west: ['10.1.0.7'] });
  west.export(web([{ matchLabels: { tier: 'gold' } }]));
  await bed.settle();
  expect(east.get('shop/web/tcp-80')).toEqual({ west: ['10.1.0.7'] });
  expect(north.contributions.size).toBe(0);
  expect(north.imports.get('shop/web/tcp-80')).toBe(true);
  expect(north.origins.size).toBe(0);
  const seen = Buffer.concat(north.bytes).toString('latin1');
  for (const secret of ['10.1.0.7', 'gold', 'web/tcp-80/west']) expect(seen, secret).not.toContain(secret);
});

test('C6 who asks for what is not offered is told to the exporter, and to nobody else', async () => {
  const hub = bed.hub('east', 'west', 'north');
  const tell = async () => {
    await bed.settle();
    bed.clock.advance(1_000);
    await bed.settle();
  };
  const web = (to: Export['to']) => store(['10.1.0.7'], { composite: 'web', to });
  const west = bed
    .publisher(identity('west'))
    .export(web([{ names: ['east'] }]), api(toShopOf('east')))
    .link(hub);
  const [east, north] = [
    bed
      .publisher(identity('east'))
      .export(store(['10.2.0.1']))
      .link(hub),
    bed.publisher(identity('north')).export().link(hub),
  ];
  await bed.settle();
  const ports = ['shop/web/tcp-80', shopPort, 'shop/nothing/tcp-80'];
  bed.consumer(identity('east'), ...ports, storePort).link(hub);
  const asker = bed.consumer(identity('north'), ...ports, storePort).link(hub);
  await tell();
  const refused = [
    { cluster: 'north', port: 'shop/web/tcp-80', composite: 'shop/web' },
    { cluster: 'north', port: shopPort, composite: 'team-a/api' },
  ];
  expect(west.asked).toEqual(refused);
  expect([east.asked, north.asked]).toEqual([[], []]);
  // The asker sees what it would see if there were nothing.
  expect([...asker.contributions.keys()]).toEqual([`${storePort}/east`]);
  expect(Buffer.concat(asker.bytes).toString('latin1')).not.toContain('west');

  // What is offered under the same name, by another composite, is no refusal.
  west.export(web([{ names: ['east'] }]), api(toShopOf('east')), shop(['10.1.2.1']));
  await tell();
  expect(west.asked).toEqual(refused.slice(0, 1));
  west.export(web([{}]));
  await tell();
  expect(west.asked).toEqual([]);
  west.export(web([{ names: ['nobody'] }]));
  await tell();
  expect(west.asked.map(({ cluster }) => cluster)).toEqual(['east', 'north']);
  // A publisher that comes later is told as well; who does not ask any more is left out.
  asker.source.setImports(new Set());
  west.link(hub);
  await tell();
  expect(west.asked.map(({ cluster }) => cluster)).toEqual(['east']);
});
