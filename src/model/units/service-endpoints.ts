import type { Inputs, RemoteEndpoint } from '../inputs.ts';
import type { Protocol } from '../ir.ts';
import { usableAddresses } from '../pod-facts.ts';
import type { Reader, Unit } from '../reader.ts';
import { byAddress, type LocalEndpoints, noEndpoints, zoneOfNode } from './local-endpoints.ts';

type Slice = Inputs['EndpointSlice'];

export interface ServiceFacts {
  readonly externalName: boolean;
  readonly ports: Inputs['Service']['spec']['ports'];
}

/** What routes ask of a Service, by its key: its status and labels are none of it. */
export const serviceFacts: Unit<ServiceFacts | undefined> = {
  name: 'serviceFacts',
  compute: (reader, key) => {
    const spec = reader.get('Service', key)?.spec;
    return spec && { externalName: spec.type === 'ExternalName', ports: spec.ports };
  },
};

/** A Service's port by number or name. */
export function servicePort({ ports }: ServiceFacts, protocol: Protocol, port: number | string) {
  return ports.find((p) => p.protocol === protocol && (p.port === port || p.name === port));
}

/**
 * Behind a Service's port, from its EndpointSlices. They carry the pods' port under the name of the Service's:
 * that is the translation.
 */
export function serviceEndpoints(
  reader: Reader,
  key: string,
  protocol: Protocol,
  port: number | string,
): LocalEndpoints {
  const facts = reader.unit(serviceFacts, key);
  const named = facts && !facts.externalName ? servicePort(facts, protocol, port) : undefined;
  if (!named) return noEndpoints;
  const merged = new Map<string, Found>();
  for (const slice of reader.list('EndpointSlice', 'service', key)) {
    if (slice.addressType !== 'FQDN') collect(slice, named.name ?? '', protocol, merged);
  }
  const endpoints: RemoteEndpoint[] = [];
  const selected: string[] = [];
  for (const [who, found] of merged) {
    const { addresses, port: target, ready, serving, terminating, zone, nodeName } = found;
    if (!terminating || ready) selected.push(who);
    // Terminating and yet ready: the Service publishes what is not ready.
    const health = ready ? 'Healthy' : terminating && serving ? 'Draining' : undefined;
    const usable = usableAddresses(addresses);
    if (!health || usable.length === 0) continue;
    endpoints.push({ addresses: usable, port: target, zone: zone ?? zoneOfNode(reader, nodeName), health });
  }
  // Their place in a slice says nothing, and changes.
  return { selected, endpoints: endpoints.sort(byAddress) };
}

interface Found {
  readonly addresses: string[];
  readonly port: number;
  readonly ready: boolean;
  readonly serving: boolean;
  readonly terminating: boolean;
  readonly zone: string | undefined;
  readonly nodeName: string | undefined;
}

/** A dual-stack Service has slices for each family: the same target is one endpoint with two addresses. */
function collect(slice: Slice, portName: string, protocol: Protocol, into: Map<string, Found>): void {
  const target = slice.ports.find((port) => port.name === portName && port.protocol === protocol)?.port;
  if (target === undefined) return;
  for (const { addresses, conditions, zone, nodeName, targetRef } of slice.endpoints) {
    // The addresses of one endpoint in a slice are interchangeable; consumers use the first.
    const address = addresses[0];
    if (address === undefined) continue;
    const pod = targetRef?.kind === 'Pod' ? targetRef.name : '';
    const who = pod === '' ? `/${address}` : pod;
    const before = into.get(who);
    if (before) {
      before.addresses.push(address);
      continue;
    }
    const { ready, terminating, serving = ready } = conditions;
    into.set(who, { addresses: [address], port: target, ready, serving, terminating, zone, nodeName });
  }
}
