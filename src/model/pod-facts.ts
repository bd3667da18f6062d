import { canonicalAddress, familyOf, isUsableEndpoint } from '../wire/address.ts';
import type { Inputs, RemoteEndpoint } from './inputs.ts';
import type { Protocol } from './ir.ts';
import type { Labels } from './label-selector.ts';

type Pod = Inputs['Pod'];

/** What a pod is to traffic: all that units see of it. Immutable. */
export class PodFacts {
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
  #endpoint: RemoteEndpoint | undefined;

  constructor({ metadata, spec, status }: Pod) {
    const ready = status.conditions.some((c) => c.type === 'Ready' && c.status === 'True');
    this.name = metadata.name;
    this.labels = metadata.labels;
    this.addresses = usableAddresses(status.podIPs.map(({ ip }) => ip));
    this.terminating = metadata.deletionTimestamp !== undefined;
    const up = ready && this.addresses.length > 0;
    this.health = up ? (this.terminating ? 'Draining' : 'Healthy') : undefined;
    this.nodeName = spec.nodeName;
    const sidecars = spec.initContainers.filter(({ restartPolicy }) => restartPolicy === 'Always');
    this.ports = [...spec.containers, ...sidecars].flatMap((c) => c.ports.filter(({ name }) => name !== ''));
  }

  /** Its port under a number or a container port's name; undefined: it has none of that name. */
  port(protocol: Protocol, target: number | string): number | undefined {
    if (typeof target === 'number') return target;
    return this.ports.find((port) => port.name === target && port.protocol === protocol)?.containerPort;
  }

  /** As an endpoint; undefined: it takes no traffic. The same object as long as nothing differs, if it can be. */
  endpoint(port: number, zone: string): RemoteEndpoint | undefined {
    const last = this.#endpoint;
    if (this.health === undefined || (last?.port === port && last.zone === zone)) return last;
    this.#endpoint = { addresses: this.addresses, port, zone, health: this.health };
    return this.#endpoint;
  }
}

interface NamedPort {
  readonly name: string;
  readonly protocol: string;
  readonly containerPort: number;
}

/** Undefined: the pod has ended, and counts for nothing. */
export function podFacts(pod: Pod): PodFacts | undefined {
  const { phase } = pod.status;
  return phase === 'Succeeded' || phase === 'Failed' ? undefined : new PodFacts(pod);
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
