import { dnsLabel, dnsSubdomain, group, kindName, objectName, port } from './fields.ts';
import { type FieldError, integer, list, object, optional, rule, type Value, withRules } from './schema.ts';

/** What TCPRoute and UDPRoute have in common: parents, and one rule with weighted back ends. */

const parentRef = object({
  group: group({ default: 'gateway.networking.k8s.io' }),
  kind: kindName({ default: 'Gateway' }),
  namespace: optional(dnsLabel()),
  name: objectName(),
  sectionName: optional(dnsSubdomain()),
  port: optional(port()),
});
export type ParentRef = Value<typeof parentRef>;

const backendRef = withRules(
  object({
    group: group({ default: '' }),
    kind: kindName({ default: 'Service' }),
    name: objectName(),
    namespace: optional(dnsLabel()),
    port: optional(port()),
    weight: integer(0, 1_000_000, { default: 1 }),
  }),
  rule<{ group: string; kind: string; port?: number }>((ref) => {
    if (ref.group === '' && ref.kind === 'Service' && ref.port === undefined) {
      return [{ path: 'port', message: 'expected a port with kind Service, found none' }];
    }
    if (ref.group === 'gateway.networking.x-k8s.io' && ref.kind === 'XBackend' && ref.port !== undefined) {
      return [
        { path: 'port', message: `expected no port with kind XBackend (it has its own), found ${ref.port}` },
      ];
    }
    return [];
  }),
);
export type BackendRef = Value<typeof backendRef>;

interface Parent {
  group: string;
  kind: string;
  namespace?: string;
  name: string;
  sectionName?: string;
  port?: number;
}

/** Two references to one parent must both name a section or port, and not the same. */
const distinctParents = rule<readonly Parent[]>((parents) => {
  const errors: FieldError[] = [];
  const first = new Map<string, { index: number; parent: Parent }>();
  const sections = new Set<string>();
  for (const [i, parent] of parents.entries()) {
    const target = JSON.stringify([parent.group, parent.kind, parent.namespace ?? '', parent.name]);
    const section = JSON.stringify([target, parent.sectionName ?? '', parent.port ?? 0]);
    const before = first.get(target);
    if (sections.has(section)) {
      errors.push({
        path: `[${i}]`,
        message: 'expected each parent, section and port once, found the same reference twice',
      });
    } else if (
      before &&
      ((before.parent.sectionName === undefined) !== (parent.sectionName === undefined) ||
        (before.parent.port === undefined) !== (parent.port === undefined))
    ) {
      errors.push({
        path: `[${i}]`,
        message: `expected a sectionName or port in every reference to one parent, found one without beside parentRefs[${before.index}]`,
      });
    }
    if (!before) first.set(target, { index: i, parent });
    sections.add(section);
  }
  return errors;
});

/** Without a match to tell them apart, a second rule of an L4 route has no meaning: exactly one is taken. */
export const routeSchema = () =>
  object({
    spec: object({
      parentRefs: withRules(list(parentRef, { maxItems: 32, default: [] }), distinctParents),
      rules: list(
        object({
          name: optional(dnsSubdomain()),
          backendRefs: list(backendRef, { minItems: 1, maxItems: 16 }),
        }),
        { minItems: 1, maxItems: 1 },
      ),
    }),
  });
