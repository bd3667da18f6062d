import type { Ir } from '../../model/ir.ts';
import { countNodes } from '../../model/zone-preference.ts';
import { type Address, disjoint, type Family, parseRange, type Range, RangeSet } from './address.ts';
import type { Place } from './backend-parts.ts';

/** What a node's table takes from what is known of the cluster's nodes. */
export interface NodeRanges {
  readonly place: Place;
  /** This node's pod ranges; empty: not known. */
  readonly local: RangeSet;
  /** Every node's, without those inside others. */
  readonly podTexts: Readonly<Record<Family, readonly string[]>>;
  readonly isPod: (address: Address) => boolean;
  readonly refused: ReadonlyMap<string, string>;
  /** Ports must be rendered again when it changes. */
  readonly digest: string;
  /** Ports with a back end that prefers the node's zone must be rendered again when it changes. */
  readonly placeDigest: string;
  /** Addresses must be judged again when it changes. */
  readonly podDigest: string;
}

export function nodeRanges(nodes: Ir['nodes'], options: { node: string; cluster: string }): NodeRanges {
  const refused = new Map<string, string>();
  const ranges = (name: string): Range[] =>
    (nodes.get(name)?.podCIDRs ?? []).flatMap((text) => {
      const range = parseRange(text);
      if (typeof range !== 'string') return [range];
      refused.set(`nodes/${name}`, range);
      return [];
    });
  const pods = disjoint([...nodes.keys()].flatMap(ranges));
  const local = ranges(options.node);
  const zone = nodes.get(options.node)?.zone ?? '';
  const place = { cluster: options.cluster, zone, nodes: countNodes(nodes.values(), zone) };
  const podSet = new RangeSet(pods);
  return {
    place,
    local: new RangeSet(local),
    podTexts: { 4: texts(pods, 4), 6: texts(pods, 6) },
    isPod: (address) => podSet.has(address),
    refused,
    digest: local.map((r) => r.text).join(),
    placeDigest: JSON.stringify(place),
    podDigest: pods.map((r) => r.text).join(),
  };
}

const texts = (ranges: readonly Range[], family: Family): string[] =>
  ranges.filter((r) => r.family === family).map((r) => r.text);
