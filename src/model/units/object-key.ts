import type { Metadata } from '../../api/kind.ts';
import type { ObjectRef } from '../problem.ts';
import { byText } from '../sorted-map.ts';

export interface NamespacedName {
  readonly namespace: string;
  readonly name: string;
}

export const keyOf = ({ namespace, name }: NamespacedName): string =>
  namespace === '' ? name : `${namespace}/${name}`;

export function parseKey(key: string): NamespacedName {
  const slash = key.indexOf('/');
  return { namespace: key.slice(0, Math.max(0, slash)), name: key.slice(slash + 1) };
}

export const refOf = (kind: string, { namespace, name }: NamespacedName): ObjectRef => ({
  kind,
  namespace,
  name,
});

/** Oldest first, then by namespace and name. An unknown age is the oldest. */
export function byAge(a: Metadata, b: Metadata): number {
  return bornAt(a) - bornAt(b) || byText(a.namespace, b.namespace) || byText(a.name, b.name);
}

function bornAt({ creationTimestamp }: Metadata): number {
  const time = Date.parse(creationTimestamp);
  return Number.isNaN(time) ? 0 : time;
}
