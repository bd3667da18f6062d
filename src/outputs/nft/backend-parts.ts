import type { Backend, Endpoint, Group } from '../../model/ir.ts';
import { hasItsPart, type ZoneCount } from '../../model/zone-preference.ts';
import { type Address, type Family, parseAddress, parsePort } from './address.ts';
import type { Part } from './part.ts';

/** More destinations than this behind one back end are refused: a peer cannot fill the node's memory. */
const maxEndpoints = 16_384;

export interface UsableEndpoint {
  readonly address: Address;
  readonly port: number;
  readonly weight: number;
  readonly draining: boolean;
  readonly snat: boolean;
}

export interface UsableGroup {
  readonly cluster: string;
  readonly zone: string;
  readonly priority: number;
  readonly weight: number;
  readonly endpoints: readonly UsableEndpoint[];
}

/** A back end with what can be programmed of it, and what was wrong with the rest. */
export interface UsableBackend {
  readonly policy: Backend['policy'];
  readonly groups: readonly UsableGroup[];
  /** What was refused and why; undefined: nothing. */
  readonly refused?: string;
}

/** Where this node is, for the preference of its own zone. */
export interface Place {
  readonly cluster: string;
  readonly zone: string;
  readonly nodes: ZoneCount;
}

export function parseBackend(backend: Backend): UsableBackend {
  const faults: string[] = [];
  let count = 0;
  const groups: UsableGroup[] = [];
  for (const group of backend.groups) {
    const fault = weightFault('group weight', group.weight, 0) ?? weightFault('priority', group.priority, 0);
    if (fault !== undefined) {
      faults.push(`${fault} (cluster ${JSON.stringify(group.cluster)})`);
      continue;
    }
    const endpoints = parseEndpoints(group, maxEndpoints - count, faults);
    count += endpoints.length;
    groups.push({ ...pick(group), endpoints });
  }
  const refused = faults.length === 0 ? undefined : summary(faults);
  return { policy: backend.policy, groups, ...(refused === undefined ? {} : { refused }) };
}

const pick = ({ cluster, zone, priority, weight }: Group) => ({ cluster, zone, priority, weight });

export function weightFault(what: string, value: number, least: number): string | undefined {
  if (Number.isInteger(value) && value >= least && value <= 0xffff_ffff) return undefined;
  return `expected a ${what} from ${least} to 4294967295, found ${JSON.stringify(value)}`;
}

function summary(faults: readonly string[]): string {
  const first = faults.slice(0, 3).join('; ');
  return faults.length > 3 ? `${first}; and ${faults.length - 3} more` : first;
}

function parseEndpoints(group: Group, room: number, faults: string[]): UsableEndpoint[] {
  const usable: UsableEndpoint[] = [];
  for (const endpoint of group.endpoints) {
    const port = parsePort(endpoint.port);
    const fault = typeof port === 'string' ? port : weightFault('endpoint weight', endpoint.weight, 1);
    if (fault !== undefined) {
      faults.push(`endpoint ${JSON.stringify(endpoint.addresses[0] ?? '')}: ${fault}`);
      continue;
    }
    for (const text of endpoint.addresses) {
      const address = parseAddress(text);
      if (typeof address === 'string') faults.push(`endpoint: ${address}`);
      else if (usable.length >= room) faults.push(`endpoint ${address.text}: more than ${maxEndpoints}`);
      else usable.push(toUsable(endpoint, address));
    }
  }
  return usable;
}

function toUsable(endpoint: Endpoint, address: Address): UsableEndpoint {
  const { port, weight } = endpoint;
  return {
    address,
    port,
    weight,
    draining: endpoint.health === 'Draining',
    snat: endpoint.snat === true,
  };
}

/**
 * The endpoints of one family that take traffic now, weighted: the lowest priority that has a healthy one; the
 * draining ones only where no healthy one exists in any group. Empty: nothing can answer.
 */
export function activeGroups(backend: UsableBackend, family: Family, place: Place): readonly UsableGroup[] {
  const mine = backend.groups.map((g) => ({
    ...g,
    endpoints: g.endpoints.filter((e) => e.address.family === family),
  }));
  const healthy = withEndpoints(mine, (e) => !e.draining).filter((g) => g.weight > 0);
  if (healthy.length > 0) return preferZone(firstPriority(healthy), backend.policy, place);
  // A group's weight counts its ready endpoints: here each endpoint has the same share.
  const draining = withEndpoints(mine, (e) => e.draining);
  return firstPriority(draining).map((g) => ({ ...g, weight: g.endpoints.length }));
}

function withEndpoints(groups: readonly UsableGroup[], keep: (e: UsableEndpoint) => boolean): UsableGroup[] {
  return groups
    .map((g) => ({ ...g, endpoints: g.endpoints.filter(keep) }))
    .filter((g) => g.endpoints.length > 0);
}

function firstPriority(groups: readonly UsableGroup[]): readonly UsableGroup[] {
  const first = groups.reduce((least, g) => Math.min(least, g.priority), Number.POSITIVE_INFINITY);
  return groups.filter((g) => g.priority === first);
}

/**
 * Under PreferLocal the own cluster's share goes to this node's zone, if that zone has its proportional number of
 * endpoints; else it is spread over all zones. Shares of other clusters stay as they are.
 */
function preferZone(
  groups: readonly UsableGroup[],
  policy: Backend['policy'],
  { cluster, zone, nodes }: Place,
): readonly UsableGroup[] {
  if (policy !== 'PreferLocal' || zone === '') return groups;
  const own = groups.filter((g) => g.cluster === cluster);
  const near = own.filter((g) => g.zone === zone);
  const [first] = near;
  if (!first || !hasItsPart({ inZone: endpointsIn(near), all: endpointsIn(own) }, nodes)) return groups;
  const weight = own.reduce((sum, g) => sum + g.weight, 0);
  const merged = { ...first, weight, endpoints: near.flatMap((g) => g.endpoints) };
  return [...groups.filter((g) => g.cluster !== cluster), merged];
}

const endpointsIn = (groups: readonly UsableGroup[]): number =>
  groups.reduce((count, g) => count + g.endpoints.length, 0);

export function groupParts(
  groups: readonly UsableGroup[],
  destination: (e: UsableEndpoint) => string,
): Part[] {
  return groups.map((g) => ({
    weight: g.weight,
    of: g.endpoints.map((e) => ({ weight: e.weight, of: destination(e) })),
  }));
}
