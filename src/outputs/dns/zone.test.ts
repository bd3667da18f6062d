import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Frontend } from '../../model/ir.ts';
import { nameKey, parseName } from '../../wire/dns/name.ts';
import { Zone } from './zone.ts';
import { formatZone } from './zone-text.ts';

const key = (text: string): string => nameKey(parseName(text) as Buffer);

function frontend(changes: Partial<Frontend> = {}): Frontend {
  return {
    key: 'gateway/shop/store/tcp-80',
    generation: 1,
    names: ['store.shop.gw.cluster.local'],
    ttl: 5,
    vips: ['10.96.0.7'],
    ports: [{ protocol: 'TCP', port: 80, listeners: ['http'], targets: [] }],
    ...changes,
  };
}

function zoneOf(...frontends: readonly Frontend[]): Zone {
  const zone = new Zone({ zone: 'gw.cluster.local' });
  zone.update(
    frontends.map((f) => [f.key, f] as const),
    7,
  );
  zone.complete();
  return zone;
}

test('the zone as text', () => {
  const zone = zoneOf(
    frontend({ vips: ['10.96.0.7', 'fd00:96::7'] }),
    frontend({
      key: 'gateway/shop/store/udp-53',
      vips: ['10.96.0.7', 'fd00:96::7'],
      ports: [{ protocol: 'UDP', port: 53, listeners: ['dns'], targets: [] }],
    }),
    frontend({ key: 'gateway/bank/new/tcp-1', names: ['new.bank.gw.cluster.local'], vips: [] }),
  );
  expect(formatZone(zone)).toBe(`$ORIGIN gw.cluster.local.
@ 5 IN SOA ns hostmaster 7 7200 1800 86400 5
@ 5 IN NS ns
; new.bank has no address yet
store.shop 5 IN A 10.96.0.7
store.shop 5 IN AAAA fd00:96::7
_http._tcp.store.shop 5 IN SRV 0 100 80 store.shop
_dns._udp.store.shop 5 IN SRV 0 100 53 store.shop
`);
});

test('front ends of one name are merged, and losing one leaves what the others give', () => {
  const http = frontend({ key: 'a' });
  const metrics = frontend({
    key: 'b',
    vips: ['10.96.0.7', 'fd00:96::7'],
    ports: [{ protocol: 'TCP', port: 9090, listeners: ['metrics'], targets: [] }],
  });
  const zone = zoneOf(http, metrics);
  expect(zone.update([['b', undefined]], 8)).toEqual({ added: 0, changed: 1, removed: 1, skipped: [] });
  expect(formatZone(zone)).toBe(formatZone(zoneOf(http)).replace(' 7 7200', ' 8 7200'));
  expect(zone.update([['a', undefined]], 9)).toMatchObject({ changed: 0, removed: 2 });
  expect(zone.size).toBe(0);
  expect(zone.lookup(key('shop.gw.cluster.local'))).toBeUndefined();
  expect(zone.lookup(key('gw.cluster.local'))).toBeDefined();
});

test('a front end that did not change changes nothing, its serial neither', () => {
  const zone = zoneOf(frontend());
  const targets = [{ backend: 'selector/shop/store/tcp-8080', weight: 1 }];
  const rerouted = frontend({
    generation: 2,
    ports: [{ protocol: 'TCP', port: 80, listeners: ['http'], targets }],
  });
  expect(zone.update([[rerouted.key, rerouted]], 8)).toEqual({
    added: 0,
    changed: 0,
    removed: 0,
    skipped: [],
  });
  expect(zone.serial).toBe(7);
});

