import type { Backend, Frontend, Ir } from '../../model/ir.ts';
import { typeUrls } from '../../wire/proto/type-urls.ts';
import { nodesName, renderAssignment, renderNodes } from './assignment.ts';
import { renderCluster } from './cluster.ts';
import { listenerName, renderListener } from './listener.ts';

/** A resource as it is to be served. */
export interface Rendered {
  readonly typeUrl: string;
  readonly name: string;
  /** Undefined: its content is withheld. */
  readonly body: Buffer | undefined;
}

/** A Listener per port. A front end without an address has none: nobody can connect to it. */
export function renderFrontend(frontend: Frontend): Rendered[] {
  if (frontend.vips.length === 0) return [];
  return frontend.ports.map((port) => ({
    typeUrl: typeUrls.listener,
    name: listenerName(frontend.key, port.protocol, port.port),
    body: renderListener(frontend, port),
  }));
}

/** A Cluster and its assignment. */
export function renderBackend(backend: Backend): Rendered[] {
  const name = backend.key;
  return [
    { typeUrl: typeUrls.cluster, name, body: renderCluster(backend) },
    { typeUrl: typeUrls.assignment, name, body: backend.withheld ? undefined : renderAssignment(backend) },
  ];
}

/** Everything that is served for `ir`, in the order of its keys. Equal input gives equal bytes. */
export function render(ir: Ir): Rendered[] {
  return [
    ...[...ir.backends.values()].flatMap(renderBackend),
    { typeUrl: typeUrls.assignment, name: nodesName, body: renderNodes(ir.nodes.values()) },
    ...[...ir.frontends.values()].flatMap(renderFrontend),
  ];
}
