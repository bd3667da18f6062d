import type { Inputs } from '../inputs.ts';
import type { BackendKey, Protocol, Target } from '../ir.ts';
import { compositePortKey, parseBackendKey, parseCompositePortKey } from '../keys.ts';
import type { Reader, Unit } from '../reader.ts';
import { type CompositeMember, compositeFacts } from './composite-facts.ts';
import { ownOffer } from './own-contribution.ts';
import { isAdmitted } from './remote-shares.ts';
import { serviceFacts, servicePort } from './service-endpoints.ts';

/** What is spoken on a port that leads to these targets. Undefined: none says it, or they do not agree. */
export function targetsProtocol(reader: Reader, targets: readonly Target[]): string | undefined {
  const said = targets.map(({ backend, weight }) =>
    backend === null || weight === 0 ? undefined : backendProtocol(reader, backend),
  );
  return agreed(said);
}

/** Who says nothing agrees with everybody. */
function agreed(said: readonly (string | undefined)[]): string | undefined {
  const [first, ...others] = new Set(said.filter((protocol) => protocol !== undefined));
  return others.length === 0 ? first : undefined;
}

function backendProtocol(reader: Reader, key: BackendKey): string | undefined {
  const parsed = parseBackendKey(key);
  if (!parsed) return undefined;
  const { kind, object, protocol, port } = parsed;
  if (kind === 'composite') return reader.unit(compositeProtocol, compositePortKey(object, protocol, port));
  return memberProtocol(reader, kind, object, protocol, port);
}

/** Of a composite's port, by its key: what this cluster's back ends say, and the clusters that it imports from. */
const compositeProtocol: Unit<string | undefined> = {
  name: 'compositeProtocol',
  compute: (reader, portKey) => {
    const composite = parseCompositePortKey(portKey)?.composite;
    const facts = composite === undefined ? undefined : reader.unit(compositeFacts, composite);
    if (!facts) return undefined;
    const others = reader
      .list('Contribution', 'port', portKey)
      .filter((c) => c.cluster !== reader.config.cluster && isAdmitted(reader, facts, c));
    return agreed([reader.unit(ownProtocol, portKey), ...others.map(({ appProtocol }) => appProtocol)]);
  },
};

/** What this cluster's back ends say of a composite's port, by its key. */
export const ownProtocol: Unit<string | undefined> = {
  name: 'ownProtocol',
  compute: (reader, portKey) => {
    const protocol = parseCompositePortKey(portKey)?.protocol;
    if (!protocol) return undefined;
    const { translations } = reader.unit(ownOffer, portKey);
    return agreed(
      translations.map(({ member, target }) =>
        memberProtocol(reader, member.as, member.key, protocol, target),
      ),
    );
  },
};

function memberProtocol(
  reader: Reader,
  as: CompositeMember['as'],
  key: string,
  protocol: Protocol,
  target: number | string,
): string | undefined {
  if (as === 'selector') {
    const ports = reader.get('XEndpointSelector', key)?.spec.ports ?? [];
    const meant = ports.filter(
      (port) => port.protocol === protocol && (port.name === target || port.targetPort === target),
    );
    return agreed(meant.map(({ appProtocol }) => appProtocol));
  }
  if (as === 'service') {
    const facts = reader.unit(serviceFacts, key);
    return facts && servicePort(facts, protocol, target)?.appProtocol;
  }
  const spoken = reader.get('XBackend', key)?.spec.protocol;
  return spoken && xBackendProtocols[spoken];
}

/** The words of XBackend in those of Service. `TCP` says nothing of what is spoken. */
const xBackendProtocols: Readonly<
  Record<NonNullable<Inputs['XBackend']['spec']['protocol']>, string | undefined>
> = {
  TCP: undefined,
  HTTP: 'http',
  HTTP11: 'http',
  HTTP2: 'http2',
  H2C: 'kubernetes.io/h2c',
  GRPC: 'grpc',
  MCP: 'mcp',
  WSS: 'kubernetes.io/wss',
};
