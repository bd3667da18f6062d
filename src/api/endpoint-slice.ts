import { appProtocol, port } from './fields.ts';
import { defineKind } from './kind.ts';
import { choice, flag, list, object, optional, text } from './schema.ts';

/** The label that says which Service a slice belongs to. */
export const serviceNameLabel = 'kubernetes.io/service-name';

export const endpointSlice = defineKind({
  kind: 'EndpointSlice',
  group: 'discovery.k8s.io',
  versions: ['v1'],
  namespaced: true,
  name: 'subdomain',
  schema: object({
    addressType: choice(['IPv4', 'IPv6', 'FQDN']),
    endpoints: list(
      object({
        /** The API says that all are one endpoint, and that consumers use the first. */
        addresses: list(text({ minLength: 1, maxLength: 253 }), { minItems: 1, maxItems: 100 }),
        /** Absent `ready` and `serving` mean true, absent `terminating` means false. */
        conditions: object(
          {
            ready: flag({ default: true }),
            serving: optional(flag()),
            terminating: flag({ default: false }),
          },
          { default: {} },
        ),
        nodeName: optional(text({ maxLength: 253 })),
        zone: optional(text({ maxLength: 253 })),
        hostname: optional(text({ maxLength: 63 })),
        targetRef: optional(
          object({
            kind: text({ maxLength: 63, default: '' }),
            namespace: text({ maxLength: 63, default: '' }),
            name: text({ maxLength: 253, default: '' }),
          }),
        ),
      }),
      { maxItems: 1000, default: [] },
    ),
    ports: list(
      object({
        name: text({ maxLength: 63, default: '' }),
        protocol: choice(['TCP', 'UDP', 'SCTP'], { default: 'TCP' }),
        /** Absent: all ports. */
        port: optional(port()),
        appProtocol: optional(appProtocol()),
      }),
      { maxItems: 20_000, default: [] },
    ),
  }),
});
