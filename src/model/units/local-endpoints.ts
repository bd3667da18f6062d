import type { RemoteEndpoint } from '../inputs.ts';
import type { Reader, Unit } from '../reader.ts';
import { byText } from '../sorted-map.ts';

export const zoneLabel = 'topology.kubernetes.io/zone';

/** Endpoints of this cluster behind one port of one back end. */
export interface LocalEndpoints {
  /** Names of all that are selected and not terminating, ready or not: `Pod/<name>`, or an address. */
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
 * Sorted by address and port, each address and port once: of two endpoints that share one, the first in the
 * order of `endpoints` stays.
 */
export function distinctEndpoints<E extends RemoteEndpoint>(endpoints: readonly E[]): readonly E[] {
  const seen = new Set<string>();
  const kept = endpoints.filter(({ addresses, port }) => {
    const places = addresses.map((address) => `${address} ${port}`);
    if (places.some((place) => seen.has(place))) return false;
    for (const place of places) seen.add(place);
    return true;
  });
  return kept.sort((a, b) => byText(a.addresses[0] ?? '', b.addresses[0] ?? '') || a.port - b.port);
}
