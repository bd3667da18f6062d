import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { NodeFacts } from './ir.ts';
import { countNodes, hasItsPart } from './zone-preference.ts';

const node = (name: string, zone: string, more: Partial<NodeFacts> = {}): NodeFacts => ({
  name,
  zone,
  podCIDRs: [],
  ...more,
});

/** Whether each zone keeps its nodes' connections, by how many endpoints and nodes are in each. */
const kept = (endpoints: readonly number[], nodes: readonly number[]): readonly boolean[] => {
  const sum = (counts: readonly number[]) => counts.reduce((a, b) => a + b, 0);
  return endpoints.map((inZone, i) =>
    hasItsPart({ inZone, all: sum(endpoints) }, { inZone: nodes[i] ?? 0, all: sum(nodes) }),
  );
};

test('zones as even as a scheduler makes them keep what is theirs, while one more comes in one of them too', () => {
  expect(kept([3, 3, 3], [2, 2, 2])).toEqual([true, true, true]);
  expect(kept([4, 3, 3], [2, 2, 2])).toEqual([true, true, true]);
  expect(kept([2, 2, 1], [1, 1, 1])).toEqual([true, true, false]);
  expect(kept([20, 10], [2, 1])).toEqual([true, true]);
});

test('a zone that lost too many shares its load, and so does one with more nodes than endpoints', () => {
  expect(kept([3, 2, 3], [1, 1, 1])).toEqual([true, false, true]);
  expect(kept([10, 9, 10], [1, 1, 1])).toEqual([true, true, true]);
  expect(kept([1, 1], [9, 1])).toEqual([false, true]);
  expect(kept([0, 5], [0, 1])).toEqual([false, true]);
});

test('nodes for the control plane only are not counted', () => {
  const nodes = [node('m', 'a', { reserved: true }), node('a', 'a'), node('b', 'b'), node('c', '')];
  expect(countNodes(nodes, 'a')).toEqual({ inZone: 1, all: 3 });
  expect(countNodes([], 'a')).toEqual({ inZone: 0, all: 0 });
});

const zones = fc
  .array(fc.record({ endpoints: fc.nat({ max: 40 }), nodes: fc.nat({ max: 40 }) }), {
    minLength: 1,
    maxLength: 6,
  })
  .filter((list) => list.some(({ endpoints }) => endpoints > 0) && list.some(({ nodes }) => nodes > 0));

test('no endpoint takes more than 1.2 even shares from its own zone; where all zones keep theirs, all are near even', () => {
  fc.assert(
    fc.property(zones, (list) => {
      const endpoints = list.reduce((sum, z) => sum + z.endpoints, 0);
      const nodes = list.reduce((sum, z) => sum + z.nodes, 0);
      const keeps = kept(
        list.map((z) => z.endpoints),
        list.map((z) => z.nodes),
      );
      // Every node sends the same; 1 is an endpoint's even share.
      const shared = list.reduce((sum, z, i) => sum + (keeps[i] ? 0 : z.nodes / nodes), 0);
      for (const [i, zone] of list.entries()) {
        if (zone.endpoints === 0) continue;
        const part = zone.nodes / nodes;
        const own = keeps[i] ? part / (zone.endpoints / endpoints) : 0;
        expect(own).toBeLessThanOrEqual(1.2 + 1e-9);
        if (shared === 0) expect(own).toBeGreaterThanOrEqual((1.2 * part) / (0.2 + part) - 1e-9);
      }
      const taken = list.reduce((sum, z, i) => sum + (keeps[i] ? z.nodes / nodes : 0), 0);
      expect(taken + shared).toBeCloseTo(1);
    }),
    { numRuns: 1000 },
  );
});
