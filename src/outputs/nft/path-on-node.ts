import type { Ir } from '../../model/ir.ts';
import { render } from './render.ts';
import type { Table } from './table.ts';
import { type TraceEnd, type TraceQuery, trace } from './trace.ts';
import { wantedTable } from './wanted-table.ts';

/** Where a node sends new connections to an address: by what it is told, and by what its kernel lists. */
export interface PathOnNode {
  readonly node: string;
  readonly address: string;
  readonly port: number;
  readonly protocol: 'tcp' | 'udp';
  /** `address:port`, or `rejected`, `dropped`, `untouched`. Sorted. */
  readonly wanted: readonly string[];
  readonly listed: readonly string[];
  /** Wanted and not listed. */
  readonly missing: readonly string[];
  /** Listed and not wanted. */
  readonly extra: readonly string[];
  /** What a connection of the client that was asked about meets, by the kernel's own list; absent: nobody was. */
  readonly reached?: readonly Reached[];
}

export interface Reached {
  /** `address:port`, or `rejected`, `dropped`, `untouched`. */
  readonly end: string;
  /** Of its new connections, 0 to 1. */
  readonly share: number;
  /** `kept`: it is seen with its own address. `masqueraded`: with one of the node. */
  readonly source: 'kept' | 'masqueraded';
}

export interface PathQuery {
  readonly node: string;
  readonly cluster: string;
  readonly to: TraceQuery['to'];
  /** The client. Its address may be empty: then it is somebody's. */
  readonly from?: TraceQuery['from'];
}

/** `listed`: the kernel's table; undefined: there is none. Throws when an address is none. */
export function pathOnNode(ir: Ir, listed: Table | undefined, query: PathQuery): PathOnNode {
  const { node, cluster, to, from } = query;
  const wanted = wantedTable(render(only(ir, to.address), { node, cluster }));
  const should = endsOf(wanted, to);
  const does = listed ? endsOf(listed, to) : ['untouched'];
  return {
    node,
    ...to,
    wanted: should,
    listed: does,
    missing: should.filter((end) => !does.includes(end)),
    extra: does.filter((end) => !should.includes(end)),
    ...(from ? { reached: reachedBy(from, listed, to) } : {}),
  };
}

/** What concerns one address: the rest costs time and says nothing. */
function only(ir: Ir, address: string): Ir {
  const frontends = new Map([...ir.frontends].filter(([, { vips }]) => vips.includes(address)));
  const used = new Set(
    [...frontends.values()].flatMap(({ ports }) =>
      ports.flatMap(({ targets }) => targets.map((t) => t.backend)),
    ),
  );
  return { ...ir, frontends, backends: new Map([...ir.backends].filter(([key]) => used.has(key))) };
}

/** Documentation addresses: where a connection ends does not depend on who opens it. */
const somebody = { four: '192.0.2.1', six: '2001:db8::1' };

const somebodyLike = (address: string): string => (address.includes(':') ? somebody.six : somebody.four);

function endsOf(table: Table, to: TraceQuery['to']): readonly string[] {
  const ends = trace(table, { from: { kind: 'elsewhere', address: somebodyLike(to.address) }, to });
  return [...new Set(ends.map(endText))].sort();
}

function reachedBy(
  from: TraceQuery['from'],
  listed: Table | undefined,
  to: TraceQuery['to'],
): readonly Reached[] {
  if (!listed) return [{ end: 'untouched', share: 1, source: 'kept' }];
  const address = from.address === '' ? somebodyLike(to.address) : from.address;
  return trace(listed, { from: { ...from, address }, to }).map((end) => ({
    end: endText(end),
    share: end.share,
    source: end.result === 'endpoint' ? end.source : 'kept',
  }));
}

function endText(end: TraceEnd): string {
  if (end.result !== 'endpoint') return end.result;
  return end.address.includes(':') ? `[${end.address}]:${end.port}` : `${end.address}:${end.port}`;
}
