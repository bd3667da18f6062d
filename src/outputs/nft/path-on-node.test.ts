import { expect, test } from 'vitest';
import { pathOnNode } from './path-on-node.ts';
import { render } from './render.ts';
import { backend, endpoint, frontend, ir, node, tcp, to } from './sample-ir.ts';
import { wantedTable } from './wanted-table.ts';

const state = (...addresses: readonly string[]) =>
  ir({
    frontends: [frontend('gateway/shop/store', ['10.96.0.10', 'fd00:96::10'], [tcp(80, [to('a')])])],
    backends: [
      backend(
        'a',
        addresses.map((address) => endpoint([address, 'fd00:10::2'])),
      ),
    ],
    nodes: [node('e1', ['10.10.1.0/24'])],
  });
const where = { node: 'e1', cluster: 'east' };
const query = { ...where, to: { address: '10.96.0.10', port: 80, protocol: 'tcp' } } as const;

test('what a node is told and what its kernel lists are the same, or what differs is named', () => {
  const told = state('10.10.1.2', '10.10.1.3');
  const holds = (...addresses: readonly string[]) => wantedTable(render(state(...addresses), where));
  expect(pathOnNode(told, holds('10.10.1.2', '10.10.1.3'), query)).toMatchObject({
    wanted: ['10.10.1.2:8080', '10.10.1.3:8080'],
    missing: [],
    extra: [],
  });
  expect(pathOnNode(told, holds('10.10.1.3', '10.10.1.4'), query)).toMatchObject({
    missing: ['10.10.1.2:8080'],
    extra: ['10.10.1.4:8080'],
  });
});

test('a node without a table leaves packets untouched', () => {
  expect(pathOnNode(state('10.10.1.2'), undefined, query)).toMatchObject({
    listed: ['untouched'],
    missing: ['10.10.1.2:8080'],
  });
});

test('IPv6, and an address of nobody', () => {
  const told = state('10.10.1.2');
  const table = wantedTable(render(told, where));
  const six = { ...query, to: { ...query.to, address: 'fd00:96::10' } };
  expect(pathOnNode(told, table, six).wanted).toEqual(['[fd00:10::2]:8080']);
  const nobody = { ...query, to: { ...query.to, address: '10.96.0.99' } };
  expect(pathOnNode(told, table, nobody)).toMatchObject({ wanted: ['untouched'], listed: ['untouched'] });
});

test('what a client meets: a pod keeps its address, and neither itself nor the node does', () => {
  const told = state('10.10.1.2', '10.10.1.3');
  const table = wantedTable(render(told, where));
  const reached = (kind: 'host' | 'pod', address: string) =>
    pathOnNode(told, table, { ...query, from: { kind, address } }).reached;
  expect(reached('pod', '10.10.1.2')).toEqual([
    { end: '10.10.1.2:8080', share: 0.5, source: 'masqueraded' },
    { end: '10.10.1.3:8080', share: 0.5, source: 'kept' },
  ]);
  expect(reached('host', '')?.map(({ source }) => source)).toEqual(['masqueraded', 'masqueraded']);
  expect(
    pathOnNode(told, undefined, { ...query, from: { kind: 'pod', address: '10.10.1.2' } }).reached,
  ).toEqual([{ end: 'untouched', share: 1, source: 'kept' }]);
});
