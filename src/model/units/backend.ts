import { ownCluster } from '../cluster-selection.ts';
import type { Backend } from '../ir.ts';
import { compositePortKey, parseBackendKey } from '../keys.ts';
import type { Reader, Unit } from '../reader.ts';
import { type CompositeFacts, compositeFacts } from './composite-facts.ts';
import { distribute, evenly } from './distribution.ts';
import { distinctEndpoints, type LocalEndpoints, noEndpoints } from './local-endpoints.ts';
import { ownContribution } from './own-contribution.ts';
import { remoteShares } from './remote-shares.ts';
import { selectorEndpoints, xBackendEndpoints } from './selector-endpoints.ts';
import { serviceEndpoints } from './service-endpoints.ts';

/** A back end by its key: it is there as long as a front end refers to it, with or without endpoints. */
export const backend: Unit<Backend> = {
  name: 'backend',
  compute: (reader, key) => {
    const parsed = parseBackendKey(key);
    if (!parsed) return { key, policy: 'Even', groups: [] };
    const { kind, object, protocol, port } = parsed;
    if (kind === 'composite')
      return compositeBackend(reader, key, compositePortKey(object, protocol, port), object);
    const local = localEndpoints(reader, parsed);
    const share = {
      ...ownCluster(reader.config),
      own: true,
      selected: local.selected.length,
      endpoints: distinctEndpoints(local.endpoints),
    };
    return { key, policy: 'Even', groups: distribute([share], evenly, reader.config.region) };
  },
};

function localEndpoints(
  reader: Reader,
  { kind, object, protocol, port }: NonNullable<ReturnType<typeof parseBackendKey>>,
): LocalEndpoints {
  if (kind === 'selector') return selectorEndpoints(reader, object, protocol, port);
  if (kind === 'service') return serviceEndpoints(reader, object, protocol, port);
  if (kind === 'xbackend') return xBackendEndpoints(reader, object, port);
  return noEndpoints;
}

function compositeBackend(reader: Reader, key: string, portKey: string, composite: string): Backend {
  const facts = reader.unit(compositeFacts, composite);
  if (!facts) return { key, policy: 'Even', groups: [] };
  const own = { ...ownCluster(reader.config), own: true, ...reader.unit(ownContribution, portKey) };
  const shares = [own, ...remoteShares(reader, facts, portKey)];
  return {
    key,
    policy: facts.policy,
    groups: distribute(shares, facts, reader.config.region),
    ...(isWithheld(reader, facts, portKey) ? { withheld: true } : {}),
  };
}

/** Until the relay has said everything, what is known may be less than what data planes hold. */
export function isWithheld(reader: Reader, facts: CompositeFacts, portKey: string): boolean {
  if (!reader.config.relay || facts.importFrom.length === 0) return false;
  return reader.get('Import', portKey)?.complete !== true;
}

/** What clusters contribute that are not known to contribute is unknown, and unknown is not empty. */
export function isUnknown(reader: Reader, facts: CompositeFacts, portKey: string): boolean {
  return isWithheld(reader, facts, portKey) || reader.get('Import', portKey)?.unanswered === true;
}
