import { parseAddress } from './address.ts';
import { type Packet, runChain, type Verdict } from './rule.ts';
import type { Table } from './table.ts';

export interface TraceQuery {
  /** Where the client is: on this machine itself, or somewhere whose packets come in (a pod, another machine). */
  readonly from: { readonly kind: 'host' | 'pod' | 'elsewhere'; readonly address: string };
  readonly to: { readonly address: string; readonly port: number; readonly protocol: 'tcp' | 'udp' };
  /** Addresses of this machine: what goes there is not forwarded. */
  readonly hostAddresses?: ReadonlySet<string>;
}

/** One end that a new connection can have. `share`: its probability. */
export type TraceEnd =
  | {
      readonly result: 'endpoint';
      readonly address: string;
      readonly port: number;
      readonly source: 'kept' | 'masqueraded';
      readonly share: number;
    }
  /** `untouched`: our table has nothing to say, the packet goes on to where it was sent. */
  | { readonly result: 'rejected' | 'dropped' | 'untouched'; readonly share: number };

/**
 * Where a new connection goes, by walking a table's own rules as the kernel does: hook by hook, chains by
 * priority. Sorted by what is reached; shares add up to 1. Throws when the table holds a rule of a form that we
 * never write.
 */
export function trace(table: Table, query: TraceQuery): readonly TraceEnd[] {
  const [from, to] = [parseAddress(query.from.address), parseAddress(query.to.address)];
  if (typeof from === 'string' || typeof to === 'string')
    throw new Error(String(typeof from === 'string' ? from : to));
  const packet: Packet = {
    family: to.family,
    protocol: query.to.protocol,
    saddr: from.text,
    daddr: to.text,
    dport: query.to.port,
    originalDaddr: to.text,
    translated: false,
    loopback: false,
  };
  const ends = new Map<string, TraceEnd>();
  for (const end of new Walk(table, query).enter(packet)) {
    const id = end.result === 'endpoint' ? `${end.address} ${end.port} ${end.source}` : end.result;
    ends.set(id, { ...end, share: end.share + (ends.get(id)?.share ?? 0) });
  }
  return [...ends].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, end]) => end);
}

type Next = (packet: Packet) => readonly TraceEnd[];

class Walk {
  readonly #table: Table;
  readonly #query: TraceQuery;

  constructor(table: Table, query: TraceQuery) {
    this.#table = table;
    this.#query = query;
  }

  enter(packet: Packet): readonly TraceEnd[] {
    const hook = this.#query.from.kind === 'host' ? 'output' : 'prerouting';
    return this.#run(hooked(this.#table, hook), packet, (p) => this.#route(p));
  }

  #route(packet: Packet): readonly TraceEnd[] {
    const local = this.#query.hostAddresses?.has(packet.daddr) ?? false;
    const sent = { ...packet, loopback: local };
    if (this.#query.from.kind === 'host') return this.#leave(sent);
    if (local) return arrive(sent, 'kept');
    return this.#run(hooked(this.#table, 'forward'), sent, (p) => this.#leave(p));
  }

  #leave(packet: Packet): readonly TraceEnd[] {
    for (const chain of hooked(this.#table, 'postrouting')) {
      const { kind } = runChain(this.#table, chain.name, packet);
      if (kind === 'masquerade') return arrive(packet, 'masqueraded');
      if (kind === 'drop') return [{ result: 'dropped', share: 1 }];
    }
    return arrive(packet, 'kept');
  }

  /** Runs the chains of a hook; the first translation is the only one. */
  #run(chains: readonly BaseChain[], packet: Packet, next: Next): readonly TraceEnd[] {
    const [chain, ...rest] = chains;
    if (!chain) return next(packet);
    const skipped = chain.type === 'nat' && packet.translated;
    const verdict: Verdict = skipped ? { kind: 'continue' } : runChain(this.#table, chain.name, packet);
    if (verdict.kind === 'reject') return [{ result: 'rejected', share: 1 }];
    if (verdict.kind === 'drop') return [{ result: 'dropped', share: 1 }];
    if (verdict.kind !== 'dnat') return this.#run(rest, packet, next);
    return verdict.to.flatMap((to) => {
      const [daddr, port] = to.split(' . ') as [string, string];
      const sent = { ...packet, daddr, dport: Number(port), translated: true };
      return this.#run(rest, sent, next).map((end) => ({ ...end, share: end.share / verdict.to.length }));
    });
  }
}

function arrive(packet: Packet, source: 'kept' | 'masqueraded'): readonly TraceEnd[] {
  if (!packet.translated) return [{ result: 'untouched', share: 1 }];
  return [{ result: 'endpoint', address: packet.daddr, port: packet.dport, source, share: 1 }];
}

interface BaseChain {
  readonly name: string;
  readonly type: string;
  readonly priority: number;
}

/** Chains of a hook, in the order in which the kernel runs them. */
function hooked(table: Table, hook: string): readonly BaseChain[] {
  const found: BaseChain[] = [];
  for (const [name, rules] of table.chains) {
    const [, type, at, priority] = /^type (\w+) hook (\w+) priority (-?\d+);/.exec(rules[0] ?? '') ?? [];
    if (type !== undefined && at === hook) found.push({ name, type, priority: Number(priority) });
  }
  return found.sort((a, b) => a.priority - b.priority);
}
