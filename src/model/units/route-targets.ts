import type { BackendRef } from '../../api/route.ts';
import type { Protocol, Target } from '../ir.ts';
import { backendKey, compositePortKey } from '../keys.ts';
import type { Problem } from '../problem.ts';
import type { Reader, Unit } from '../reader.ts';
import { attachment, type RouteKindName, readRoute } from './attachment.ts';
import { isWithheld } from './backend.ts';
import { backendKindOf, backendObjectKinds, type Refusal, refusalOf } from './backend-object.ts';
import { type CompositeFacts, compositeFacts } from './composite-facts.ts';
import { keyOf, refOf } from './object-key.ts';
import { ownOffer } from './own-contribution.ts';
import { portRefusal } from './port-refusal.ts';
import { isReferencePermitted } from './reference-grants.ts';
import { isOfferedByOthers } from './remote-shares.ts';
import { serviceFacts, servicePort } from './service-endpoints.ts';

export interface RouteTargets {
  /** In the order of the route's backendRefs. */
  readonly targets: readonly Target[];
  /** Keys `<namespace>/<name>/<tcp|udp>-<port>` of the composites among them. */
  readonly composites: readonly string[];
  readonly problems: readonly Problem[];
}

const protocolOf: Readonly<Record<RouteKindName, Protocol>> = { TCPRoute: 'TCP', UDPRoute: 'UDP' };

/** Where a route leads, by its unit key. A reference that does not resolve keeps its share, which is rejected. */
export const routeTargets: Unit<RouteTargets> = {
  name: 'routeTargets',
  compute: (reader, unitKey) => {
    const found = readRoute(reader, unitKey);
    if (!found) return { targets: [], composites: [], problems: [] };
    const { kind, route } = found;
    const problems: Problem[] = [];
    const composites: string[] = [];
    const targets = (route.spec.rules[0]?.backendRefs ?? []).map((backendRef, i): Target => {
      const resolved = resolve(reader, kind, route.metadata.namespace, backendRef);
      for (const { code, message } of resolved.refusals) {
        const path = `spec.rules[0].backendRefs[${i}]`;
        problems.push({ code, ref: refOf(kind, route.metadata), path, message });
      }
      if (resolved.composite !== undefined) composites.push(resolved.composite);
      return { backend: resolved.backend, weight: backendRef.weight };
    });
    problems.push(...weightProblems(refOf(kind, route.metadata), targets));
    return { targets, composites: [...new Set(composites)].sort(), problems };
  },
};

/** Weights that leave nothing to send to: what connects is rejected. */
function weightProblems(ref: Problem['ref'], targets: readonly Target[]): readonly Problem[] {
  if (targets.some(({ weight }) => weight > 0)) return [];
  const found = targets.length === 0 ? 'no back end' : 'weight 0 for each';
  const message = `expected a back end with a weight above 0, found ${found}: connections are rejected`;
  return [{ code: 'NoWeight', ref, path: 'spec.rules[0].backendRefs', message }];
}

/** The composites' ports that an accepted route asks for, by the route's unit key. */
export function routeComposites(reader: Reader, unitKey: string): readonly string[] {
  const attached = reader.unit(attachment, unitKey).some(({ listeners }) => listeners.length > 0);
  return attached ? reader.unit(routeTargets, unitKey).composites : [];
}

interface Resolved {
  /** null: its share is rejected. */
  readonly backend: string | null;
  readonly composite?: string;
  readonly refusals: readonly Refusal[];
}

const refuse = (code: Refusal['code'], message: string): Resolved => ({
  backend: null,
  refusals: [{ code, message }],
});

