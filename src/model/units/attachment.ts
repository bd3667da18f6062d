import type { ParentRef } from '../../api/route.ts';
import { selects } from '../label-selector.ts';
import type { Problem } from '../problem.ts';
import type { Reader, Unit } from '../reader.ts';
import { type ListenerPlan, listenerPlans } from './listeners.ts';
import { refOf } from './object-key.ts';

export const routeKinds = ['TCPRoute', 'UDPRoute'] as const;
export type RouteKindName = (typeof routeKinds)[number];

/** Units of routes have keys as `TCPRoute/<namespace>/<name>`. */
export const routeUnitKey = (kind: RouteKindName, key: string): string => `${kind}/${key}`;

export function readRoute(reader: Reader, unitKey: string) {
  const slash = unitKey.indexOf('/');
  const kind = unitKey.slice(0, slash) as RouteKindName;
  const route = reader.get(kind, unitKey.slice(slash + 1));
  return route ? { kind, route } : undefined;
}

/** What became of one parentRef. */
export interface ParentAttachment {
  /** As the route has it. */
  readonly parentRef: ParentRef;
  /** Field of the route. */
  readonly path: string;
  /** The Gateway's key; undefined: no Gateway of ours. */
  readonly gateway: string | undefined;
  /** Names of the listeners it is attached to; empty: not accepted. */
  readonly listeners: readonly string[];
  readonly problems: readonly Problem[];
  /** We answer for this parent in the route's status. */
  readonly ours: boolean;
}

/** Where a route is attached, one entry for each parentRef. */
export const attachment: Unit<readonly ParentAttachment[]> = {
  name: 'attachment',
  compute: (reader, unitKey) => {
    const found = readRoute(reader, unitKey);
    if (!found) return [];
    const { kind, route } = found;
    return route.spec.parentRefs.map((parentRef, i) => {
      const path = `spec.parentRefs[${i}]`;
      const problem = (code: Problem['code'], message: string): Problem => ({
        code,
        ref: refOf(kind, route.metadata),
        path,
        message,
      });
      return { parentRef, path, ...attach(reader, kind, route.metadata.namespace, parentRef, problem) };
    });
  },
};

function attach(
  reader: Reader,
  kind: RouteKindName,
  namespace: string,
  parentRef: ParentRef,
  problem: (code: Problem['code'], message: string) => Problem,
): Omit<ParentAttachment, 'parentRef' | 'path'> {
  const none = { gateway: undefined, listeners: [], problems: [], ours: false };
  if (parentRef.group === '' && parentRef.kind === 'Service') {
    const message = `expected a Gateway, found Service "${parentRef.name}": a Service as a parent is not served yet`;
    return { ...none, problems: [problem('ParentKindUnsupported', message)], ours: true };
  }
  if (parentRef.group !== 'gateway.networking.k8s.io' || parentRef.kind !== 'Gateway') return none;
  const gateway = `${parentRef.namespace ?? namespace}/${parentRef.name}`;
  const listeners = reader.unit(listenerPlans, gateway);
  if (!listeners) {
    if (reader.get('Gateway', gateway)) return none;
    return { ...none, problems: [problem('ParentNotFound', `Gateway ${gateway} does not exist`)] };
  }
  const ours = { gateway, ours: true };
  const named = listeners.filter(
    ({ name, port }) =>
      (parentRef.sectionName === undefined || name === parentRef.sectionName) &&
      (parentRef.port === undefined || port === parentRef.port),
  );
  if (named.length === 0) {
    const wanted = [
      ...(parentRef.sectionName === undefined ? [] : [`name "${parentRef.sectionName}"`]),
      ...(parentRef.port === undefined ? [] : [`port ${parentRef.port}`]),
    ].join(' and ');
    const message = `Gateway ${gateway} has no listener with ${wanted}`;
    return { ...ours, listeners: [], problems: [problem('ListenerNotFound', message)] };
  }
  const allowed = named.filter((listener) => allows(reader, listener, kind, namespace, gateway));
  if (allowed.length > 0) return { ...ours, listeners: allowed.map(({ name }) => name), problems: [] };
  const meant = named.slice(0, 8).map(({ name }) => `"${name}"`);
  const message = `a ${kind} from namespace "${namespace}" is not allowed by Gateway ${gateway}, listener ${meant.join(', ')}`;
  return { ...ours, listeners: [], problems: [problem('NotAllowedByListeners', message)] };
}

function allows(
  reader: Reader,
  { supportedKinds, namespaces }: ListenerPlan,
  kind: string,
  namespace: string,
  gateway: string,
): boolean {
  if (!supportedKinds.some((supported) => supported.kind === kind)) return false;
  if (namespaces === 'All') return true;
  if (namespaces === 'Same') return gateway.startsWith(`${namespace}/`);
  return selects(namespaces, reader.unit(namespaceLabels, namespace));
}

/** Every namespace has the label with its own name, also where no Namespace object is known. */
const namespaceLabels: Unit<Readonly<Record<string, string>>> = {
  name: 'namespaceLabels',
  compute: (reader, name) => ({
    ...reader.get('Namespace', name)?.metadata.labels,
    'kubernetes.io/metadata.name': name,
  }),
};
