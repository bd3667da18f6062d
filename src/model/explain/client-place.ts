import type { Inputs } from '../inputs.ts';
import type { Model } from '../model.ts';
import { usableAddresses } from '../pod-facts.ts';
import type { Unit } from '../reader.ts';
import type { Cause } from './explanation.ts';

/** Who opens a connection, and where. Field names are a promise to scripts (docs/seeing-why.md). */
export interface ClientPlace {
  readonly kind: 'Pod' | 'Node';
  /** Empty for a node. */
  readonly namespace: string;
  readonly name: string;
  readonly node: string;
  /** One of each family, at most; empty: not known. */
  readonly addresses: readonly string[];
  /** It has the network of its node: a node itself, or a pod with hostNetwork. */
  readonly hostNetwork: boolean;
}

const form = /^(?:pod\/([^/]+)\/([^/]+)|node\/([^/]+))$/;

/** `pod/<namespace>/<name>` or `node/<name>`. */
export const isClient = (text: string): boolean => form.test(text);

/** Where a client is, by what the model knows; or why nobody can say. */
export const clientPlace = (model: Model, asked: string): ClientPlace | Cause => model.ask(placeOf, asked);

const placeOf: Unit<ClientPlace | Cause> = {
  name: 'clientPlace',
  compute: (reader, asked) => {
    const [, namespace, pod, node] = form.exec(asked) ?? [];
    if (node !== undefined) {
      const found = reader.get('Node', node);
      return found ? ofNode(found) : missing('Node', '', node);
    }
    if (namespace === undefined || pod === undefined) return missing('Pod', '', asked);
    const found = reader.get('Pod', `${namespace}/${pod}`);
    return found ? ofPod(found) : missing('Pod', namespace, pod);
  },
};

function ofNode({ metadata, status }: Inputs['Node']): ClientPlace {
  const internal = status.addresses.filter(({ type }) => type === 'InternalIP').map((a) => a.address);
  return {
    kind: 'Node',
    namespace: '',
    name: metadata.name,
    node: metadata.name,
    addresses: usableAddresses(internal),
    hostNetwork: true,
  };
}

function ofPod({ metadata, spec, status }: Inputs['Pod']): ClientPlace | Cause {
  const { namespace, name } = metadata;
  if (spec.nodeName === undefined) {
    return {
      stops: true,
      reason: 'NotScheduled',
      ref: { kind: 'Pod', namespace, name },
      field: 'spec.nodeName',
      message: 'the pod is on no node yet, so that it opens no connection',
      next: `kubectl describe pod -n ${namespace} ${name}`,
    };
  }
  return {
    kind: 'Pod',
    namespace,
    name,
    node: spec.nodeName,
    addresses: usableAddresses(status.podIPs.map(({ ip }) => ip)),
    hostNetwork: spec.hostNetwork,
  };
}

const missing = (kind: 'Pod' | 'Node', namespace: string, name: string): Cause => ({
  stops: true,
  reason: 'NotFound',
  ref: { kind, namespace, name },
  field: '',
  message: `there is no ${kind} ${namespace === '' ? name : `${namespace}/${name}`} in this cluster`,
  next: kind === 'Node' ? 'causeway get nodes lists them' : `kubectl get pods -n ${namespace}`,
});