function resolve(reader: Reader, from: RouteKindName, namespace: string, ref: BackendRef): Resolved {
  const protocol = protocolOf[from];
  const object = { group: ref.group, kind: ref.kind, namespace: ref.namespace ?? namespace, name: ref.name };
  const as = backendKindOf(object, backendObjectKinds);
  if (typeof as !== 'string') return refuse(as.code, as.message);
  const key = keyOf(object);
  // Before existence: who has no grant must not learn what exists.
  if (!isReferencePermitted(reader, { group: 'gateway.networking.k8s.io', kind: from, namespace }, object)) {
    const message = `expected a ReferenceGrant in namespace "${object.namespace}" from ${from} of namespace "${namespace}" to ${ref.kind} "${ref.name}", found none`;
    return refuse('RefNotPermitted', message);
  }
  if (as === 'composite') return resolveComposite(reader, key, protocol, ref.port);
  const refused = refusalOf(reader, as, ref.kind, key);
  if (refused) return refuse(refused.code, refused.message);
  if (as === 'xbackend') return resolveXBackend(reader, key, protocol, ref.port);
  if (ref.port === undefined)
    return refuse('BackendPortInvalid', `expected a port for ${ref.kind} ${key}, found none`);
  if (as === 'service') {
    const refusal = servicePortRefusal(reader, key, protocol, ref.port);
    if (refusal) return { backend: null, refusals: [refusal] };
  }
  return { backend: backendKey(as, key, protocol, ref.port), refusals: [] };
}

function resolveXBackend(
  reader: Reader,
  key: string,
  protocol: Protocol,
  port: number | undefined,
): Resolved {
  if (port !== undefined) {
    return refuse(
      'BackendPortInvalid',
      `expected no port for XBackend ${key}, which has its own, found ${port}`,
    );
  }
  if (protocol !== 'TCP') {
    return refuse(
      'BackendProtocolMismatch',
      `expected a back end for ${protocol}, found XBackend ${key}, which serves TCP`,
    );
  }
  const own = reader.get('XBackend', key)?.spec.port.number ?? 0;
  return { backend: backendKey('xbackend', key, protocol, own), refusals: [] };
}

function servicePortRefusal(
  reader: Reader,
  key: string,
  protocol: Protocol,
  port: number,
): Refusal | undefined {
  const facts = reader.unit(serviceFacts, key);
  if (facts && servicePort(facts, protocol, port)) return undefined;
  return portRefusal(`Service ${key}`, facts?.ports ?? [], { protocol, port });
}

function resolveComposite(
  reader: Reader,
  key: string,
  protocol: Protocol,
  port: number | undefined,
): Resolved {
  const facts = reader.unit(compositeFacts, key);
  if (!facts) return refuse('BackendNotFound', `CompositeBackend ${key} does not exist`);
  if (!facts.accepted) {
    const why = facts.problems.find(({ code }) => code === 'PolicyUnsupported')?.message ?? '';
    return refuse('BackendNotAccepted', `CompositeBackend ${key} is not accepted: ${why}`);
  }
  if (port === undefined)
    return refuse('BackendPortInvalid', `expected a port for CompositeBackend ${key}, found none`);
  const composite = compositePortKey(key, protocol, port);
  const refusal = compositePortRefusal(reader, facts, key, { protocol, port });
  // Who imports goes on asking, so that it resolves as soon as another cluster offers the port.
  if (refusal) return { backend: null, composite, refusals: [refusal] };
  // What is wrong inside is seen where it is used; the rest of it works.
  const refusals = facts.problems
    .filter(({ path }) => path.startsWith('spec.backends'))
    .map(({ code, message }) => ({ code, message: `CompositeBackend ${key}: ${message}` }));
  return { backend: backendKey('composite', key, protocol, port), composite, refusals };
}

/** A port that neither this cluster nor another one has. What others offer is not known until the relay has told. */
function compositePortRefusal(
  reader: Reader,
  facts: CompositeFacts,
  key: string,
  wanted: { readonly protocol: Protocol; readonly port: number },
): Refusal | undefined {
  const portKey = compositePortKey(key, wanted.protocol, wanted.port);
  const declared = facts.ports.some((p) => p.port === wanted.port && p.protocol === wanted.protocol);
  if (facts.ports.length > 0 && !declared) {
    if (isWithheld(reader, facts, portKey) || isOfferedByOthers(reader, facts, portKey)) return undefined;
    return portRefusal(`CompositeBackend ${key}`, facts.ports, wanted);
  }
  const alone = !reader.config.relay || facts.importFrom.length === 0;
  if (!alone || facts.members.length === 0 || reader.unit(ownOffer, portKey).translations.length > 0)
    return undefined;
  const message = `CompositeBackend ${key} offers no port ${wanted.port}/${wanted.protocol}`;
  return { code: 'BackendPortNotFound', message };
}
