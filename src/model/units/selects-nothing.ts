import type { LabelSelector } from '../label-selector.ts';
import type { Problem } from '../problem.ts';
import type { Reader, Unit } from '../reader.ts';
import type { CompositeMember } from './composite-facts.ts';
import { parseKey, refOf } from './object-key.ts';
import { backendPods, selectedPods } from './selector-endpoints.ts';

export type Member = Pick<CompositeMember, 'as' | 'kind' | 'key'>;

/** By `selector <key>` or `xbackend <key>`. What pods come and go concerns nobody who only wants to know this. */
const selectsAnything: Unit<boolean> = {
  name: 'selectsAnything',
  compute: (reader, unitKey) => {
    const [as = '', key = ''] = unitKey.split(' ');
    return reader.unit(as === 'selector' ? selectedPods : backendPods, key).length > 0;
  },
};

/** A note where an XEndpointSelector or XBackend selects no pod at all; empty otherwise. */
export function selectsNothing(reader: Reader, { as, kind, key }: Member): readonly Problem[] {
  if (as === 'service') return [];
  if (reader.unit(selectsAnything, `${as} ${key}`)) return [];
  const { namespace } = parseKey(key);
  const message = `expected pods in namespace "${namespace}" with ${selectorText(selectorOf(reader, as, key))}, found none`;
  const path = as === 'selector' ? 'spec.selector' : 'spec.endpointSelector';
  return [{ code: 'SelectsNothing', ref: refOf(kind, parseKey(key)), path, message }];
}

export function selectorOf(reader: Reader, as: Member['as'], key: string): LabelSelector {
  const selector =
    as === 'selector'
      ? reader.get('XEndpointSelector', key)?.spec.selector
      : reader.get('XBackend', key)?.spec.endpointSelector;
  return selector ?? {};
}

/** For people. */
export function selectorText({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string {
  return [
    ...Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`),
    ...matchExpressions.map(({ key, operator, values = [] }) =>
      values.length === 0 ? `${key} ${operator}` : `${key} ${operator} (${values.join(', ')})`,
    ),
  ].join(', ');
}
