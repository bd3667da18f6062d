import type { NodeFacts } from '../ir.ts';
import type { Unit } from '../reader.ts';
import { zoneLabel } from './local-endpoints.ts';

/** By the Node's name. */
export const nodeFacts: Unit<NodeFacts | undefined> = {
  name: 'nodeFacts',
  compute: (reader, name) => {
    const node = reader.get('Node', name);
    return node && { name, zone: node.metadata.labels[zoneLabel] ?? '', podCIDRs: node.spec.podCIDRs };
  },
};
