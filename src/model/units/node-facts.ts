import type { NodeFacts } from '../ir.ts';
import type { Unit } from '../reader.ts';
import { zoneLabel } from './local-endpoints.ts';

const controlPlaneTaint = 'node-role.kubernetes.io/control-plane';

/** By the Node's name. */
export const nodeFacts: Unit<NodeFacts | undefined> = {
  name: 'nodeFacts',
  compute: (reader, name) => {
    const node = reader.get('Node', name);
    if (!node) return undefined;
    const { podCIDRs, taints } = node.spec;
    const reserved = taints.some(
      ({ key, effect }) => key === controlPlaneTaint && effect !== 'PreferNoSchedule',
    );
    const zone = node.metadata.labels[zoneLabel] ?? '';
    return { name, zone, podCIDRs, ...(reserved ? { reserved } : {}) };
  },
};
