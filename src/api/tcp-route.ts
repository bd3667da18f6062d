import { defineKind } from './kind.ts';
import { routeSchema } from './route.ts';

export const tcpRoute = defineKind({
  kind: 'TCPRoute',
  group: 'gateway.networking.k8s.io',
  versions: ['v1', 'v1alpha2'],
  namespaced: true,
  name: 'subdomain',
  schema: routeSchema(),
});
