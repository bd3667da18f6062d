import type { Backend, Endpoint, Frontend, Ir, NodeFacts, Port, Target } from '../../model/ir.ts';

/** Short ways to write an intermediate representation by hand: for tests, benches and the check of nft at start. */

export function endpoint(
  address: string | readonly string[],
  port = 8080,
  more: Partial<Endpoint> = {},
): Endpoint {
  const addresses = typeof address === 'string' ? [address] : address;
  return { addresses, port, health: 'Healthy', weight: 1, ...more };
}

/** One group of one cluster; its weight is the number of healthy endpoints. */
export function backend(key: string, endpoints: readonly Endpoint[], more: Partial<Backend> = {}): Backend {
  const weight = endpoints.filter((e) => e.health === 'Healthy').length;
  const group = { cluster: 'east', network: 'n1', region: 'eu', zone: 'a', priority: 0, weight, endpoints };
  return { key, policy: 'Even', groups: endpoints.length > 0 ? [group] : [], ...more };
}

export function tcp(port: number, targets: readonly Target[]): Port {
  return { protocol: 'TCP', port, listeners: [], targets };
}

export function udp(port: number, targets: readonly Target[]): Port {
  return { protocol: 'UDP', port, listeners: [], targets };
}

export const to = (key: string | null, weight = 1): Target => ({ backend: key, weight });

export function frontend(key: string, vips: readonly string[], ports: readonly Port[]): Frontend {
  return { key, generation: 1, names: [], ttl: 5, vips, ports };
}

export function node(name: string, podCIDRs: readonly string[], zone = 'a'): NodeFacts {
  return { name, zone, podCIDRs };
}

export function ir(parts: {
  readonly frontends?: readonly Frontend[];
  readonly backends?: readonly Backend[];
  readonly nodes?: readonly NodeFacts[];
}): Ir {
  return {
    frontends: new Map((parts.frontends ?? []).map((f) => [f.key, f])),
    backends: new Map((parts.backends ?? []).map((b) => [b.key, b])),
    nodes: new Map((parts.nodes ?? []).map((n) => [n.name, n])),
  };
}
