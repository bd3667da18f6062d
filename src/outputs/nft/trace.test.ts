import { expect, test } from 'vitest';
import type { Ir } from '../../model/ir.ts';
import { parseTable } from './parse.ts';
import { render } from './render.ts';
import { backend, endpoint, frontend, ir, node, tcp, to, udp } from './sample-ir.ts';
import { tableName } from './schema.ts';
import { tableText } from './table.ts';
import { type TraceQuery, trace } from './trace.ts';
import { wantedTable } from './wanted-table.ts';

const state = (more: Partial<Ir> = {}): Ir => ({
  ...ir({
    frontends: [
      frontend(
        'gateway/shop/store',
        ['10.96.0.10', 'fd00:96::10'],
        [
          tcp(80, [to('a', 90), to('b', 10)]),
          tcp(81, [to('a', 1), to(null, 3)]),
          tcp(82, [to(null)]),
          udp(53, [to('a')]),
        ],
      ),
      frontend('service/shop/web', ['10.96.0.20'], [tcp(80, [to('b')])]),
    ],
    backends: [
      backend('a', [endpoint(['10.10.1.2', 'fd00:10::2']), endpoint('10.10.2.2', 9090)]),
      backend('b', [endpoint('10.20.0.2', 8080, { snat: true })]),
    ],
    nodes: [node('e1', ['10.10.1.0/24', 'fd00:10::/64']), node('e2', ['10.10.2.0/24'])],
  }),
  ...more,
});
const table = (of: Ir) => wantedTable(render(of, { node: 'e1', cluster: 'east' }));
const group = (cluster: string, zone: string) => ({
  cluster,
  network: 'n1',
  region: 'eu',
  zone,
  priority: 0,
});
const pod = { kind: 'pod', address: '10.10.1.3' } as const;
const ask = (from: TraceQuery['from'], address: string, port: number, protocol: 'tcp' | 'udp' = 'tcp') =>
  trace(table(state()), { from, to: { address, port, protocol }, hostAddresses: new Set(['172.18.1.1']) });

test('a canary: shares, ports, and whose source address is kept', () => {
  expect(ask(pod, '10.96.0.10', 80)).toEqual([
    { result: 'endpoint', address: '10.10.1.2', port: 8080, source: 'kept', share: expect.closeTo(0.45) },
    { result: 'endpoint', address: '10.10.2.2', port: 9090, source: 'kept', share: expect.closeTo(0.45) },
    {
      result: 'endpoint',
      address: '10.20.0.2',
      port: 8080,
      source: 'masqueraded',
      share: expect.closeTo(0.1),
    },
  ]);
});

test('a pod that reaches itself is masqueraded, its neighbour is not', () => {
  expect(ask({ kind: 'pod', address: '10.10.1.2' }, '10.96.0.10', 53, 'udp')).toEqual([
    expect.objectContaining({ address: '10.10.1.2', source: 'masqueraded', share: 0.5 }),
    expect.objectContaining({ address: '10.10.2.2', source: 'kept', share: 0.5 }),
  ]);
});

test('off-cluster clients and the host are masqueraded', () => {
  for (const from of [
    { kind: 'elsewhere', address: '192.168.0.9' },
    { kind: 'host', address: '172.18.1.1' },
  ] as const) {
    expect(ask(from, 'fd00:96::10', 53, 'udp')).toEqual([
      { result: 'endpoint', address: 'fd00:10::2', port: 8080, source: 'masqueraded', share: 1 },
    ]);
  }
});

test('a share that leads nowhere is rejected, and so are ports without endpoints and unused ports', () => {
  expect(ask(pod, '10.96.0.10', 81)).toContainEqual({ result: 'rejected', share: 0.75 });
  for (const from of [pod, { kind: 'host', address: '172.18.1.1' }] as const) {
    expect(ask(from, '10.96.0.10', 82)).toEqual([{ result: 'rejected', share: 1 }]);
    expect(ask(from, '10.96.0.10', 83)).toEqual([{ result: 'rejected', share: 1 }]);
    expect(ask(from, '10.96.0.10', 80, 'udp')).toEqual([{ result: 'rejected', share: 1 }]);
  }
});

test('other ports of a Service, and what is not ours, are left alone', () => {
  expect(ask(pod, '10.96.0.20', 81)).toEqual([{ result: 'untouched', share: 1 }]);
  expect(ask(pod, '10.10.2.2', 80)).toEqual([{ result: 'untouched', share: 1 }]);
  expect(ask(pod, '10.96.0.20', 80)).toEqual([expect.objectContaining({ address: '10.20.0.2', share: 1 })]);
});

test('dataplane 22 an endpoint that is a VIP leads nowhere: its share is rejected', () => {
  const looped = state();
  const backends = new Map([
    ...looped.backends,
    ['a', backend('a', [endpoint('10.10.2.2'), endpoint('10.96.0.10', 80)])],
  ]);
  const query = { from: pod, to: { address: '10.96.0.10', port: 53, protocol: 'udp' } } as const;
  expect(trace(table({ ...looped, backends }), query)).toEqual([
    expect.objectContaining({ address: '10.10.2.2', share: 0.5 }),
    { result: 'rejected', share: 0.5 },
  ]);
});

test('the own zone of a node: its endpoints take the whole share of the own cluster, the others keep theirs', () => {
  const near = endpoint('10.10.1.2');
  const groups = [
    { ...group('east', 'a'), endpoints: [near], weight: 1 },
    { ...group('east', 'b'), endpoints: [endpoint('10.10.2.2')], weight: 1 },
    { ...group('west', 'a'), endpoints: [endpoint('10.20.0.2')], weight: 2 },
  ];
  const query = { from: pod, to: { address: '10.96.0.20', port: 80, protocol: 'tcp' } } as const;
  const ends = (policy: 'Even' | 'PreferLocal', zones: readonly [string, string]) => {
    const nodes = [node('e1', ['10.10.1.0/24'], zones[0]), node('e2', ['10.10.2.0/24'], zones[1])];
    const changed = state({
      backends: new Map([['b', { key: 'b', policy, groups }]]),
      nodes: new Map(nodes.map((n) => [n.name, n])),
    });
    return trace(table(changed), query).map((end) => [
      end.result === 'endpoint' ? end.address : end.result,
      end.share,
    ]);
  };
  const spreadEvenly = [
    ['10.10.1.2', 0.25],
    ['10.10.2.2', 0.25],
    ['10.20.0.2', 0.5],
  ];
  expect(ends('PreferLocal', ['a', 'b'])).toEqual([
    ['10.10.1.2', 0.5],
    ['10.20.0.2', 0.5],
  ]);
  // All nodes are in one zone, which has half of the endpoints; no zone is known; another policy.
  expect(ends('PreferLocal', ['a', 'a'])).toEqual(spreadEvenly);
  expect(ends('PreferLocal', ['', 'b'])).toEqual(spreadEvenly);
  expect(ends('Even', ['a', 'b'])).toEqual(spreadEvenly);
});

test('a rule that we never write is named', () => {
  const edited = table(state());
  const chains = new Map([...edited.chains, ['disp', ['log prefix "x"']]]);
  const query = { from: pod, to: { address: '10.96.0.10', port: 80, protocol: 'tcp' } } as const;
  expect(() => trace({ ...edited, chains }, query)).toThrow('log prefix');
});

test('text as nft lists it parses back to the same table', () => {
  const wanted = table(state());
  expect(parseTable(tableText(wanted, tableName))).toEqual({ ...wanted, counters: new Map() });
});
