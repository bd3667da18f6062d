import { appProtocol, conditions, dnsLabel, ipFamily, selectorFields } from './fields.ts';
import { defineKind } from './kind.ts';
import { choice, list, object, optional, portOrName, rule, withRules } from './schema.ts';

const selector = withRules(
  object(selectorFields(), { description: 'Which pods of this namespace are endpoints. Must not be empty.' }),
  rule<{ matchLabels?: object; matchExpressions?: readonly unknown[] }>(
    ({ matchLabels, matchExpressions }) =>
      Object.keys(matchLabels ?? {}).length === 0 && (matchExpressions ?? []).length === 0
        ? [{ path: '', message: 'expected at least one matchLabels or matchExpressions entry, found none' }]
        : [],
    {
      rule: '(has(self.matchLabels) && size(self.matchLabels) > 0) || (has(self.matchExpressions) && size(self.matchExpressions) > 0)',
      message: 'selector must have at least one matchLabels or matchExpressions entry',
    },
  ),
);

/** Only the pod-selector part of a Service: a bucket of endpoints without a name or an address. */
export const xEndpointSelector = defineKind({
  kind: 'XEndpointSelector',
  group: 'gateway.networking.x-k8s.io',
  versions: ['v1alpha1'],
  namespaced: true,
  name: 'subdomain',
  schema: object({
    spec: object(
      {
        selector,
        ipFamilies: optional(
          list(ipFamily(), {
            minItems: 1,
            maxItems: 2,
            set: true,
            description: 'Which addresses of a pod are used, in this order. Default: those the cluster has.',
          }),
        ),
        ports: optional(
          list(
            object({
              name: dnsLabel({ description: 'Name of the port, for people and for targetPort by name.' }),
              protocol: choice(['TCP', 'UDP'], { default: 'TCP' }),
              targetPort: portOrName({
                description: "The pod's port: a number, or a container port's name.",
              }),
              appProtocol: optional(
                appProtocol({ description: 'What is spoken on this port, as in Service.' }),
              ),
            }),
            {
              maxItems: 64,
              mapKeys: ['name'],
              description: 'Gives ports a name and an application protocol; never restricts backendRef.port.',
            },
          ),
        ),
      },
      { description: 'The pods that are endpoints.' },
    ),
  }),
  crd: {
    plural: 'xendpointselectors',
    shortNames: ['xepsel'],
    description: 'A bucket of endpoints: the pods that a label selector matches.',
    status: object({ conditions: optional(conditions()) }),
    columns: [
      { name: 'Accepted', type: 'string', jsonPath: '.status.conditions[?(@.type=="Accepted")].status' },
      { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    ],
  },
});
