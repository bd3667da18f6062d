import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Endpoint, Group, Ir } from '../../model/ir.ts';
import { Renderer, render } from './render.ts';
import { backend, endpoint, frontend, ir, node, tcp, to, udp } from './sample-ir.ts';
import { tableName } from './schema.ts';
import { tableText } from './table.ts';
import { wantedTable } from './wanted-table.ts';

const options = { node: 'e1', cluster: 'east', hostAddresses: new Set(['172.18.1.1']) };
const nodes = [node('e1', ['10.10.1.0/24']), node('e2', ['10.10.2.0/24'], 'b')];
const store = 'composite/shop/store/tcp-80';

const shares = (state: Ir, key = '10.96.0.1 . tcp . 80') =>
  render(state, options)
    .ports.get(key)
    ?.shares.map((s) => `${s.to} x${s.slots}`);

const single = (groups: readonly Group[], policy: 'Even' | 'PreferLocal' = 'Even'): Ir =>
  ir({
    frontends: [frontend('gateway/shop/store', ['10.96.0.1'], [tcp(80, [to(store)])])],
    backends: [{ key: store, policy, groups }],
    nodes,
  });

const group = (endpoints: readonly Endpoint[], more: Partial<Group> = {}): Group => ({
  cluster: 'east',
  network: 'n1',
  region: 'eu',
  zone: 'a',
  priority: 0,
  weight: endpoints.length,
  endpoints,
  ...more,
});

test('the lowest priority that has an endpoint takes everything', () => {
  expect(
    shares(
      single([
        group([]),
        group([endpoint('10.10.2.1')], { priority: 2 }),
        group([endpoint('10.10.2.2')], { priority: 1 }),
      ]),
    ),
  ).toEqual(['10.10.2.2 . 8080 x1']);
});

test('group weights count as shares, endpoint weights within the group', () => {
  const far = group([endpoint('10.20.0.1')], { cluster: 'west', weight: 1 });
  const near = group([endpoint('10.10.1.1', 80, { weight: 2 }), endpoint('10.10.1.2', 80)], { weight: 3 });
  expect(shares(single([near, far]))).toEqual([
    '10.10.1.1 . 80 x2',
    '10.10.1.2 . 80 x1',
    '10.20.0.1 . 8080 x1',
  ]);
});

test('draining endpoints are used only where no healthy one exists in any group', () => {
  const draining = group([endpoint('10.10.1.1', 8080, { health: 'Draining' })], { weight: 0 });
  const healthy = group([endpoint('10.20.0.1')], { cluster: 'west', priority: 1 });
  expect(shares(single([draining, healthy]))).toEqual(['10.20.0.1 . 8080 x1']);
  expect(shares(single([draining]))).toEqual(['10.10.1.1 . 8080 x1']);
});

test('a group of weight 0 takes nothing', () => {
  expect(
    shares(single([group([endpoint('10.10.1.1')], { weight: 0 }), group([endpoint('10.10.2.1')])])),
  ).toEqual(['10.10.2.1 . 8080 x1']);
});

test('under PreferLocal the own zone takes the own share if it has its part of the endpoints', () => {
  const zones = (inA: number, inB: number, policy: 'Even' | 'PreferLocal' = 'PreferLocal'): Ir =>
    single(
      [
        group(Array.from({ length: inA }, (_, i) => endpoint(`10.10.1.${i + 1}`))),
        group(
          Array.from({ length: inB }, (_, i) => endpoint(`10.10.2.${i + 1}`)),
          { zone: 'b' },
        ),
        group([endpoint('10.20.0.1')], { cluster: 'west', weight: 2 }),
      ],
      policy,
    );
  expect(shares(zones(1, 1))).toEqual(['10.10.1.1 . 8080 x1', '10.20.0.1 . 8080 x1']);
  expect(shares(zones(1, 3))).toHaveLength(5);
  expect(shares(zones(1, 1, 'Even'))).toHaveLength(3);
});

