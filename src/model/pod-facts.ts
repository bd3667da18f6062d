import { canonicalAddress, familyOf, isUsableEndpoint } from '../wire/address.ts';
import type { Inputs } from './inputs.ts';
import type { Protocol } from './ir.ts';
import type { Labels } from './label-selector.ts';

type Pod = Inputs['Pod'];

/** What a pod is to traffic: all that units see of it. */
export interface PodFacts {
  readonly name: string;
  readonly labels: Labels;
  /** Canonical, usable, at most one per family, the primary family's first. */
  readonly addresses: readonly string[];
  /** Undefined: takes no traffic. Draining: it is being deleted and still passes its checks. */
  readonly health: 'Healthy' | 'Draining' | undefined;
  readonly terminating: boolean;
  readonly nodeName: string | undefined;
  /** Those with a name, of containers and sidecars; the first of a name counts. */
  readonly ports: readonly NamedPort[];
}

interface NamedPort {
  readonly name: string;
  readonly protocol: string;
  readonly containerPort: number;
}

/** Undefined: the pod has ended, and counts for nothing. */
export function podFacts({ metadata, spec, status }: Pod): PodFacts | undefined {
  if (status.phase === 'Succeeded' || status.phase === 'Failed') return undefined;
  const terminating = metadata.deletionTimestamp !== undefined;
  const ready = status.conditions.some((c) => c.type === 'Ready' && c.status === 'True');
  const addresses = usableAddresses(status.podIPs.map(({ ip }) => ip));
  const up = ready && addresses.length > 0;
  const ports: NamedPort[] = [];
  for (const container of spec.containers) addNamed(container.ports, ports);
  for (const container of spec.initContainers) {
    if (container.restartPolicy === 'Always') addNamed(container.ports, ports);
  }
  return {
    name: metadata.name,
    labels: metadata.labels,
    addresses,
    health: up ? (terminating ? 'Draining' : 'Healthy') : undefined,
    terminating,
    nodeName: spec.nodeName,
    ports,
  };
}

function addNamed(ports: readonly NamedPort[], into: NamedPort[]): void {
  for (const port of ports) if (port.name !== '') into.push(port);
}

/** Canonical and usable, the first of each family. */
export function usableAddresses(texts: readonly string[]): readonly string[] {
  const usable: string[] = [];
  for (const text of texts) {
    const address = canonicalAddress(text);
    if (address === undefined || !isUsableEndpoint(address)) continue;
    if (usable.every((other) => familyOf(other) !== familyOf(address))) usable.push(address);
  }
  return usable;
}

/** The pod's port under a number or a container port's name; undefined: it has none of that name. */
export function podPort(
  { ports }: PodFacts,
  protocol: Protocol,
  target: number | string,
): number | undefined {
  if (typeof target === 'number') return target;
  return ports.find((port) => port.name === target && port.protocol === protocol)?.containerPort;
}
