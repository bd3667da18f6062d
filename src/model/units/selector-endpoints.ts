import { type Family, familyOf } from '../../wire/address.ts';
import type { RemoteEndpoint } from '../inputs.ts';
import type { Protocol } from '../ir.ts';
import { isEmptySelector, type LabelSelector } from '../label-selector.ts';
import type { PodFacts } from '../pod-facts.ts';
import type { Reader, Unit } from '../reader.ts';
import { type LocalEndpoints, noEndpoints, zoneOfNode } from './local-endpoints.ts';
import { parseKey } from './object-key.ts';

function podsOf(reader: Reader, namespace: string, selector: LabelSelector): readonly PodFacts[] {
  return isEmptySelector(selector) ? [] : reader.pods(namespace, selector);
}

/** The pods that an XEndpointSelector selects, by its key. */
export const selectedPods: Unit<readonly PodFacts[]> = {
  name: 'selectedPods',
  compute: (reader, key) => {
    const selector = reader.get('XEndpointSelector', key)?.spec.selector;
    return selector ? podsOf(reader, parseKey(key).namespace, selector) : [];
  },
};

/** The pods of an XBackend of type EndpointSelector, by its key. */
export const backendPods: Unit<readonly PodFacts[]> = {
  name: 'backendPods',
  compute: (reader, key) => {
    const spec = reader.get('XBackend', key)?.spec;
    if (spec?.type !== 'EndpointSelector' || !spec.endpointSelector) return [];
    return podsOf(reader, parseKey(key).namespace, spec.endpointSelector);
  },
};

/**
 * Behind an XEndpointSelector. `target` is a port of the pods; a name is one of its `ports`, or else a container
 * port's name, resolved for each pod.
 */
export function selectorEndpoints(
  reader: Reader,
  key: string,
  protocol: Protocol,
  target: number | string,
): LocalEndpoints {
  const spec = reader.get('XEndpointSelector', key)?.spec;
  if (!spec) return noEndpoints;
  const declared = spec.ports?.find((port) => port.name === target && port.protocol === protocol);
  const pods = reader.unit(selectedPods, key);
  return endpointsOf(reader, pods, protocol, declared?.targetPort ?? target, spec.ipFamilies);
}

/** Behind an XBackend, on its own port. */
export function xBackendEndpoints(reader: Reader, key: string, port: number): LocalEndpoints {
  return endpointsOf(reader, reader.unit(backendPods, key), 'TCP', port, undefined);
}

function endpointsOf(
  reader: Reader,
  pods: readonly PodFacts[],
  protocol: Protocol,
  target: number | string,
  families: readonly Family[] | undefined,
): LocalEndpoints {
  const endpoints: RemoteEndpoint[] = [];
  const selected: string[] = [];
  for (const pod of pods) {
    if (!pod.terminating) selected.push(pod.name);
    const port = pod.port(protocol, target);
    const endpoint = port === undefined ? undefined : pod.endpoint(port, zoneOfNode(reader, pod.nodeName));
    if (!endpoint) continue;
    if (!families) {
      endpoints.push(endpoint);
      continue;
    }
    const addresses = inFamilies(pod.addresses, families);
    if (addresses.length > 0) endpoints.push({ ...endpoint, addresses });
  }
  return { selected, endpoints };
}

/** In the order of `families`. */
function inFamilies(addresses: readonly string[], families: readonly Family[]): readonly string[] {
  return families.flatMap((family) => addresses.filter((address) => familyOf(address) === family));
}
