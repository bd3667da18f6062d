import type { Inputs } from '../inputs.ts';
import type { BackendKind } from '../keys.ts';
import { isEmptySelector } from '../label-selector.ts';
import type { ProblemCode } from '../problem-codes.ts';
import type { Reader } from '../reader.ts';
import { serviceFacts } from './service-endpoints.ts';

/** A reference to something that holds endpoints, as routes and composites have them. */
export interface BackendObjectRef {
  readonly group: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

export interface Refusal {
  readonly code: ProblemCode;
  readonly message: string;
}

interface ObjectKind {
  readonly group: string;
  readonly kind: string;
  readonly as: BackendKind;
}

/** Back ends by their kind in the API. */
export const backendObjectKinds: readonly ObjectKind[] = [
  { group: 'causeway.dev', kind: 'CompositeBackend', as: 'composite' },
  { group: 'gateway.networking.x-k8s.io', kind: 'XEndpointSelector', as: 'selector' },
  { group: '', kind: 'Service', as: 'service' },
  { group: 'gateway.networking.x-k8s.io', kind: 'XBackend', as: 'xbackend' },
];

/** Which of our kinds a reference means, or why none. */
export function backendKindOf(
  { group, kind }: BackendObjectRef,
  allowed: readonly ObjectKind[],
): BackendKind | Refusal {
  const known = allowed.find((k) => k.group === group && k.kind === kind);
  if (known) return known.as;
  const found = `found ${kind} of group "${group}"`;
  const near = allowed.find((k) => k.kind.endsWith(kind) || kind.endsWith(k.kind));
  const message = near
    ? `expected ${near.kind} of group "${near.group}", ${found}`
    : `expected ${allowed.map((k) => k.kind).join(', ')}, ${found}`;
  return { code: 'BackendKindInvalid', message };
}

/** Why an XEndpointSelector cannot be used. */
export function selectorRefusal({ spec }: Inputs['XEndpointSelector']): Refusal | undefined {
  if (!isEmptySelector(spec.selector)) return undefined;
  return {
    code: 'SelectorEmpty',
    message: 'expected at least one label or expression, found an empty selector',
  };
}

/** Why an XBackend cannot be used. */
export function xBackendRefusal({ spec }: Inputs['XBackend']): Refusal | undefined {
  const unsupported = (message: string): Refusal => ({ code: 'BackendTypeUnsupported', message });
  if (spec.type !== 'EndpointSelector') {
    return unsupported(`expected type EndpointSelector, found ${spec.type}, which is not served yet`);
  }
  if (spec.tls.mode !== 'None') {
    return unsupported(
      `expected tls.mode None, found ${spec.tls.mode}: connections are passed on as they are`,
    );
  }
  if (spec.port.number === undefined) return unsupported('expected port.number, found none');
  if (!spec.endpointSelector || isEmptySelector(spec.endpointSelector)) {
    return { code: 'SelectorEmpty', message: 'expected at least one label, found an empty selector' };
  }
  return undefined;
}

/** Whether a back end other than a composite exists and can be used. */
export function refusalOf(
  reader: Reader,
  as: Exclude<BackendKind, 'composite'>,
  kind: string,
  key: string,
): Refusal | undefined {
  const missing: Refusal = { code: 'BackendNotFound', message: `${kind} ${key} does not exist` };
  if (as === 'service') {
    const facts = reader.unit(serviceFacts, key);
    if (!facts) return missing;
    if (!facts.externalName) return undefined;
    const message = `expected a Service with endpoints, found ${key} of type ExternalName`;
    return { code: 'BackendNotAccepted', message };
  }
  const refused = as === 'selector' ? refusedSelector(reader, key) : refusedXBackend(reader, key);
  if (refused === null) return missing;
  return (
    refused && { code: 'BackendNotAccepted', message: `${kind} ${key} is not accepted: ${refused.message}` }
  );
}

/** null: it does not exist. */
function refusedSelector(reader: Reader, key: string): Refusal | undefined | null {
  const record = reader.get('XEndpointSelector', key);
  return record ? selectorRefusal(record) : null;
}

function refusedXBackend(reader: Reader, key: string): Refusal | undefined | null {
  const record = reader.get('XBackend', key);
  return record ? xBackendRefusal(record) : null;
}
