import type { ClusterSelector } from '../../api/composite-backend.ts';
import type { Export } from '../compiled.ts';
import { parseCompositePortKey } from '../keys.ts';
import type { Unit } from '../reader.ts';
import { byText } from '../sorted-map.ts';
import { ownProtocol } from './app-protocol.ts';
import { type CompositeSide, compositeFacts } from './composite-facts.ts';
import { contributedPorts } from './composite-ports.ts';
import { readyCount } from './local-endpoints.ts';
import { parseKey } from './object-key.ts';
import { ownContribution, ownOffer } from './own-contribution.ts';

/** What this cluster offers of a composite, by the composite's key; port key → offer. Also with no endpoint. */
export const compositeExports: Unit<ReadonlyMap<string, Export>> = {
  name: 'compositeExports',
  compute: (reader, composite) => {
    const exports = new Map<string, Export>();
    const facts = reader.unit(compositeFacts, composite);
    if (!facts || facts.exportTo.length === 0) return exports;
    const { namespace, name } = parseKey(composite);
    for (const key of reader.unit(contributedPorts, composite)) {
      const port = parseCompositePortKey(key);
      const { translations } = reader.unit(ownOffer, key);
      if (!port || translations.length === 0) continue;
      const { selected, endpoints } = reader.unit(ownContribution, key);
      const appProtocol = reader.unit(ownProtocol, key);
      exports.set(key, {
        namespace,
        composite: name,
        protocol: port.protocol,
        port: port.port,
        ...(appProtocol === undefined ? {} : { appProtocol }),
        kinds: [...new Set(translations.map(({ member }) => member.kind))].sort(),
        ready: readyCount(endpoints),
        selected,
        endpoints,
        ...offeredTo(facts.exportTo),
      });
    }
    return exports;
  },
};

function offeredTo(sides: readonly CompositeSide[]): Pick<Export, 'to' | 'as'> {
  const to: ClusterSelector[] = [];
  const as = new Map<string, ClusterSelector[]>();
  for (const { clusters, composite } of sides) {
    if (composite === undefined) to.push(clusters);
    else as.set(composite, [...(as.get(composite) ?? []), clusters]);
  }
  if (as.size === 0) return { to };
  return { to, as: Object.fromEntries([...as].sort(([a], [b]) => byText(a, b))) };
}
