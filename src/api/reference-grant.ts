import { dnsLabel, group, kindName, objectName } from './fields.ts';
import { defineKind } from './kind.ts';
import { list, object, optional } from './schema.ts';

export const referenceGrant = defineKind({
  kind: 'ReferenceGrant',
  group: 'gateway.networking.k8s.io',
  versions: ['v1', 'v1beta1'],
  namespaced: true,
  name: 'subdomain',
  schema: object({
    spec: object({
      from: list(object({ group: group(), kind: kindName(), namespace: dnsLabel() }), {
        minItems: 1,
        maxItems: 16,
      }),
      to: list(object({ group: group(), kind: kindName(), name: optional(objectName()) }), {
        minItems: 1,
        maxItems: 16,
      }),
    }),
  }),
});