test('names of other zones, and names, listeners and addresses without a form in DNS, are skipped and said', () => {
  const zone = new Zone({ zone: 'gw.cluster.local' });
  const long = 'l'.repeat(63);
  const odd = frontend({
    names: [
      'store.shop.gw.cluster.local',
      'store.shop.svc.cluster.local',
      'a..gw.cluster.local',
      'xgw.cluster.local',
    ],
    vips: ['10.96.0.7', 'not an address'],
    ttl: Number.NaN,
    ports: [
      { protocol: 'TCP', port: 80, listeners: ['http', 'dotted.name', long], targets: [] },
      { protocol: 'TCP', port: 70_000, listeners: ['far'], targets: [] },
    ],
  });
  const { skipped } = zone.update([[odd.key, odd]], 1);
  expect(skipped).toEqual([
    'not an address',
    '_dotted.name._tcp.store.shop.gw.cluster.local',
    `_${long}._tcp.store.shop.gw.cluster.local`,
    'store.shop.gw.cluster.local:70000',
    'store.shop.svc.cluster.local',
    'a..gw.cluster.local',
    'xgw.cluster.local',
  ]);
  expect(formatZone(zone)).toContain('store.shop 0 IN A 10.96.0.7\n_http._tcp.store.shop 0 IN SRV');
  expect(zone.size).toBe(2);
});

test('a zone that is no domain name is a usage error', () => {
  for (const zone of ['gw..local', 'a'.repeat(64), `${'a.'.repeat(124)}local`]) {
    expect(() => new Zone({ zone })).toThrow('--zone: expected a domain name');
  }
  expect(new Zone({ zone: 'GW.Deva.Example.' }).name).toBe('gw.deva.example');
});

const labels = ['a', 'b', '_http', '_tcp', 'ns'];
const name = fc
  .array(fc.constantFrom(...labels), { minLength: 0, maxLength: 3 })
  .map((l) => [...l, 'gw.cluster.local'].join('.'));
const arbitraryFrontend = fc.record({
  key: fc.constantFrom('k1', 'k2', 'k3', 'k4'),
  generation: fc.constant(1),
  names: fc.uniqueArray(name, { maxLength: 2 }),
  ttl: fc.constantFrom(5, 30),
  vips: fc.subarray(['10.96.0.1', '10.96.0.2', 'fd00:96::1']),
  ports: fc.array(
    fc.record({
      protocol: fc.constantFrom('TCP' as const, 'UDP' as const),
      port: fc.constantFrom(80, 443),
      listeners: fc.subarray(['http', 'https']),
      targets: fc.constant([]),
    }),
    { maxLength: 2 },
  ),
});
/** A few front ends that come and go, so that the same one comes back. */
const history = fc
  .tuple(
    fc.array(arbitraryFrontend, { minLength: 1, maxLength: 5 }),
    fc.array(fc.array(fc.tuple(fc.nat(), fc.boolean()), { maxLength: 4 }), { maxLength: 10 }),
  )
  .map(([pool, batches]) =>
    batches.map((batch) =>
      batch.map(([pick, comes]): readonly [string, Frontend | undefined] => {
        const f = pool[pick % pool.length] as Frontend;
        return [f.key, comes ? f : undefined];
      }),
    ),
  );

/** Keys of the names that any of these could make, to compare which exist. */
const universe: readonly string[] = (() => {
  const all = [...labels, '_https', '_udp'];
  const level = (depth: number): string[] =>
    depth === 0 ? ['gw.cluster.local'] : level(depth - 1).flatMap((n) => all.map((l) => `${l}.${n}`));
  return [1, 2, 3, 4].flatMap(level).map(key);
})();

/** Undefined: the name does not exist. */
const answers = (zone: Zone, name: string): string | undefined =>
  zone
    .lookup(name)
    ?.sets.map((s) => s.bytes.toString('hex'))
    .join();

test('updated step by step, in any batches and order, equals made from scratch', () => {
  fc.assert(
    fc.property(history, (batches) => {
      const zone = new Zone({ zone: 'gw.cluster.local' });
      const wanted = new Map<string, Frontend>();
      for (const [i, batch] of batches.entries()) {
        zone.update(batch, i + 1);
        for (const [k, f] of batch) f ? wanted.set(k, f) : wanted.delete(k);
      }
      const scratch = new Zone({ zone: 'gw.cluster.local' });
      scratch.update([...wanted].reverse(), zone.serial);
      expect(formatZone(zone).replace(/SOA.*/, '')).toBe(formatZone(scratch).replace(/SOA.*/, ''));
      expect(universe.filter((n) => answers(zone, n) !== answers(scratch, n))).toEqual([]);
    }),
    { numRuns: 100 },
  );
});
