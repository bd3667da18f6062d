import { labels, port } from './fields.ts';
import { defineKind } from './kind.ts';
import { choice, type FieldError, object, optional, rule, text, withRules } from './schema.ts';

interface Spec {
  type: string;
  endpointSelector?: { matchLabels: Record<string, string> };
  externalHostname?: { hostname: string };
  protocol?: string;
  tls: { mode: string };
}

const specRules = rule<Spec>((spec) => {
  const errors: FieldError[] = [];
  const members = [
    ['EndpointSelector', 'endpointSelector', spec.endpointSelector],
    ['ExternalHostname', 'externalHostname', spec.externalHostname],
  ] as const;
  for (const [type, field, value] of members) {
    if (spec.type === type && !value) {
      errors.push({ path: field, message: `expected ${field} with type ${type}, found none` });
    } else if (spec.type !== type && value) {
      errors.push({ path: field, message: `expected no ${field} with type ${spec.type}, found one` });
    }
  }
  if (spec.protocol === 'H2C' && spec.tls.mode !== 'None') {
    errors.push({ path: 'tls.mode', message: `expected "None" with protocol H2C, found "${spec.tls.mode}"` });
  }
  if ((spec.protocol === 'HTTP2' || spec.protocol === 'WSS') && spec.tls.mode === 'None') {
    errors.push({ path: 'tls.mode', message: `expected TLS with protocol ${spec.protocol}, found "None"` });
  }
  return errors;
});

/** GEP-4894. */
export const xBackend = defineKind({
  kind: 'XBackend',
  group: 'gateway.networking.x-k8s.io',
  versions: ['v1alpha1'],
  namespaced: true,
  name: 'subdomain',
  schema: object({
    spec: withRules(
      object({
        type: choice(['EndpointSelector', 'ExternalHostname']),
        port: object({ number: port() }),
        endpointSelector: optional(
          object({
            matchLabels: labels({ minProperties: 1 }, 64),
          }),
        ),
        externalHostname: optional(
          object({
            hostname: withRules(
              text({
                minLength: 1,
                maxLength: 253,
                pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
                expects: 'a host name',
              }),
              rule<string>((name) =>
                name.endsWith('.cluster.local')
                  ? [{ path: '', message: `expected a name outside cluster.local, found "${name}"` }]
                  : [],
              ),
            ),
          }),
        ),
        protocol: optional(choice(['TCP', 'HTTP', 'HTTP2', 'HTTP11', 'H2C', 'MCP', 'GRPC', 'WSS'])),
        tls: object(
          { mode: choice(['None', 'ServerOnly', 'ClientAndServer']) },
          { default: { mode: 'None' } },
        ),
      }),
      specRules,
    ),
  }),
});
