import type { Programming } from '../../model/inputs.ts';
import type { Refused } from './acks.ts';

/** What was rendered for a Gateway. */
export interface GatewayUse {
  readonly generation: number;
  /** Names and versions of its Listeners: they change when what the Gateway itself says changes. */
  readonly listeners: ReadonlyMap<string, string>;
  /** Names of the Clusters it sends to. */
  readonly backends: readonly string[];
  /** Of the log, when it was rendered. */
  readonly position: number;
}

export interface CountedNode {
  readonly node: string;
  readonly position: number;
  readonly refused: readonly Refused[];
  readonly bypassed: boolean;
}

interface Line {
  use: GatewayUse;
  programmed: boolean;
}

/**
 * Decides, for each Gateway, whether its generation is programmed: every counted node is at or past the position
 * its generation ended at and refuses nothing that it uses. Once so, it stays so for the generation, whatever nodes
 * join, leave or restart.
 */
export class ProgrammingLedger {
  readonly #lines = new Map<string, Line>();
  readonly #restored = new Map<string, number>();

  restore(latched: ReadonlyMap<string, number>): void {
    for (const [gateway, generation] of latched) this.#restored.set(gateway, generation);
  }

  /** Endpoints that come and go do not move the position that is waited for; what the Gateway says does. */
  rendered(gateway: string, use: GatewayUse | undefined): void {
    const line = this.#lines.get(gateway);
    if (!use) {
      this.#lines.delete(gateway);
    } else if (!line || line.use.generation !== use.generation) {
      this.#lines.set(gateway, { use, programmed: this.#restored.get(gateway) === use.generation });
      this.#restored.delete(gateway);
    } else if (line.programmed || sameListeners(line.use, use)) {
      line.use = { ...use, position: line.use.position };
    } else {
      line.use = use;
    }
  }

  evaluate(nodes: readonly CountedNode[]): ReadonlyMap<string, Programming> {
    const refusals = new Map<string, { node: string; message: string }>();
    for (const { node, refused } of nodes) {
      for (const { name, message } of refused) refusals.set(name, { node, message });
    }
    const bypassed = nodes.filter((n) => n.bypassed).map((n) => n.node);
    const result = new Map<string, Programming>();
    for (const gateway of [...this.#lines.keys()].sort()) {
      const line = this.#lines.get(gateway) as Line;
      const missing = missingOf(line.use, nodes, refusals);
      if (missing === undefined) line.programmed = true;
      result.set(gateway, {
        generation: line.use.generation,
        programmed: line.programmed,
        message: missing ?? `${nodes.length} of ${nodes.length} nodes hold it`,
        ...(bypassed.length > 0 ? { bypassed: true } : {}),
      });
    }
    return result;
  }
}

/** Why it is not programmed now; undefined: it is. */
function missingOf(
  use: GatewayUse,
  nodes: readonly CountedNode[],
  refusals: ReadonlyMap<string, { node: string; message: string }>,
): string | undefined {
  if (nodes.length === 0) return 'no agent is connected on a Ready node';
  for (const name of [...use.listeners.keys(), ...use.backends]) {
    const refusal = refusals.get(name);
    if (refusal) return `node ${refusal.node} refuses ${name}: ${refusal.message}`;
  }
  const behind = nodes.filter((n) => n.position < use.position).map((n) => n.node);
  if (behind.length === 0) return undefined;
  const shown = behind.slice(0, 3).join(', ');
  return `${nodes.length - behind.length} of ${nodes.length} nodes hold it; not yet ${shown}${behind.length > 3 ? ', …' : ''}`;
}

function sameListeners(a: GatewayUse, b: GatewayUse): boolean {
  if (a.listeners.size !== b.listeners.size) return false;
  return [...a.listeners].every(([name, version]) => b.listeners.get(name) === version);
}
