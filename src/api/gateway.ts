import ipaddr from 'ipaddr.js';
import {
  dnsLabel,
  dnsSubdomain,
  group,
  hostname,
  kindName,
  labelSelector,
  objectName,
  port,
} from './fields.ts';
import { defineKind, type RecordOf } from './kind.ts';
import { choice, type FieldError, list, object, optional, rule, text, withRules } from './schema.ts';

const routeKind = object({
  group: group({ default: 'gateway.networking.k8s.io' }),
  kind: kindName(),
});

const allowedRoutes = object(
  {
    namespaces: object(
      {
        from: choice(['All', 'Selector', 'Same'], { default: 'Same' }),
        selector: optional(labelSelector()),
      },
      { default: { from: 'Same' } },
    ),
    kinds: optional(list(routeKind, { maxItems: 8 })),
  },
  { default: { namespaces: { from: 'Same' } } },
);

const listener = object({
  name: dnsSubdomain(),
  hostname: optional(hostname()),
  port: port(),
  protocol: text({
    minLength: 1,
    maxLength: 255,
    pattern:
      '^[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?$|[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\\/[A-Za-z0-9]+$',
    expects: 'a protocol: TCP, UDP, HTTP, HTTPS, TLS, or one as "example.com/name"',
  }),
  tls: optional(
    object({
      mode: choice(['Terminate', 'Passthrough'], { default: 'Terminate' }),
      certificateRefs: optional(
        list(
          object({
            group: group({ default: '' }),
            kind: kindName({ default: 'Secret' }),
            name: objectName(),
            namespace: optional(dnsLabel()),
          }),
          { maxItems: 64 },
        ),
      ),
    }),
  ),
  allowedRoutes,
});

interface Listener {
  name: string;
  hostname?: string;
  port: number;
  protocol: string;
  tls?: { mode: string };
}

/** The rules that the API server keeps: what is left is for conditions. */
const listenerRules = rule<readonly Listener[]>((listeners) => {
  const errors: FieldError[] = [];
  const names = new Map<string, number>();
  const combinations = new Map<string, number>();
  for (const [i, l] of listeners.entries()) {
    const at = (field: string) => `[${i}].${field}`;
    const sameName = names.get(l.name);
    if (sameName !== undefined) {
      errors.push({
        path: at('name'),
        message: `expected a name that no other listener has, found "${l.name}" as in listeners[${sameName}]`,
      });
    } else names.set(l.name, i);
    const combination = `${l.port}/${l.protocol}/${l.hostname ?? ''}`;
    const same = combinations.get(combination);
    if (same !== undefined) {
      errors.push({
        path: `[${i}]`,
        message: `expected a port, protocol and hostname that no other listener has, found those of listeners[${same}]`,
      });
    } else combinations.set(combination, i);
    if (l.tls && ['HTTP', 'TCP', 'UDP'].includes(l.protocol)) {
      errors.push({ path: at('tls'), message: `expected no tls with protocol ${l.protocol}, found one` });
    }
    if (l.protocol === 'HTTPS' && l.tls && l.tls.mode !== 'Terminate') {
      errors.push({
        path: at('tls.mode'),
        message: `expected "Terminate" with HTTPS, found "${l.tls.mode}"`,
      });
    }
    if (l.protocol === 'TLS' && !l.tls) {
      errors.push({ path: at('tls'), message: 'expected tls with protocol TLS, found none' });
    }
    if (l.hostname !== undefined && (l.protocol === 'TCP' || l.protocol === 'UDP')) {
      errors.push({
        path: at('hostname'),
        message: `expected no hostname with protocol ${l.protocol}, found "${l.hostname}"`,
      });
    }
  }
  return errors;
});

const address = withRules(
  object({
    type: text({
      minLength: 1,
      maxLength: 253,
      pattern:
        "^Hostname|IPAddress|NamedAddress|[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\\/[A-Za-z0-9\\/\\-._~%!$&'()*+,;=:]+$",
      expects: 'IPAddress, Hostname, NamedAddress, or a type as "example.com/name"',
      default: 'IPAddress',
    }),
    /** Absent or empty: any address of the type. */
    value: optional(text({ maxLength: 253 })),
    routability: optional(text({ maxLength: 253 })),
  }),
  rule<{ type: string; value?: string }>(({ type, value }) => {
    if (value === undefined || value === '') return [];
    const valid =
      type === 'IPAddress'
        ? isAddress(value)
        : type !== 'Hostname' ||
          /^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(value);
    const expected = type === 'IPAddress' ? 'an IPv4 or IPv6 address' : 'a host name';
    return valid ? [] : [{ path: 'value', message: `expected ${expected}, found ${JSON.stringify(value)}` }];
  }),
);

/** Full text forms only: `1.1.1` and zone ids are no addresses. */
function isAddress(value: string): boolean {
  return ipaddr.IPv4.isValidFourPartDecimal(value) || (ipaddr.IPv6.isValid(value) && !value.includes('%'));
}

const uniqueAddresses = rule<readonly { type: string; value?: string }[]>((addresses) => {
  const seen = new Map<string, number>();
  return addresses.flatMap(({ type, value }, i) => {
    if (value === undefined || (type !== 'IPAddress' && type !== 'Hostname')) return [];
    const first = seen.get(`${type} ${value}`);
    if (first === undefined) {
      seen.set(`${type} ${value}`, i);
      return [];
    }
    return [
      {
        path: `[${i}].value`,
        message: `expected each value once, found "${value}" as in addresses[${first}]`,
      },
    ];
  });
});

export const gateway = defineKind({
  kind: 'Gateway',
  group: 'gateway.networking.k8s.io',
  versions: ['v1', 'v1beta1'],
  namespaced: true,
  name: 'subdomain',
  schema: object({
    spec: object({
      gatewayClassName: objectName(),
      listeners: withRules(list(listener, { minItems: 1, maxItems: 64 }), listenerRules),
      addresses: withRules(list(address, { maxItems: 16, default: [] }), uniqueAddresses),
      infrastructure: optional(
        object({
          parametersRef: optional(object({ group: group(), kind: kindName(), name: objectName() })),
        }),
      ),
    }),
  }),
});
type Gateway = RecordOf<typeof gateway>;
export type GatewayListener = Gateway['spec']['listeners'][number];
