import type { BackendRef } from '../../api/route.ts';
import type { Reader } from '../reader.ts';
import { attachment, type RouteKindName, readRoute, routeKinds, routeUnitKey } from '../units/attachment.ts';
import { carriers } from '../units/carriers.ts';
import type { ListenerPlan } from '../units/listeners.ts';
import { keyOf, parseKey, refOf } from '../units/object-key.ts';
import { routeTargets } from '../units/route-targets.ts';
import { causeOf } from './cause.ts';
import { explainBackend } from './cluster-explanation.ts';
import type { BackendExplanation, Cause, PortExplanation, RouteName } from './explanation.ts';

/** What is behind a listener of a Gateway. */
export function explainPort(reader: Reader, gateway: string, plan: ListenerPlan): PortExplanation {
  const attached = reader.unit(carriers, gateway).get(plan.name) ?? [];
  const refused = refusedRoutes(reader, gateway, plan);
  const [carrier = refused[0]?.unitKey, ...others] = attached;
  const causes = plan.problems.map(causeOf);
  if (attached.length === 0) causes.push(refused[0]?.cause ?? noRoute(gateway, plan));
  else if (carrier !== undefined) causes.push(...noWeight(reader, carrier));
  const route = carrier === undefined ? undefined : routeName(carrier);
  return {
    listener: plan.name,
    protocol: plan.protocol ?? '',
    port: plan.port,
    causes,
    ...(route ? { route: { ...route, attached: attached.length > 0 } } : {}),
    notUsed: [
      ...others.map((unitKey) => ({ ...routeName(unitKey), reason: 'OlderRouteCarries' })),
      ...refused
        .filter(({ unitKey }) => unitKey !== carrier)
        .map(({ unitKey, cause }) => ({ ...routeName(unitKey), reason: cause.reason })),
    ],
    backends: carrier === undefined ? [] : explainBackends(reader, carrier),
  };
}

/** A note of the route's status, which here stops the path. */
const noWeight = (reader: Reader, carrier: string): readonly Cause[] =>
  reader
    .unit(routeTargets, carrier)
    .problems.filter(({ code }) => code === 'NoWeight')
    .map((problem) => ({ ...causeOf(problem), stops: true }));

interface RefusedRoute {
  readonly unitKey: string;
  readonly cause: Cause;
}

/** Routes that name this Gateway, mean this listener, and are not attached to it. */
function refusedRoutes(reader: Reader, gateway: string, plan: ListenerPlan): readonly RefusedRoute[] {
  return routeKinds.flatMap((kind) =>
    reader.list(kind, 'gateway', gateway).flatMap((route) => {
      const unitKey = routeUnitKey(kind, keyOf(route.metadata));
      const problem = reader
        .unit(attachment, unitKey)
        .filter((parent) => parent.gateway === gateway && parent.listeners.length === 0)
        .filter(({ parentRef, problems }) => {
          const { sectionName, port } = parentRef;
          const meant =
            (sectionName === undefined || sectionName === plan.name) &&
            (port === undefined || port === plan.port);
          return meant || problems.some(({ code }) => code === 'ListenerNotFound');
        })
        .flatMap(({ problems }) => problems)[0];
      return problem ? [{ unitKey, cause: causeOf(problem) }] : [];
    }),
  );
}

const noRoute = (gateway: string, { name, protocol }: ListenerPlan): Cause => ({
  stops: true,
  reason: 'NoRoute',
  ref: refOf('Gateway', parseKey(gateway)),
  field: 'spec.listeners',
  message: `listener "${name}": no ${protocol === 'UDP' ? 'UDPRoute' : 'TCPRoute'} is attached, so connections are rejected`,
  next: `create a route whose parentRefs name Gateway ${gateway}`,
});

function routeName(unitKey: string): RouteName {
  const slash = unitKey.indexOf('/');
  return { kind: unitKey.slice(0, slash) as RouteKindName, ...parseKey(unitKey.slice(slash + 1)) };
}

function explainBackends(reader: Reader, unitKey: string): readonly BackendExplanation[] {
  const found = readRoute(reader, unitKey);
  if (!found) return [];
  const refs = found.route.spec.rules[0]?.backendRefs ?? [];
  const { targets, problems } = reader.unit(routeTargets, unitKey);
  const sum = targets.reduce((total, { weight }) => total + weight, 0);
  return refs.map((ref, i) => {
    const target = targets[i];
    const own = problems.filter(({ path }) => path === `spec.rules[0].backendRefs[${i}]`).map(causeOf);
    const behind = target && target.backend !== null ? explainBackend(reader, target.backend) : undefined;
    const stops = (cause: Cause): Cause => ({ ...cause, stops: cause.stops && (target?.weight ?? 0) > 0 });
    return {
      ...nameOf(ref, found.route.metadata.namespace),
      share: sum === 0 ? 0 : (target?.weight ?? 0) / sum,
      ...(behind ? { policy: behind.policy } : {}),
      causes: [...own, ...(behind?.causes ?? [])].map(stops),
      clusters: (behind?.clusters ?? []).map((cluster) => ({
        ...cluster,
        causes: cluster.causes.map(stops),
      })),
    };
  });
}

function nameOf({ kind, namespace, name, port }: BackendRef, own: string) {
  return { kind, namespace: namespace ?? own, name, ...(port === undefined ? {} : { port }) };
}
