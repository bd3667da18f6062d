import { isDeepStrictEqual } from 'node:util';
import type { Programming } from '../../model/inputs.ts';
import { SortedMap } from '../../model/sorted-map.ts';

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

/** A resource that a node refuses. */
export interface Refused {
  readonly typeUrl: string;
  readonly name: string;
  readonly version: string;
  readonly message: string;
}

export interface CountedNode {
  readonly node: string;
  readonly position: number;
  readonly refused: readonly Refused[];
  readonly bypassed: boolean;
}

/** What is said of a generation once it is programmed. */
export const heldByAll = 'every node whose agent was connected then held it';

interface Line {
  use: GatewayUse;
  programmed: boolean;
}

/**
 * Decides, for each Gateway, whether its generation is programmed: every counted node is at or past the position
 * its generation ended at and refuses nothing that it uses. Once so, it stays so for the generation, whatever nodes
 * join, leave or restart; it costs nothing from then on.
 */
export class ProgrammingLedger {
  readonly #lines = new Map<string, Line>();
  readonly #restored = new Map<string, number>();
  readonly #results = new SortedMap<Programming>();
  /** Gateways whose result may be another than the one that is noted. */
  readonly #open = new Set<string>();
  #bypassed = false;

  restore(latched: ReadonlyMap<string, number>): void {
    for (const [gateway, generation] of latched) this.#restored.set(gateway, generation);
  }

  /** Endpoints that come and go do not move the position that is waited for; what the Gateway says does. */
  rendered(gateway: string, use: GatewayUse | undefined): void {
    const line = this.#lines.get(gateway);
    if (!use) {
      this.#lines.delete(gateway);
      this.#results.delete(gateway);
      this.#open.delete(gateway);
      return;
    }
    this.#open.add(gateway);
    if (!line || line.use.generation !== use.generation) {
      this.#lines.set(gateway, { use, programmed: this.#restored.get(gateway) === use.generation });
      this.#restored.delete(gateway);
    } else if (line.programmed || sameListeners(line.use, use)) {
      line.use = { ...use, position: line.use.position };
    } else {
      line.use = use;
    }
  }

  /** What was rendered last for a Gateway (`<namespace>/<name>`). */
  useOf(gateway: string): GatewayUse | undefined {
    return this.#lines.get(gateway)?.use;
  }

  /** The same object as before for what did not change. */
  evaluate(nodes: readonly CountedNode[]): ReadonlyMap<string, Programming> {
    const bypassed = nodes.some((n) => n.bypassed);
    const all = bypassed !== this.#bypassed;
    this.#bypassed = bypassed;
    const refusals = refusalsOf(nodes);
    for (const gateway of all ? this.#lines.keys() : this.#open) {
      const line = this.#lines.get(gateway) as Line;
      const missing = line.programmed ? undefined : missingOf(line.use, nodes, refusals);
      line.programmed = missing === undefined;
      if (line.programmed) this.#open.delete(gateway);
      const before = this.#results.get(gateway);
      const result = {
        generation: line.use.generation,
        programmed: line.programmed,
        message: missing ?? heldByAll,
        ...(bypassed ? { bypassed } : {}),
      };
      if (!isDeepStrictEqual(before, result)) this.#results.set(gateway, result);
    }
    return this.#results;
  }
}

/** By resource name: one node that refuses it, and why. */
function refusalsOf(nodes: readonly CountedNode[]): ReadonlyMap<string, { node: string; message: string }> {
  const refusals = new Map<string, { node: string; message: string }>();
  for (const { node, refused } of nodes) {
    for (const { name, message } of refused) refusals.set(name, { node, message });
  }
  return refusals;
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
