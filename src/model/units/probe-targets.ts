import type { ProbeTarget } from '../compiled.ts';
import type { Unit } from '../reader.ts';
import { compositeFacts } from './composite-facts.ts';
import { isAdmitted, isReachable, placeOf, usableEndpoints } from './remote-shares.ts';

/**
 * Which endpoints of a contribution are to be probed, by its key: those of a Stale cluster that are in use, or would
 * be. Nobody is probed because of a cluster that is not imported.
 */
export const probeTargets: Unit<ProbeTarget | undefined> = {
  name: 'probeTargets',
  compute: (reader, key) => {
    const contribution = reader.get('Contribution', key);
    // Who listens on a UDP port need not answer: it counts as passing.
    if (!contribution || contribution.protocol === 'UDP') return undefined;
    const { cluster, namespace, composite } = contribution;
    if (cluster === reader.config.cluster || reader.get('Origin', cluster)?.state !== 'Stale')
      return undefined;
    const facts = reader.unit(compositeFacts, `${namespace}/${composite}`);
    if (!facts || !isAdmitted(reader, facts, contribution) || !isReachable(reader, cluster)) return undefined;
    const places = reader.unit(usableEndpoints, key).map(placeOf);
    return places.length === 0 ? undefined : { cluster, places };
  },
};
