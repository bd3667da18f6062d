import { defineKind } from './kind.ts';
import { object, text } from './schema.ts';

/** about-api: facts of a cluster by name, as `cluster.clusterset.k8s.io`. */
export const clusterProperty = defineKind({
  kind: 'ClusterProperty',
  group: 'about.k8s.io',
  versions: ['v1', 'v1beta1', 'v1alpha1'],
  namespaced: false,
  name: 'subdomain',
  schema: object({
    spec: object({ value: text({ minLength: 1, maxLength: 128_000 }) }),
  }),
});
