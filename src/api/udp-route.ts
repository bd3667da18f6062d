import { defineKind } from './kind.ts';
import { routeSchema } from './route.ts';

export const udpRoute = defineKind({
  kind: 'UDPRoute',
  group: 'gateway.networking.k8s.io',
  versions: ['v1', 'v1alpha2'],
  namespaced: true,
  name: 'subdomain',
  schema: routeSchema(),
});