test('a node that comes or goes renders again only what prefers a zone', () => {
  const preferring = single(
    [group([endpoint('10.10.1.1')]), group([endpoint('10.10.2.1')], { zone: 'b' })],
    'PreferLocal',
  );
  const even = backend('even', [endpoint('10.10.1.9')]);
  const state: Ir = {
    ...preferring,
    frontends: new Map([
      ...preferring.frontends,
      ['gateway/shop/even', frontend('gateway/shop/even', ['10.96.0.2'], [tcp(80, [to('even')])])],
    ]),
    backends: new Map([...preferring.backends, ['even', even]]),
  };
  const renderer = new Renderer(options);
  const before = renderer.render(state);
  expect(before.ports.get('10.96.0.1 . tcp . 80')?.shares).toHaveLength(1);
  const more = [...nodes, node('e3', []), node('e4', [])];
  const after = renderer.render({ ...state, nodes: new Map(more.map((n) => [n.name, n])) });
  expect(after.ports.get('10.96.0.1 . tcp . 80')?.shares).toHaveLength(2);
  expect(after.ports.get('10.96.0.2 . tcp . 80')).toBe(before.ports.get('10.96.0.2 . tcp . 80'));
  const reserved = more.map((n) =>
    n.name === 'e3' || n.name === 'e4' ? { ...n, reserved: true as const } : n,
  );
  const again = renderer.render({ ...state, nodes: new Map(reserved.map((n) => [n.name, n])) });
  expect(again.ports.get('10.96.0.1 . tcp . 80')?.shares).toHaveLength(1);
});

const place = fc.record({ zone: fc.constantFrom('', 'a', 'b', 'c'), count: fc.integer({ min: 1, max: 6 }) });

test('whatever the zones: every cluster has its share on every node, and load on endpoints stays in bounds', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(place, { minLength: 1, maxLength: 4, selector: (p) => p.zone }),
      fc.array(fc.constantFrom('', 'a', 'b', 'c'), { minLength: 1, maxLength: 8 }),
      fc.nat({ max: 5 }),
      (zones, nodeZones, remote) => {
        const groups = zones.map(({ zone, count }, z) =>
          group(
            Array.from({ length: count }, (_, i) => endpoint(`10.10.${z}.${i + 1}`, 80)),
            { zone },
          ),
        );
        const all = zones.reduce((sum, { count }) => sum + count, 0);
        const far = group([endpoint('10.20.0.1', 80), endpoint('10.20.0.2', 80)], {
          cluster: 'west',
          weight: remote,
        });
        const cluster = nodeZones.map((zone, i) => node(`n${i}`, [], zone));
        const state = {
          ...single([...groups, far], 'PreferLocal'),
          nodes: new Map(cluster.map((n) => [n.name, n])),
        };
        const load = new Map<string, number>();
        const shared = cluster.map(({ name }) => {
          const port = render(state, { node: name, cluster: 'east' }).ports.get('10.96.0.1 . tcp . 80');
          const shares = (port?.shares ?? []).map((s) => [s.to, s.slots / (port?.slots ?? 1)] as const);
          for (const [to, share] of shares) load.set(to, (load.get(to) ?? 0) + share);
          const own = shares.filter(([to]) => to.startsWith('10.10.'));
          const sum = own.reduce((total, [, share]) => total + share, 0);
          expect(sum).toBeCloseTo(all / (all + remote), 9);
          for (const [, share] of own) expect(share).toBeCloseTo(sum / own.length, 9);
          for (const [to, share] of shares)
            if (to.startsWith('10.20.')) expect(share).toBeCloseTo((1 - sum) / 2, 9);
          return own.length === all;
        });
        // 1: what an endpoint takes where nobody prefers anything.
        const even = cluster.length / (all + remote);
        const spread = shared.filter(Boolean).length / cluster.length;
        for (const [to, sum] of load) {
          if (to.startsWith('10.10.')) expect(sum / even).toBeLessThanOrEqual(1.2 + spread + 1e-9);
        }
      },
    ),
    { numRuns: 300 },
  );
});

