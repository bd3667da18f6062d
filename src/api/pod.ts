import { port } from './fields.ts';
import { defineKind } from './kind.ts';
import { choice, flag, list, object, optional, text } from './schema.ts';

const ports = list(
  object({
    name: text({ maxLength: 15, default: '' }),
    containerPort: port(),
    protocol: choice(['TCP', 'UDP', 'SCTP'], { default: 'TCP' }),
  }),
  { maxItems: 1000, default: [] },
);

export const pod = defineKind({
  kind: 'Pod',
  group: '',
  versions: ['v1'],
  namespaced: true,
  name: 'subdomain',
  singular: [{ section: 'status', one: 'podIP', many: 'podIPs', field: 'ip' }],
  schema: object({
    spec: object({
      nodeName: optional(text({ maxLength: 253 })),
      hostNetwork: flag({ default: false }),
      containers: list(object({ name: text({ maxLength: 63, default: '' }), ports }), {
        maxItems: 1000,
        default: [],
      }),
      /** Those with restartPolicy Always are sidecars, whose named ports count. */
      initContainers: list(
        object({
          name: text({ maxLength: 63, default: '' }),
          restartPolicy: optional(text({ maxLength: 32 })),
          ports,
        }),
        { maxItems: 1000, default: [] },
      ),
    }),
    status: object(
      {
        phase: choice(['Pending', 'Running', 'Succeeded', 'Failed', 'Unknown'], { default: 'Pending' }),
        /** One per IP family, the primary family's first. */
        podIPs: list(object({ ip: text({ minLength: 1, maxLength: 64 }) }), { maxItems: 2, default: [] }),
        conditions: list(
          object({ type: text({ maxLength: 316 }), status: choice(['True', 'False', 'Unknown']) }),
          { maxItems: 1000, default: [] },
        ),
      },
      { default: {} },
    ),
  }),
});
