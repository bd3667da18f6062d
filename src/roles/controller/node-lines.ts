import type { Model } from '../../model/model.ts';
import { byText } from '../../model/sorted-map.ts';
import type { NodeAcks } from '../../outputs/xds/acks.ts';

/** `/api/nodes`: a Node object, or a node whose agent is or was connected. */
export interface NodeLine {
  readonly node: string;
  readonly zone: string;
  readonly podCIDRs: readonly string[];
  /** Its condition Ready is True. */
  readonly ready: boolean;
  readonly connected: boolean;
  /** `host:port` of its agent's admin pages; empty: the agent has not told, or only its own machine reaches them. */
  readonly admin: string;
  /** Resources that it refuses. */
  readonly refused: readonly { readonly name: string; readonly message: string }[];
  /** `Programmed`: it acknowledges what it is told and refuses nothing; or what stands in the way. */
  readonly state: 'Programmed' | 'AgentNotConnected' | 'DataPlaneBypassed' | 'NodeRefuses' | 'NodeBehind';
}

/** Sorted by name. */
export function nodeLines(model: Model, acks: readonly NodeAcks[]): readonly NodeLine[] {
  const { nodes } = model.compiled;
  const known = new Map(acks.map((ack) => [ack.node, ack]));
  return [...new Set([...nodes.keys(), ...known.keys()])].sort(byText).map((node): NodeLine => {
    const ack = known.get(node);
    return {
      node,
      zone: nodes.get(node)?.zone ?? '',
      podCIDRs: nodes.get(node)?.podCIDRs ?? [],
      ready: ack?.ready ?? false,
      connected: ack?.connected ?? false,
      admin: ack?.admin ?? '',
      refused: (ack?.refused ?? []).map(({ name, message }) => ({ name, message })),
      state: stateOf(ack),
    };
  });
}

function stateOf(ack: NodeAcks | undefined): NodeLine['state'] {
  if (!ack?.connected) return 'AgentNotConnected';
  if (ack.bypassed) return 'DataPlaneBypassed';
  if (ack.refused.length > 0) return 'NodeRefuses';
  return ack.position < 0 ? 'NodeBehind' : 'Programmed';
}
