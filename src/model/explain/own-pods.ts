import type { LabelSelector } from '../label-selector.ts';
import type { PodFacts } from '../pod-facts.ts';
import type { Reader } from '../reader.ts';
import { parseKey, refOf } from '../units/object-key.ts';
import { backendPods, selectedPods } from '../units/selector-endpoints.ts';
import { type Member, selectorOf, selectsNothing } from '../units/selects-nothing.ts';
import { causeOf } from './cause.ts';
import type { Cause, ClusterExplanation } from './explanation.ts';

export interface OwnPods {
  /** Selected pods that take no traffic, or only as long as there is no other. */
  readonly notUsed: ClusterExplanation['notUsed'];
  /** Why none takes traffic; empty where some do. */
  readonly causes: readonly Cause[];
}

/** What of this cluster's own pods is behind a back end and what of them is not used. */
export function ownPods(reader: Reader, member: Member, endpoints: number): OwnPods {
  if (member.as === 'service') return ofService(reader, member, endpoints);
  const pods = reader.unit(member.as === 'selector' ? selectedPods : backendPods, member.key);
  const notUsed = pods.flatMap((pod) => {
    const why = whyNot(pod);
    return why === undefined ? [] : [{ name: pod.name, why }];
  });
  if (endpoints > 0) return { notUsed, causes: [] };
  if (pods.length === 0) return { notUsed, causes: nothingSelected(reader, member) };
  const cause = notUsed.length === pods.length ? noneReady(member, notUsed) : noPort(member);
  return { notUsed, causes: [cause] };
}

function whyNot({ addresses, health, terminating }: PodFacts): string | undefined {
  if (terminating) return health === 'Draining' ? 'terminating, last resort' : 'terminating';
  if (health === 'Healthy') return undefined;
  return addresses.length === 0 ? 'no usable address' : 'not ready';
}

/** The note of the selector's status, which here stops the path, with what pods there have instead. */
function nothingSelected(reader: Reader, member: Member): readonly Cause[] {
  const { namespace } = parseKey(member.key);
  const hints = nearMisses(reader, namespace, selectorOf(reader, member.as, member.key));
  return selectsNothing(reader, member).map((problem) => {
    const cause = causeOf(problem);
    return { ...cause, stops: true, message: [cause.message, ...hints].join('; ') };
  });
}

const shown = 6;

/** What pods there have in the place of the labels that are asked for. */
function nearMisses(reader: Reader, namespace: string, selector: LabelSelector): readonly string[] {
  const pods = reader.pods(namespace, {});
  if (pods.length === 0) return ['there are no pods at all'];
  return Object.keys(selector.matchLabels ?? {}).map((key) => {
    const values = [...new Set(pods.flatMap(({ labels }) => labels[key] ?? []))].sort();
    const more = values.length > shown ? ', …' : '';
    return values.length === 0
      ? `no pod there has the label ${key}`
      : `pods there have ${key}: ${values.slice(0, shown).join(', ')}${more}`;
  });
}

function noneReady({ kind, key }: Member, notUsed: OwnPods['notUsed']): Cause {
  const names = notUsed.slice(0, 3).map(({ name, why }) => `${name} ${why}`);
  const more = notUsed.length > 3 ? `, and ${notUsed.length - 3} more` : '';
  return {
    stops: true,
    reason: 'NoEndpoints',
    ref: refOf(kind, parseKey(key)),
    field: '',
    message: `it selects ${count(notUsed.length, 'pod')} and none is ready: ${names.join(', ')}${more}`,
    next: 'look at the readiness of these pods',
  };
}

const noPort = ({ kind, key }: Member): Cause => ({
  stops: true,
  reason: 'NoEndpoints',
  ref: refOf(kind, parseKey(key)),
  field: '',
  message: 'its pods have no port of that name, or no address of the wanted family',
  next: 'compare the target port with the ports of the containers',
});

function ofService(reader: Reader, { kind, key }: Member, endpoints: number): OwnPods {
  const notUsed = reader.list('EndpointSlice', 'service', key).flatMap((slice) =>
    slice.endpoints.flatMap(({ addresses, conditions, targetRef }) => {
      if (conditions.ready) return [];
      const name = targetRef?.name ?? addresses[0] ?? '';
      return [{ name, why: conditions.terminating ? 'terminating' : 'not ready' }];
    }),
  );
  if (endpoints > 0) return { notUsed, causes: [] };
  if (notUsed.length > 0) return { notUsed, causes: [noneReady({ as: 'service', kind, key }, notUsed)] };
  const cause: Cause = {
    stops: true,
    reason: 'NoEndpoints',
    ref: refOf(kind, parseKey(key)),
    field: '',
    message: 'its EndpointSlices have no endpoint on this port',
    next: 'compare the selector and the ports of the Service with the pods',
  };
  return { notUsed, causes: [cause] };
}

const count = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? '' : 's'}`;
