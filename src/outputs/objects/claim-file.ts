import { parseDocument } from 'yaml';
import { messageOf } from '../../runtime/errors.ts';
import { canonicalAddress } from '../../wire/address.ts';
import { firstYamlFault } from '../../wire/yaml-fault.ts';
import type { ClaimState, KeptClaim, KnownNode } from './claim-state.ts';

const header = `# Addresses given to Gateways, and the nodes that may still translate them.
# Written by causeway. Without this file an address could be given out twice: keep it with the state folder.
`;

/** One claim and one node a line, so that a change is a small difference. */
export function formatClaims({ sequence, claims, nodes }: ClaimState): string {
  const lines = [
    `${header}version: 1`,
    `sequence: ${sequence}`,
    `nodes:${nodes.size === 0 ? ' []' : ''}`,
    ...sorted(nodes).map(([name, node]) => `- ${JSON.stringify({ name, ...node })}`),
    `claims:${claims.size === 0 ? ' []' : ''}`,
    ...sorted(claims).map(([, claim]) => `- ${JSON.stringify(claim)}`),
  ];
  return `${lines.join('\n')}\n`;
}

/** Every field is checked: what is not exactly a file of ours is an error message. */
export function parseClaims(text: string): ClaimState | string {
  let raw: unknown;
  try {
    const document = parseDocument(text, { logLevel: 'silent' });
    const fault = firstYamlFault(document.errors, text);
    if (fault !== undefined) return fault;
    raw = document.toJS();
  } catch (error) {
    return `not YAML: ${messageOf(error)}`;
  }
  const { version, sequence, nodes, claims } = fieldsOf(raw);
  if (version !== 1) return `expected version 1, found ${JSON.stringify(version) ?? 'none'}`;
  if (!isCount(sequence)) return 'expected sequence to be a count';
  if (!Array.isArray(nodes) || !Array.isArray(claims)) return 'expected lists of nodes and claims';
  const state = { sequence, nodes: new Map<string, KnownNode>(), claims: new Map<string, KeptClaim>() };
  for (const [i, item] of nodes.entries()) {
    const node = parseNode(fieldsOf(item), sequence);
    if (!node || state.nodes.has(node.name)) return `nodes[${i}] is not a node that is listed once`;
    const { name, ...known } = node;
    state.nodes.set(name, known);
  }
  for (const [i, item] of claims.entries()) {
    const claim = parseClaim(fieldsOf(item), sequence);
    if (!claim || state.claims.has(claim.address))
      return `claims[${i}] is not a claim on an address that is listed once`;
    state.claims.set(claim.address, claim);
  }
  return state;
}

type Fields = Readonly<Record<string, unknown>>;

function parseNode(fields: Fields, sequence: number): (KnownNode & { name: string }) | undefined {
  const { name, first, last, connected, cleared, object } = fields;
  if (
    typeof name !== 'string' ||
    name === '' ||
    typeof connected !== 'boolean' ||
    typeof object !== 'boolean'
  )
    return undefined;
  if (!isCount(first) || !isCount(last) || !isCount(cleared)) return undefined;
  if (first > last || last > sequence || cleared > sequence) return undefined;
  return { name, first, last, connected, cleared, object };
}

function parseClaim(fields: Fields, sequence: number): KeptClaim | undefined {
  const { address, since, until } = fields;
  const { namespace, name, uid } = fieldsOf(fields.gateway);
  if (typeof address !== 'string' || canonicalAddress(address) !== address) return undefined;
  if (typeof namespace !== 'string' || typeof name !== 'string' || typeof uid !== 'string') return undefined;
  if (!isCount(since) || since > sequence) return undefined;
  const gateway = { namespace, name, uid };
  if (until === undefined) return { address, gateway, since };
  return isCount(until) && until >= since && until <= sequence
    ? { address, gateway, since, until }
    : undefined;
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};

const sorted = <V>(map: ReadonlyMap<string, V>): [string, V][] =>
  [...map].sort(([a], [b]) => (a < b ? -1 : 1));
