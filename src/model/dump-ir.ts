import type { Backend, Endpoint, Frontend, Group, Ir, Port } from './ir.ts';
import { portSegment } from './keys.ts';
import { byText } from './sorted-map.ts';

/** Plain values, for YAML or JSON. */
export type Plain = Readonly<Record<string, unknown>>;

/** What data planes see, in the format of the golden files. */
export function dumpIr({ frontends, backends, nodes }: Ir): Plain {
  return {
    frontends: dumpMap(frontends, dumpFrontend),
    backends: dumpMap(backends, dumpBackend),
    nodes: dumpMap(nodes, ({ name: _, ...facts }) => facts),
  };
}

/** In the order of its keys. */
export function dumpMap<V>(map: ReadonlyMap<string, V>, dump: (value: V) => unknown): Plain {
  const sorted = [...map].sort(([a], [b]) => byText(a, b));
  return Object.fromEntries(sorted.map(([key, value]) => [key, dump(value)]));
}

function dumpFrontend({ generation, names, ttl, vips, ports }: Frontend): Plain {
  return { generation, names, ttl, vips, ports: Object.fromEntries(ports.map(dumpPort)) };
}

/** A target as `<weight> <back end>`, or `<weight> rejected`. */
function dumpPort({ protocol, port, listeners, appProtocol, targets }: Port): readonly [string, Plain] {
  const dumped = {
    listeners,
    ...(appProtocol === undefined ? {} : { appProtocol }),
    targets: targets.map(({ backend, weight }) => `${weight} ${backend ?? 'rejected'}`),
  };
  return [portSegment(protocol, port), dumped];
}

function dumpBackend({ policy, groups, withheld }: Backend): Plain {
  return { policy, ...(withheld ? { withheld } : {}), groups: groups.map(dumpGroup) };
}

function dumpGroup({ endpoints, ...group }: Group): Plain {
  return { ...group, endpoints: endpoints.map(dumpEndpoint) };
}

/** `10.1.0.4:8080`, `10.1.0.4|fd00::4 :8080` for two families; then what is not usual. */
function dumpEndpoint({ addresses, port, health, weight, snat }: Endpoint): string {
  return [
    placeText(addresses, port),
    ...(health === 'Healthy' ? [] : [health]),
    ...(weight === 1 ? [] : [`weight ${weight}`]),
    ...(snat ? ['snat'] : []),
  ].join(' ');
}

/** `10.1.0.4:8080`, `10.1.0.4|fd00::4 :8080` for two families. */
export const placeText = (addresses: readonly string[], port: number): string =>
  addresses.length === 1 && !addresses[0]?.includes(':')
    ? `${addresses[0]}:${port}`
    : `${addresses.join('|')} :${port}`;
