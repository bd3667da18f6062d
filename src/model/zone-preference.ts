import type { NodeFacts } from './ir.ts';

/** How many there are in the zone that is asked about, and in the whole cluster. */
export interface ZoneCount {
  readonly inZone: number;
  readonly all: number;
}

/** Nodes on which clients are expected. */
export function countNodes(nodes: Iterable<NodeFacts>, zone: string): ZoneCount {
  let [inZone, all] = [0, 0];
  for (const node of nodes) {
    if (node.reserved) continue;
    all += 1;
    if (node.zone === zone) inZone += 1;
  }
  return { inZone, all };
}

/**
 * A zone has its proportional number of a cluster's ready endpoints: if every node of it used these alone, none of
 * them would have to take more than 1.2 times an endpoint's even share of what all nodes send. (That bound is
 * KEP-2433's; docs/decisions/zone-preference.md.) Whole numbers, so that every node comes to the same answer.
 */
export function hasItsPart(endpoints: ZoneCount, nodes: ZoneCount): boolean {
  return endpoints.inZone > 0 && 5 * nodes.inZone * endpoints.all <= 6 * endpoints.inZone * nodes.all;
}
