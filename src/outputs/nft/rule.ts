import { parseAddress, parseRange, type Range, RangeSet } from './address.ts';
import type { Table } from './table.ts';

/** The first packet of a connection, as far as our rules look at it. */
export interface Packet {
  readonly family: 4 | 6;
  readonly protocol: 'tcp' | 'udp';
  readonly saddr: string;
  readonly daddr: string;
  readonly dport: number;
  /** Where the client sent it. */
  readonly originalDaddr: string;
  readonly translated: boolean;
  readonly loopback: boolean;
}

export type Verdict =
  | { readonly kind: 'continue' | 'return' | 'accept' | 'drop' | 'reject' | 'masquerade' }
  /** Each `<address> . <port>` with the same probability. */
  | { readonly kind: 'dnat'; readonly to: readonly string[] };

const noMatch: Verdict = { kind: 'continue' };

/**
 * Runs a chain of the table on a packet: an interpreter of the few forms of rules that the table is made of.
 * Throws for any other, naming it.
 */
export function runChain(table: Table, chain: string, packet: Packet, depth = 0): Verdict {
  if (depth > 16) throw new Error(`chain ${chain} is nested too deep`);
  for (const rule of table.chains.get(chain) ?? []) {
    if (rule.startsWith('type ')) continue;
    const verdict = runRule(table, rule, packet, depth);
    if (verdict.kind === 'return') return noMatch;
    if (verdict.kind !== 'continue') return verdict;
  }
  return noMatch;
}

const selectorPattern =
  '(?:ct original )?ip6? [sd]addr|(?:tcp|udp|th) dport|meta l4proto|numgen random mod \\d+';
const concatPattern = `(?:${selectorPattern})(?: \\. (?:${selectorPattern}))*`;
const lookup = new RegExp(`^(${concatPattern}) (!= )?@(\\w+) `);
const verdictMap = new RegExp(`^(${concatPattern}) vmap @(\\w+)$`);
const translation = new RegExp(`^dnat ip6? to (${concatPattern}) map @(\\w+)$`);
const comparison = new RegExp(`^(${selectorPattern}) (!= )?([0-9a-f:][0-9a-f.:]*|tcp|udp) `);

function runRule(table: Table, rule: string, packet: Packet, depth: number): Verdict {
  let rest = `${rule} `;
  for (;;) {
    const match = nextMatch(table, rest, packet);
    if (!match) break;
    if (!match.matches) return noMatch;
    rest = rest.slice(match.length);
  }
  return runStatement(table, rest.trim(), packet, depth, rule);
}

function nextMatch(
  table: Table,
  text: string,
  packet: Packet,
): { readonly length: number; readonly matches: boolean } | undefined {
  const fixed: [string, boolean][] = [
    ['ct state new ', true],
    ['ct status dnat ', packet.translated],
    ['oifname "lo" ', packet.loopback],
  ];
  for (const [prefix, matches] of fixed)
    if (text.startsWith(prefix)) return { length: prefix.length, matches };
  const inSet = lookup.exec(text);
  if (inSet) {
    const [whole, concat = '', not, set = ''] = inSet;
    const key = keyOf(concat, packet);
    return {
      length: whole.length,
      matches: key !== undefined && isElement(table, set, key) !== Boolean(not),
    };
  }
  const compared = comparison.exec(text);
  if (compared) {
    const [whole, selector = '', not, value] = compared;
    const found = keyOf(selector, packet);
    return { length: whole.length, matches: found !== undefined && (found === value) !== Boolean(not) };
  }
  return undefined;
}

function runStatement(table: Table, text: string, packet: Packet, depth: number, rule: string): Verdict {
  if (text === 'return' || text === 'accept' || text === 'drop') return { kind: text };
  if (text === 'reject' || text.startsWith('reject with ')) return { kind: 'reject' };
  if (text.startsWith('masquerade')) return { kind: 'masquerade' };
  const jump = /^(jump|goto) (\S+)$/.exec(text);
  if (jump) {
    const verdict = runChain(table, jump[2] as string, packet, depth + 1);
    return jump[1] === 'goto' && verdict.kind === 'continue' ? { kind: 'return' } : verdict;
  }
  const byMap = verdictMap.exec(text);
  if (byMap) {
    const key = keyOf(byMap[1] as string, packet);
    const data = key === undefined ? undefined : table.elements.get(byMap[2] as string)?.get(key);
    return data === undefined ? noMatch : runStatement(table, data, packet, depth, rule);
  }
  const dnat = translation.exec(text);
  if (dnat) return translate(table, dnat[1] as string, dnat[2] as string, packet);
  throw new Error(`the tracer does not know this rule: ${JSON.stringify(rule)}`);
}

/** A slot that is missing does not match: the packet goes on as it is. */
function translate(table: Table, concat: string, map: string, packet: Packet): Verdict {
  const modulus = Number(/numgen random mod (\d+)/.exec(concat)?.[1] ?? 1);
  const to: string[] = [];
  for (let slot = 0; slot < modulus; slot++) {
    const key = keyOf(concat, packet, slot);
    const data = key === undefined ? undefined : table.elements.get(map)?.get(key);
    to.push(data ?? `${packet.daddr} . ${packet.dport}`);
  }
  return { kind: 'dnat', to };
}

/** Undefined: the packet has no such field, so the rule does not match. */
function keyOf(concat: string, packet: Packet, slot = 0): string | undefined {
  const parts = concat.split(' . ').map((selector) => field(selector, packet, slot));
  return parts.includes(undefined) ? undefined : parts.join(' . ');
}

function field(selector: string, packet: Packet, slot: number): string | undefined {
  if (selector.startsWith('numgen')) return String(slot);
  if (selector === 'meta l4proto') return packet.protocol;
  if (selector.endsWith('dport')) {
    const protocol = selector.split(' ')[0];
    return protocol === 'th' || protocol === packet.protocol ? String(packet.dport) : undefined;
  }
  if (selector.includes('ip6') !== (packet.family === 6)) return undefined;
  if (selector.startsWith('ct original')) return packet.originalDaddr;
  return selector.endsWith('saddr') ? packet.saddr : packet.daddr;
}

function isElement(table: Table, set: string, key: string): boolean {
  const elements = table.elements.get(set);
  if (!elements) return false;
  if (elements.has(key)) return true;
  if (!table.declarations.get(set)?.some((line) => line.includes('interval'))) return false;
  const address = parseAddress(key);
  const ranges = [...elements.keys()].map((e) =>
    parseRange(e.includes('/') ? e : `${e}/${e.includes(':') ? 128 : 32}`),
  );
  return (
    typeof address !== 'string' &&
    new RangeSet(ranges.filter((r): r is Range => typeof r !== 'string')).has(address)
  );
}
