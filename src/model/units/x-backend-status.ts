import { apiVersionOf } from '../../api/kind.ts';
import { kinds } from '../../api/kinds.ts';
import { conditionsOf } from '../conditions.ts';
import type { Problem } from '../problem.ts';
import type { Reader, Unit } from '../reader.ts';
import { attachment, routeKinds, routeUnitKey } from './attachment.ts';
import { xBackendRefusal } from './backend-object.ts';
import type { StatusResult } from './gateway-class.ts';
import { keyOf, parseKey, refOf } from './object-key.ts';
import { selectsNothing } from './selects-nothing.ts';

/** What the API holds; more Gateways than that see it in their routes. */
const maxAncestors = 32;

/** By the XBackend's key. Its status has an entry for each Gateway of ours whose routes name it. */
export const xBackendStatus: Unit<StatusResult | undefined> = {
  name: 'xBackendStatus',
  compute: (reader, key) => {
    const record = reader.get('XBackend', key);
    if (!record) return undefined;
    const ref = refOf('XBackend', record.metadata);
    const { generation } = record.metadata;
    const refusal = xBackendRefusal(record);
    const problems: readonly Problem[] = refusal
      ? [{ ...refusal, ref, path: 'spec' }]
      : selectsNothing(reader, { as: 'xbackend', kind: 'XBackend', key });
    const gateways = gatewaysOf(reader, key);
    if (gateways.length === 0) return { status: undefined, problems };
    const accepted = { type: 'Accepted', status: 'True', reason: 'Accepted' } as const;
    const conditions = conditionsOf(generation, [accepted], problems);
    const ancestors = gateways.slice(0, maxAncestors).map((gateway) => ({
      ancestorRef: { group: kinds.Gateway.group, kind: 'Gateway', ...parseKey(gateway) },
      controllerName: reader.config.controllerName,
      conditions,
    }));
    const apiVersion = apiVersionOf(kinds.XBackend);
    return { status: { ref, apiVersion, generation, status: { ancestors } }, problems };
  },
};

/** Sorted. */
function gatewaysOf(reader: Reader, key: string): readonly string[] {
  const gateways = routeKinds.flatMap((kind) =>
    reader
      .list(kind, 'backend', `XBackend/${key}`)
      .flatMap((route) => reader.unit(attachment, routeUnitKey(kind, keyOf(route.metadata))))
      .flatMap(({ gateway, listeners }) => (gateway !== undefined && listeners.length > 0 ? [gateway] : [])),
  );
  return [...new Set(gateways)].sort();
}
