import { dnsLabel, group, kindName, objectName } from './fields.ts';
import { defineKind } from './kind.ts';
import { object, optional, text } from './schema.ts';

export const gatewayClass = defineKind({
  kind: 'GatewayClass',
  group: 'gateway.networking.k8s.io',
  versions: ['v1', 'v1beta1'],
  namespaced: false,
  name: 'subdomain',
  schema: object({
    spec: object({
      controllerName: text({
        minLength: 1,
        maxLength: 253,
        pattern:
          "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\\/[A-Za-z0-9\\/\\-._~%!$&'()*+,;=:]+$",
        expects: 'a controller as "example.com/name"',
      }),
      parametersRef: optional(
        object({
          group: group(),
          kind: kindName(),
          name: objectName(),
          namespace: optional(dnsLabel()),
        }),
      ),
    }),
  }),
});
