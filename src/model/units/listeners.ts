import type { GatewayListener } from '../../api/gateway.ts';
import type { Protocol } from '../ir.ts';
import type { LabelSelector } from '../label-selector.ts';
import type { ObjectRef, Problem } from '../problem.ts';
import type { Unit } from '../reader.ts';
import { classIsOurs } from './gateway-class.ts';
import { refOf } from './object-key.ts';

interface RouteKind {
  readonly group: string;
  readonly kind: string;
}

export interface ListenerPlan {
  readonly name: string;
  readonly port: number;
  /** What it serves; undefined: a protocol that is not served. */
  readonly protocol: Protocol | undefined;
  /** Kinds of routes that may attach. */
  readonly supportedKinds: readonly RouteKind[];
  readonly namespaces: 'All' | 'Same' | LabelSelector;
  readonly problems: readonly Problem[];
  /** It is served: neither refused nor in conflict. */
  readonly valid: boolean;
}

/** The listeners of a Gateway of a class of ours, by the Gateway's key. Undefined: not ours, or no such Gateway. */
export const listenerPlans: Unit<readonly ListenerPlan[] | undefined> = {
  name: 'listenerPlans',
  compute: (reader, key) => {
    const gateway = reader.get('Gateway', key);
    if (!gateway || !reader.unit(classIsOurs, gateway.spec.gatewayClassName)) return undefined;
    const ref = refOf('Gateway', gateway.metadata);
    const { listeners } = gateway.spec;
    return listeners.map((listener, i) => planListener(ref, listener, `spec.listeners[${i}]`, listeners));
  },
};

const gatewayGroup = 'gateway.networking.k8s.io';
const routeKinds: Readonly<Record<Protocol, string>> = { TCP: 'TCPRoute', UDP: 'UDPRoute' };

function planListener(
  ref: ObjectRef,
  listener: GatewayListener,
  path: string,
  all: readonly GatewayListener[],
): ListenerPlan {
  const problems: Problem[] = [];
  const add = (code: Problem['code'], field: string, message: string) =>
    problems.push({
      code,
      ref,
      path: `${path}.${field}`,
      message: `listener "${listener.name}": ${message}`,
    });
  const protocol = listener.protocol === 'TCP' || listener.protocol === 'UDP' ? listener.protocol : undefined;
  if (!protocol)
    add('ListenerProtocolUnsupported', 'protocol', `expected TCP or UDP, found ${listener.protocol}`);
  for (const other of all) {
    const code = other === listener ? undefined : conflictOf(listener, other);
    if (!code) continue;
    const shared =
      code === 'ListenerHostnameConflict' ? `host name "${listener.hostname ?? ''}"` : listener.protocol;
    add(
      code,
      'port',
      `port ${listener.port} (${shared}) is also wanted by listener "${other.name}" (${other.protocol})`,
    );
  }
  const served = protocol ? { group: gatewayGroup, kind: routeKinds[protocol] } : undefined;
  const isServed = (kind: RouteKind) => kind.group === served?.group && kind.kind === served.kind;
  const requested = listener.allowedRoutes.kinds ?? [];
  const wrong = requested.filter((kind) => !isServed(kind));
  if (served && wrong.length > 0) {
    const found = wrong.map(({ group, kind }) => `${kind} of "${group}"`).join(', ');
    add(
      'RouteKindInvalid',
      'allowedRoutes.kinds',
      `expected ${served.kind} with protocol ${protocol}, found ${found}`,
    );
  }
  const { from, selector } = listener.allowedRoutes.namespaces;
  return {
    name: listener.name,
    port: listener.port,
    protocol,
    supportedKinds: served && (requested.length === 0 || requested.some(isServed)) ? [served] : [],
    // A selector that is not there selects nothing, as the API says.
    namespaces: from === 'Selector' ? (selector ?? selectNothing) : from,
    problems,
    valid: problems.every(({ code }) => code === 'RouteKindInvalid'),
  };
}

const selectNothing: LabelSelector = {
  matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'In', values: [] }],
};

/**
 * TCP and UDP are told apart by port and never conflict with each other. HTTP, HTTPS and TLS share a port by
 * host name, HTTP not with the other two. Within one Gateway everyone in a conflict loses.
 */
function conflictOf(
  a: GatewayListener,
  b: GatewayListener,
): 'ListenerProtocolConflict' | 'ListenerHostnameConflict' | undefined {
  if (a.port !== b.port) return undefined;
  if ((a.protocol === 'UDP') !== (b.protocol === 'UDP')) return undefined;
  if (isL4(a) || isL4(b)) return 'ListenerProtocolConflict';
  if ((a.protocol === 'HTTP') !== (b.protocol === 'HTTP')) return 'ListenerProtocolConflict';
  return (a.hostname ?? '') === (b.hostname ?? '') ? 'ListenerHostnameConflict' : undefined;
}

const isL4 = ({ protocol }: GatewayListener): boolean => protocol === 'TCP' || protocol === 'UDP';
