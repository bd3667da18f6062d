import { canonicalAddress, type Family, familyOf, isUsableEndpoint } from '../../wire/address.ts';
import type { Inputs } from '../inputs.ts';
import type { Protocol } from '../ir.ts';

type Pod = Inputs['Pod'];

/** What a pod is to traffic. */
export interface PodFacts {
  readonly name: string;
  /** Canonical, usable, at most one per family, the primary family's first. */
  readonly addresses: readonly string[];
  /** Undefined: takes no traffic. Draining: it is being deleted and still passes its checks. */
  readonly health: 'Healthy' | 'Draining' | undefined;
  readonly terminating: boolean;
  readonly nodeName: string | undefined;
  /** `<protocol>/<name>` → number, of containers and sidecars. */
  readonly ports: ReadonlyMap<string, number>;
}

const known = new WeakMap<Pod, PodFacts | undefined>();

/** Undefined: the pod has ended, and counts for nothing. Records are immutable, so the answer is kept with them. */
export function podFacts(pod: Pod): PodFacts | undefined {
  if (known.has(pod)) return known.get(pod);
  const facts = factsOf(pod);
  known.set(pod, facts);
  return facts;
}

function factsOf({ metadata, spec, status }: Pod): PodFacts | undefined {
  if (status.phase === 'Succeeded' || status.phase === 'Failed') return undefined;
  const terminating = metadata.deletionTimestamp !== undefined;
  const ready = status.conditions.some((c) => c.type === 'Ready' && c.status === 'True');
  const addresses = usableAddresses(status.podIPs.map(({ ip }) => ip));
  const up = ready && addresses.length > 0;
  const ports = new Map<string, number>();
  const sidecars = spec.initContainers.filter(({ restartPolicy }) => restartPolicy === 'Always');
  for (const container of [...spec.containers, ...sidecars]) {
    for (const { name, protocol, containerPort } of container.ports) {
      const key = `${protocol}/${name}`;
      if (name !== '' && !ports.has(key)) ports.set(key, containerPort);
    }
  }
  return {
    name: metadata.name,
    addresses,
    health: up ? (terminating ? 'Draining' : 'Healthy') : undefined,
    terminating,
    nodeName: spec.nodeName,
    ports,
  };
}

/** Canonical and usable, the first of each family. */
export function usableAddresses(texts: readonly string[]): readonly string[] {
  const byFamily = new Map<Family, string>();
  for (const text of texts) {
    const address = canonicalAddress(text);
    if (address === undefined || !isUsableEndpoint(address)) continue;
    if (!byFamily.has(familyOf(address))) byFamily.set(familyOf(address), address);
  }
  return [...byFamily.values()];
}

/** The pod's port under a number or a container port's name; undefined: it has none of that name. */
export function podPort(
  { ports }: PodFacts,
  protocol: Protocol,
  target: number | string,
): number | undefined {
  return typeof target === 'number' ? target : ports.get(`${protocol}/${target}`);
}
