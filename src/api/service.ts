import { appProtocol, dnsLabel, ipFamily, labels, port } from './fields.ts';
import { defineKind } from './kind.ts';
import { choice, flag, list, object, optional, portOrName, text } from './schema.ts';

export const service = defineKind({
  kind: 'Service',
  group: '',
  versions: ['v1'],
  namespaced: true,
  name: 'label',
  singular: [{ section: 'spec', one: 'clusterIP', many: 'clusterIPs' }],
  schema: object({
    spec: object({
      type: choice(['ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName'], { default: 'ClusterIP' }),
      /** The primary family's first; [`None`]: headless; empty in files that never saw an API server. */
      clusterIPs: list(text({ maxLength: 64 }), { maxItems: 2, default: [] }),
      ipFamilies: list(ipFamily(), { maxItems: 2, default: [] }),
      selector: labels({ default: {} }),
      publishNotReadyAddresses: flag({ default: false }),
      ports: list(
        object({
          name: optional(dnsLabel()),
          protocol: choice(['TCP', 'UDP', 'SCTP'], { default: 'TCP' }),
          port: port(),
          /** Absent: the same as `port`. */
          targetPort: optional(portOrName()),
          appProtocol: optional(appProtocol()),
        }),
        { maxItems: 1000, default: [] },
      ),
    }),
  }),
});