test('weights are the product of route and group; a target without endpoints keeps its slots', () => {
  const state = ir({
    frontends: [
      frontend(
        'gateway/shop/store',
        ['10.96.0.1', 'fd00:96::1'],
        [tcp(80, [to(store, 3), to('none'), to(null, 0)])],
      ),
    ],
    backends: [backend(store, [endpoint('10.10.1.1')]), backend('none', [])],
    nodes,
  });
  expect(shares(state)).toEqual(['10.10.1.1 . 8080 x3', '192.0.0.8 . 1 x1']);
  expect(shares(state, 'fd00:96::1 . tcp . 80')).toEqual([]);
});

test('content that is on its way does not shrink what is programmed', () => {
  const renderer = new Renderer(options);
  const before = single([group([endpoint('10.10.1.1')])]);
  renderer.render(before);
  const gone = {
    ...before,
    backends: new Map([[store, { key: store, policy: 'Even' as const, groups: [], withheld: true }]]),
  };
  expect(renderer.render(gone).ports.get('10.96.0.1 . tcp . 80')?.slots).toBe(1);
  expect(render(gone, options).ports.get('10.96.0.1 . tcp . 80')?.slots).toBe(0);
});

test('only what changed is another object', () => {
  const renderer = new Renderer(options);
  const a = frontend('gateway/shop/a', ['10.96.0.1'], [tcp(80, [to('a')])]);
  const b = frontend('gateway/shop/b', ['10.96.0.2'], [tcp(80, [to('b')])]);
  const [ba, bb] = [backend('a', [endpoint('10.10.1.1')]), backend('b', [endpoint('10.10.1.2')])];
  const first = new Map(renderer.render(ir({ frontends: [a, b], backends: [ba, bb], nodes })).ports);
  const second = renderer.render(
    ir({ frontends: [a, b], backends: [ba, backend('b', [endpoint('10.10.1.3')])], nodes: [...nodes] }),
  );
  expect(second.ports.get('10.96.0.1 . tcp . 80')).toBe(first.get('10.96.0.1 . tcp . 80'));
  expect(second.ports.get('10.96.0.2 . tcp . 80')).not.toBe(first.get('10.96.0.2 . tcp . 80'));
  expect([...second.changed]).toEqual(['10.96.0.2 . tcp . 80']);
});

test('dataplane 22 endpoints that cannot be are refused by name, their neighbours are used', () => {
  const bad = [
    '::ffff:10.0.0.1',
    '0.0.0.0',
    '127.0.0.1',
    '169.254.1.1',
    '224.0.0.1',
    '255.255.255.255',
    '::1',
    'fe80::1%eth0',
    'ff02::1',
    '192.0.0.8',
    '100::8',
    '10.1',
    '010.0.0.1',
    '10.0.0.1 . 80 : 1.2.3.4',
    'example.com',
    '',
  ].map((address) => endpoint(address));
  const ports = [0, 65_536, -1, 1.5, Number.NaN].map((port) => endpoint('10.10.1.9', port));
  const weights = [0, -1, 0.5, 2 ** 33].map((weight) => endpoint('10.10.1.9', 8080, { weight }));
  for (const wrong of [...bad, ...ports, ...weights]) {
    const result = render(single([group([wrong, endpoint('10.10.1.1')])]), options);
    expect(result.refused.get(store), JSON.stringify(wrong)).toBeTruthy();
    expect(result.ports.get('10.96.0.1 . tcp . 80')?.shares.map((s) => s.to)).toEqual(['10.10.1.1 . 8080']);
  }
  const odd = render(
    single([group([endpoint('10.10.1.1')], { weight: -1 }), group([endpoint('10.10.1.2')])]),
    options,
  );
  expect(odd.refused.get(store)).toContain('group weight');
  expect(odd.ports.get('10.96.0.1 . tcp . 80')?.slots).toBe(1);
});

test('dataplane 22 a weight that is none takes nothing and is named', () => {
  for (const weight of [-1, 0.5, Number.NaN, 2 ** 40]) {
    const state = ir({
      frontends: [frontend('gateway/shop/store', ['10.96.0.1'], [tcp(80, [to(store, weight), to('b')])])],
      backends: [backend(store, [endpoint('10.10.1.1')]), backend('b', [endpoint('10.10.1.2')])],
      nodes,
    });
    expect(shares(state)).toEqual(['10.10.1.2 . 8080 x1']);
    expect(render(state, options).refused.get('gateway/shop/store')).toContain('expected a weight');
  }
});

