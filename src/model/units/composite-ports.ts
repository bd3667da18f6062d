import type { Protocol } from '../ir.ts';
import { compositePortKey } from '../keys.ts';
import type { Reader, Unit } from '../reader.ts';
import { routeKinds, routeUnitKey } from './attachment.ts';
import { type CompositeFacts, compositeFacts } from './composite-facts.ts';
import { keyOf } from './object-key.ts';
import { routeComposites } from './route-targets.ts';
import { serviceFacts } from './service-endpoints.ts';

/** Port keys of a composite that accepted routes of this cluster refer to, by the composite's key. Sorted. */
export const referredPorts: Unit<readonly string[]> = {
  name: 'referredPorts',
  compute: (reader, composite) => {
    const keys = routeKinds.flatMap((kind) =>
      reader
        .list(kind, 'backend', `CompositeBackend/${composite}`)
        .flatMap((route) => routeComposites(reader, routeUnitKey(kind, keyOf(route.metadata))))
        .filter((key) => key.startsWith(`${composite}/`)),
    );
    return [...new Set(keys)].sort();
  },
};

/**
 * Port keys under which this cluster contributes, by the composite's key: its logical ports, or else those that
 * its back ends declare and its routes refer to. Sorted.
 */
export const contributedPorts: Unit<readonly string[]> = {
  name: 'contributedPorts',
  compute: (reader, composite) => {
    const facts = reader.unit(compositeFacts, composite);
    if (!facts?.accepted || !facts.contributes) return [];
    const key = ({ protocol, port }: DeclaredPort) => compositePortKey(composite, protocol, port);
    if (facts.ports.length > 0) return facts.ports.map(key).sort();
    const keys = [...memberPorts(reader, facts).map(key), ...reader.unit(referredPorts, composite)];
    return [...new Set(keys)].sort();
  },
};

interface DeclaredPort {
  readonly protocol: Protocol;
  readonly port: number;
}

function memberPorts(reader: Reader, { members }: CompositeFacts): readonly DeclaredPort[] {
  return members.flatMap(({ as, key }): readonly DeclaredPort[] => {
    if (as === 'selector') {
      const ports = reader.get('XEndpointSelector', key)?.spec.ports ?? [];
      // A name alone has no number to ask for it by.
      return ports.flatMap(({ protocol, targetPort }) =>
        typeof targetPort === 'number' ? [{ protocol, port: targetPort }] : [],
      );
    }
    if (as === 'service') {
      const ports = reader.unit(serviceFacts, key)?.ports ?? [];
      return ports.flatMap(({ protocol, port }) => (protocol === 'SCTP' ? [] : [{ protocol, port }]));
    }
    const port = reader.get('XBackend', key)?.spec.port.number;
    return port === undefined ? [] : [{ protocol: 'TCP', port }];
  });
}
