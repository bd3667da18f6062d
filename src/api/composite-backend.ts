import { conditions, dnsLabel, dnsSubdomain, group, kindName, port, selectorFields } from './fields.ts';
import { defineKind } from './kind.ts';
import {
  choice,
  type FieldError,
  integer,
  list,
  object,
  optional,
  portOrName,
  rule,
  text,
  type Value,
  withRules,
} from './schema.ts';

/** Clusters of the set: by name, by labels of their identity, or both. Empty: every cluster. */
const clusterFields = () => ({
  names: optional(list(dnsLabel(), { maxItems: 256, set: true, description: 'Cluster ids. Absent: any.' })),
  ...selectorFields(),
});
const clusterSelector = object(clusterFields(), {
  description: 'Clusters by id and by the labels bound to their identity. Empty: every cluster of the set.',
});
export type ClusterSelector = Value<typeof clusterSelector>;

const peer = object({
  clusters: optional(clusterSelector),
  namespace: optional(dnsLabel({ description: 'Default: the namespace of this object.' })),
  name: optional(dnsSubdomain({ description: 'Default: the name of this object.' })),
});
export type CompositePeer = Value<typeof peer>;

const logicalPort = object({
  name: optional(dnsLabel({ description: 'Unique in the list.' })),
  port: port({ description: 'The number that backendRef.port names, the same in every cluster.' }),
  protocol: choice(['TCP', 'UDP'], { default: 'TCP' }),
  targetPort: optional(
    portOrName({
      description:
        "This cluster's translation: the pods' port or container port name, or the Service's port or port name. Default: port.",
    }),
  ),
});

const uniquePortNames = rule<readonly { name?: string }[]>((ports) => {
  const seen = new Map<string, number>();
  return ports.flatMap(({ name }, i) => {
    if (name === undefined) return [];
    const first = seen.get(name);
    if (first !== undefined) {
      return [
        {
          path: `[${i}].name`,
          message: `expected a name that no other port has, found "${name}" as in ports[${first}]`,
        },
      ];
    }
    seen.set(name, i);
    return [];
  });
});

const distribution = withRules(
  object(
    {
      policy: choice(['Even', 'PreferLocal', 'Ordered', 'CapacityAware'], {
        default: 'Even',
        description: 'How traffic is shared between clusters.',
      }),
      order: optional(
        list(clusterSelector, {
          minItems: 1,
          maxItems: 16,
          description: 'Ordered: one tier per entry; clusters that match none form the last.',
        }),
      ),
      localThresholdPercent: integer(0, 100, {
        default: 50,
        description:
          'PreferLocal: from this share of ready endpoints on, all traffic stays; below, the share that is not ready spills.',
      }),
    },
    { default: {} },
  ),
  rule<{ policy: string; order?: unknown }>(
    ({ policy, order }): readonly FieldError[] => {
      if (policy === 'Ordered' && order === undefined) {
        return [{ path: 'order', message: 'expected an order with policy Ordered, found none' }];
      }
      if (policy !== 'Ordered' && order !== undefined) {
        return [{ path: 'order', message: `expected no order with policy ${policy}, found one` }];
      }
      return [];
    },
    {
      rule: "(has(self.policy) && self.policy == 'Ordered') == has(self.order)",
      message: 'order must be set with policy Ordered, and only then',
    },
  ),
);

/**
 * Sits between a route and back ends. Across clusters it merges the back ends of every composite with the same
 * namespace and name.
 */
export const compositeBackend = defineKind({
  kind: 'CompositeBackend',
  group: 'causeway.dev',
  versions: ['v1alpha1'],
  namespaced: true,
  name: 'subdomain',
  schema: object({
    spec: object(
      {
        ports: withRules(
          list(logicalPort, {
            maxItems: 64,
            mapKeys: ['port', 'protocol'],
            default: [],
            description:
              "Logical ports. Empty: backendRef.port is the target port, and the protocol is the route's.",
          }),
          uniquePortNames,
        ),
        backends: list(
          object({
            group: group({ default: '' }),
            kind: kindName({ default: 'Service' }),
            name: dnsSubdomain(),
          }),
          {
            maxItems: 16,
            default: [],
            description: "This cluster's own contribution, of this namespace. Empty: a pure consumer.",
          },
        ),
        import: object(
          {
            from: list(peer, {
              maxItems: 16,
              default: [{}],
              description: 'Default: every cluster of the set, same namespace and name. []: local only.',
            }),
          },
          { default: {}, description: 'Whose contributions are merged.' },
        ),
        export: object(
          {
            to: list(peer, {
              maxItems: 16,
              default: [{}],
              description: 'Default: the same namespace and name in every cluster of the set. []: nobody.',
            }),
          },
          { default: {}, description: 'Who may take our contribution.' },
        ),
        distribution,
        disconnect: object(
          {
            expireAfter: text({
              maxLength: 32,
              pattern: '^(Never|([0-9]{1,5}(h|m|s|ms)){1,4})$',
              expects: 'a duration as "15m" (h, m, s, ms), or "Never"',
              default: '15m',
              description: 'After this time without contact the endpoints of a cluster are given up.',
            }),
          },
          { default: {} },
        ),
      },
      { description: 'What is merged, from whom, for whom, and how traffic is shared.', default: {} },
    ),
  }),
  crd: {
    plural: 'compositebackends',
    shortNames: ['composite'],
    description:
      'Merges the back ends of every composite with the same namespace and name in a set of clusters.',
    status: object({
      conditions: optional(conditions()),
      summary: optional(
        object({
          clusters: text({
            maxLength: 64,
            description: 'Clusters that contribute, of those known, as "2/3".',
          }),
          endpoints: integer(0, 2_147_483_647, { description: 'Usable endpoints.' }),
        }),
      ),
      clusters: optional(
        list(
          object({
            name: dnsLabel(),
            state: choice(['Synced', 'Syncing', 'Stale', 'Expired', 'NotOffered', 'Refused']),
            reason: optional(text({ maxLength: 1024 })),
            message: optional(text({ maxLength: 32768 })),
            lastTransitionTime: optional({ ...text({ maxLength: 64 }), format: 'date-time' }),
          }),
          { maxItems: 256, mapKeys: ['name'] },
        ),
      ),
    }),
    columns: [
      { name: 'Policy', type: 'string', jsonPath: '.spec.distribution.policy' },
      { name: 'Clusters', type: 'string', jsonPath: '.status.summary.clusters' },
      { name: 'Endpoints', type: 'integer', jsonPath: '.status.summary.endpoints' },
      { name: 'Accepted', type: 'string', jsonPath: '.status.conditions[?(@.type=="Accepted")].status' },
      { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    ],
  },
});
