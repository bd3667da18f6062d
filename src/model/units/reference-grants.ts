import type { Reader } from '../reader.ts';

interface From {
  readonly group: string;
  readonly kind: string;
  readonly namespace: string;
}

interface To {
  readonly group: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** Whether a reference needs no ReferenceGrant (same namespace), or has one in the namespace it leads to. */
export function isReferencePermitted(reader: Reader, from: From, to: To): boolean {
  if (from.namespace === to.namespace) return true;
  return reader
    .list('ReferenceGrant', 'namespace', to.namespace)
    .some(
      ({ spec }) =>
        spec.from.some(
          (f) => f.group === from.group && f.kind === from.kind && f.namespace === from.namespace,
        ) &&
        spec.to.some(
          (t) => t.group === to.group && t.kind === to.kind && (t.name === undefined || t.name === to.name),
        ),
    );
}
