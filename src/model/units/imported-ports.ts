import { parseCompositePortKey } from '../keys.ts';
import type { Unit } from '../reader.ts';
import { compositeFacts } from './composite-facts.ts';
import { routeComposites } from './route-targets.ts';

/** What a route asks of other clusters, by its unit key: port keys of composites that admit any. */
export const importedPorts: Unit<readonly string[]> = {
  name: 'importedPorts',
  compute: (reader, unitKey) =>
    routeComposites(reader, unitKey).filter((key) => {
      const composite = parseCompositePortKey(key)?.composite;
      const facts = composite === undefined ? undefined : reader.unit(compositeFacts, composite);
      return (facts?.importFrom.length ?? 0) > 0;
    }),
};
