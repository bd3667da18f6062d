import type { RemoteEndpoint } from '../inputs.ts';
import type { Reader, Unit } from '../reader.ts';
import { byText } from '../sorted-map.ts';

export const zoneLabel = 'topology.kubernetes.io/zone';

/** Endpoints of this cluster behind one port of one back end. */
export interface LocalEndpoints {
  /** All that are selected and not terminating, ready or not: names of pods, or `/<address>`. */
  readonly selected: readonly string[];
  readonly endpoints: readonly RemoteEndpoint[];
}

export const noEndpoints: LocalEndpoints = { selected: [], endpoints: [] };

const nodeZone: Unit<string> = {
  name: 'nodeZone',
  compute: (reader, name) => reader.get('Node', name)?.metadata.labels[zoneLabel] ?? '',
};

/** Empty: unknown. */
export function zoneOfNode(reader: Reader, name: string | undefined): string {
  return name === undefined ? '' : reader.unit(nodeZone, name);
}

export const readyCount = (endpoints: readonly RemoteEndpoint[]): number =>
  endpoints.reduce((count, { health }) => count + (health === 'Healthy' ? 1 : 0), 0);

/**
 * Each address and port once: of two endpoints that share one, the first stays. `claimed` has what is taken
 * already, and gets what is taken now.
 */
export function distinctEndpoints(
  endpoints: readonly RemoteEndpoint[],
  claimed: Set<string> = new Set(),
): readonly RemoteEndpoint[] {
  return endpoints.filter(({ addresses, port }) => {
    if (addresses.some((address) => claimed.has(`${address} ${port}`))) return false;
    for (const address of addresses) claimed.add(`${address} ${port}`);
    return true;
  });
}

export function byAddress(a: RemoteEndpoint, b: RemoteEndpoint): number {
  return byText(a.addresses[0] ?? '', b.addresses[0] ?? '') || a.port - b.port;
}
