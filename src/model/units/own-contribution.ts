import type { RemoteEndpoint } from '../inputs.ts';
import type { Protocol } from '../ir.ts';
import { parseCompositePortKey } from '../keys.ts';
import type { Problem } from '../problem.ts';
import type { Reader, Unit } from '../reader.ts';
import { type CompositeFacts, type CompositeMember, compositeFacts } from './composite-facts.ts';
import { distinctEndpoints, type LocalEndpoints, readyCount } from './local-endpoints.ts';
import { parseKey, refOf } from './object-key.ts';
import { portTexts } from './port-refusal.ts';
import { selectorEndpoints, xBackendEndpoints } from './selector-endpoints.ts';
import { serviceEndpoints, serviceFacts, servicePort } from './service-endpoints.ts';

interface Translation {
  readonly member: CompositeMember;
  /** The pods' port, a container port's name, or the Service's port or port name. */
  readonly target: number | string;
}

export interface OwnOffer {
  /** Empty: this cluster does not offer the port. */
  readonly translations: readonly Translation[];
  readonly problems: readonly Problem[];
}

/** How this cluster translates a composite's port, by `<namespace>/<name>/<tcp|udp>-<port>`. */
export const ownOffer: Unit<OwnOffer> = {
  name: 'ownOffer',
  compute: (reader, key) => {
    const parsed = parseCompositePortKey(key);
    const facts = parsed && reader.unit(compositeFacts, parsed.composite);
    if (!parsed || !facts) return { translations: [], problems: [] };
    const { composite, protocol, port } = parsed;
    const problems: Problem[] = [];
    const add = (code: Problem['code'], path: string, message: string) =>
      problems.push({ code, ref: refOf('CompositeBackend', parseKey(composite)), path, message });
    const index = facts.ports.findIndex((p) => p.port === port && p.protocol === protocol);
    const logical = facts.ports[index];
    if (facts.ports.length > 0 && !logical) {
      const message = facts.contributes
        ? `${reader.config.cluster} does not offer port ${port}/${protocol}`
        : `expected one of ${portTexts(facts.ports)}, found a route to port ${port}/${protocol}`;
      add('PortNotOffered', 'spec.ports', message);
      return { translations: [], problems };
    }
    const translations = facts.members.flatMap((member) => {
      const target = translate(reader, facts, member, { protocol, port, targetPort: logical?.targetPort });
      if (typeof target !== 'object') return [{ member, target }];
      const path = target.code === 'TargetPortNotAllowed' ? `spec.ports[${index}].targetPort` : member.path;
      add(target.code, path, target.message);
      return [];
    });
    return { translations, problems };
  },
};

interface LogicalPort {
  readonly protocol: Protocol;
  readonly port: number;
  readonly targetPort: number | string | undefined;
}

interface NoTranslation {
  readonly code: 'PortNotOffered' | 'TargetPortNotAllowed';
  readonly message: string;
}

function translate(
  reader: Reader,
  facts: CompositeFacts,
  { as, kind, key }: CompositeMember,
  { protocol, port, targetPort }: LogicalPort,
): number | string | NoTranslation {
  const target = targetPort ?? port;
  if (as === 'selector') return target;
  const notOffered = (found: string): NoTranslation => ({
    code: 'PortNotOffered',
    message: `port ${port}/${protocol}: ${kind} ${key} ${found}`,
  });
  if (as === 'service') {
    const service = reader.unit(serviceFacts, key);
    if (service && servicePort(service, protocol, target)) return target;
    return notOffered(`has no port ${JSON.stringify(target)} with ${protocol}`);
  }
  const own = reader.get('XBackend', key)?.spec.port.number ?? 0;
  if (targetPort !== undefined) {
    const message = `expected no targetPort for XBackend ${key}, which has its own port ${own}, found ${JSON.stringify(targetPort)}`;
    return { code: 'TargetPortNotAllowed', message };
  }
  if (protocol !== 'TCP') return notOffered('serves TCP only');
  // It cannot say which logical port it means: the only one, or the one with its number.
  const only = facts.ports.filter((p) => p.protocol === 'TCP').length === 1;
  return own === port || only ? own : notOffered(`has port ${own}`);
}

export interface OwnContribution {
  /** All selected ones that are not terminating, ready or not. */
  readonly selected: number;
  readonly endpoints: readonly RemoteEndpoint[];
}

/** The endpoints of this cluster behind a composite's port, by the same key. What two back ends share counts once. */
export const ownContribution: Unit<OwnContribution> = {
  name: 'ownContribution',
  compute: (reader, key) => {
    const protocol = parseCompositePortKey(key)?.protocol;
    if (!protocol) return { selected: 0, endpoints: [] };
    const parts = reader.unit(ownOffer, key).translations.map(({ member, target }): LocalEndpoints => {
      if (member.as === 'selector') return selectorEndpoints(reader, member.key, protocol, target);
      if (member.as === 'service') return serviceEndpoints(reader, member.key, protocol, target);
      return xBackendEndpoints(reader, member.key, Number(target));
    });
    const [only, ...others] = parts;
    const endpoints = distinctEndpoints(parts.flatMap((part) => part.endpoints));
    const selected =
      only && others.length === 0
        ? only.selected.length
        : new Set(parts.flatMap((part) => part.selected)).size;
    // A pod behind two ports is two endpoints.
    return { selected: Math.max(selected, readyCount(endpoints)), endpoints };
  },
};
