import { clusterProperty } from './cluster-property.ts';
import { compositeBackend } from './composite-backend.ts';
import { endpointSlice } from './endpoint-slice.ts';
import { gateway } from './gateway.ts';
import { gatewayClass } from './gateway-class.ts';
import type { KindDefinition, RecordOf } from './kind.ts';
import { namespace } from './namespace.ts';
import { node } from './node.ts';
import { pod } from './pod.ts';
import { type ProjectionFailure, projectObject } from './project.ts';
import { referenceGrant } from './reference-grant.ts';
import { service } from './service.ts';
import { tcpRoute } from './tcp-route.ts';
import { udpRoute } from './udp-route.ts';
import { xBackend } from './x-backend.ts';
import { xEndpointSelector } from './x-endpoint-selector.ts';

/** Every kind that is read. */
export const kinds = {
  ClusterProperty: clusterProperty,
  CompositeBackend: compositeBackend,
  EndpointSlice: endpointSlice,
  Gateway: gateway,
  GatewayClass: gatewayClass,
  Namespace: namespace,
  Node: node,
  Pod: pod,
  ReferenceGrant: referenceGrant,
  Service: service,
  TCPRoute: tcpRoute,
  UDPRoute: udpRoute,
  XBackend: xBackend,
  XEndpointSelector: xEndpointSelector,
} as const;

export type Kind = keyof typeof kinds;

/** kind → projected record. */
export type Objects = { readonly [K in Kind]: RecordOf<(typeof kinds)[K]> };

/** A record under its kind and its key: `<namespace>/<name>`, or `<name>` where there is no namespace. */
export type Projection = {
  [K in Kind]: { readonly kind: K; readonly key: string; readonly value: Objects[K] };
}[Kind];

const byKind: ReadonlyMap<string, KindDefinition> = new Map(Object.entries(kinds));

/**
 * A raw object, from JSON or YAML, as a record: unknown fields dropped, the API server's defaults applied. An
 * object without a namespace is in `default`, as with kubectl. Never throws, whatever `raw` is: a failure has
 * `errors`.
 */
export function project(raw: unknown): Projection | ProjectionFailure {
  return projectObject(byKind, raw) as Projection | ProjectionFailure;
}