test('dataplane 22 a VIP that is a pod’s, this node’s or no address is refused; others are programmed', () => {
  for (const vip of [
    '10.10.2.7',
    '172.18.1.1',
    '127.0.0.1',
    '::ffff:10.96.0.9',
    '192.0.0.8',
    'x',
    '10.96.0.9; flush ruleset',
  ]) {
    const bad = frontend('gateway/shop/bad', [vip], [tcp(80, [to(store)])]);
    const good = frontend('gateway/shop/good', ['10.96.0.1'], [tcp(80, [to(store)])]);
    const result = render(
      ir({ frontends: [bad, good], backends: [backend(store, [endpoint('10.10.1.1')])], nodes }),
      options,
    );
    expect([...result.refused.keys()]).toEqual(['gateway/shop/bad']);
    expect([...result.ports.keys()]).toEqual(['10.96.0.1 . tcp . 80']);
  }
});

test('dataplane 22 of two Gateways with one address the first by name has it, in any order', () => {
  const a = frontend('gateway/shop/a/tcp-80', ['10.96.0.1'], [tcp(80, [to(store)])]);
  const a2 = frontend('gateway/shop/a/tcp-81', ['10.96.0.1'], [tcp(81, [to(store)])]);
  const b = frontend('gateway/shop/b/tcp-82', ['10.96.0.1'], [tcp(82, [to(store)])]);
  for (const frontends of [
    [a, a2, b],
    [b, a2, a],
  ]) {
    const result = render(
      ir({ frontends, backends: [backend(store, [endpoint('10.10.1.1')])], nodes }),
      options,
    );
    expect([...result.ports.keys()].sort()).toEqual(['10.96.0.1 . tcp . 80', '10.96.0.1 . tcp . 81']);
    expect(result.refused).toEqual(
      new Map([['gateway/shop/b/tcp-82', '10.96.0.1 is the address of gateway/shop/a']]),
    );
  }
});

test('dataplane 22 names never appear in the text', () => {
  const evil = 'x"; flush ruleset; #';
  const state = ir({
    frontends: [frontend(`gateway/${evil}/n`, ['10.96.0.1'], [tcp(80, [to(evil)]), udp(53, [to(evil)])])],
    backends: [
      {
        key: evil,
        policy: 'Even',
        groups: [group([endpoint('10.10.1.1')], { cluster: evil, zone: evil, region: evil, network: evil })],
      },
    ],
    nodes: [node('e1', ['10.10.1.0/24'], evil), node(evil, ['10.10.9.0/24'])],
  });
  const text = tableText(wantedTable(render(state, options)), tableName);
  expect(text).toContain('10.96.0.1 . tcp . 80 : goto t4n1');
  for (const part of ['x"', '#', 'flush']) expect(text).not.toContain(part);
  expect(text).not.toContain('ruleset');
});

test('pod ranges that are wrong are named, those inside others are left out', () => {
  const state = ir({
    nodes: [node('e1', ['10.0.0.0/8', 'x/8']), node('e2', ['10.10.2.7/24', 'fd00::/64', 'fd00::/48'])],
  });
  const result = render(state, options);
  expect(result.pods).toEqual({ 4: ['10.0.0.0/8'], 6: ['fd00::/48'] });
  expect([...result.refused.keys()]).toEqual(['nodes/e1']);
});

test('only endpoints of this node need the hairpin set; all do where the node is not known', () => {
  const state = single([group([endpoint('10.10.1.1'), endpoint('10.10.2.1')])]);
  expect(render(state, options).ports.get('10.96.0.1 . tcp . 80')?.local).toEqual(['10.10.1.1']);
  expect(render(state, { ...options, node: 'e9' }).ports.get('10.96.0.1 . tcp . 80')?.local).toHaveLength(2);
});
