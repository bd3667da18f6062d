import { familyOf } from '../wire/address.ts';
import type { Endpoint, Group } from './ir.ts';

/**
 * Groups for whoever goes by priorities and weights alone and knows no draining: the lowest priority takes
 * everything. No group is without endpoints or weight, and priorities are contiguous. Draining endpoints form groups
 * of their own after all healthy ones; they are left out where healthy ones serve every IP family that they have.
 */
export function servingGroups(groups: readonly Group[]): readonly Group[] {
  const healthy = groups.flatMap((group) =>
    group.weight > 0 ? withEndpoints(group, only('Healthy', group.endpoints)) : [],
  );
  const draining = drainingGroups(groups, healthy);
  return [...contiguous(healthy, 0), ...contiguous(draining, prioritiesOf(healthy).length)];
}

/** Each endpoint has the same share: the weights of groups count their healthy ones. */
function drainingGroups(groups: readonly Group[], healthy: readonly Group[]): readonly Group[] {
  const all = groups.flatMap((group) => withEndpoints(group, only('Draining', group.endpoints)));
  if (all.length === 0) return all;
  const served = new Set(healthy.flatMap(({ endpoints }) => endpoints.flatMap(familiesOf)));
  const isNeeded = (endpoint: Endpoint) => familiesOf(endpoint).some((family) => !served.has(family));
  return all
    .flatMap((group) => withEndpoints(group, group.endpoints.filter(isNeeded)))
    .map((group) => ({ ...group, weight: group.endpoints.length }));
}

const withEndpoints = (group: Group, endpoints: readonly Endpoint[]): readonly Group[] =>
  endpoints.length === 0 ? [] : [{ ...group, endpoints }];

/** The same list if it has no others. */
function only(health: Endpoint['health'], endpoints: readonly Endpoint[]): readonly Endpoint[] {
  const isOne = (endpoint: Endpoint) => endpoint.health === health;
  return endpoints.every(isOne) ? endpoints : endpoints.filter(isOne);
}

const familiesOf = ({ addresses }: Endpoint) => addresses.map((address) => familyOf(address));

const prioritiesOf = (groups: readonly Group[]): readonly number[] =>
  [...new Set(groups.map(({ priority }) => priority))].sort((a, b) => a - b);

function contiguous(groups: readonly Group[], from: number): readonly Group[] {
  const priorities = prioritiesOf(groups);
  return groups.map((group) => ({ ...group, priority: from + priorities.indexOf(group.priority) }));
}
