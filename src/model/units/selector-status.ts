import { apiVersionOf } from '../../api/kind.ts';
import { kinds } from '../../api/kinds.ts';
import { conditionsOf } from '../conditions.ts';
import type { Unit } from '../reader.ts';
import { selectorRefusal } from './backend-object.ts';
import type { StatusResult } from './gateway-class.ts';
import { refOf } from './object-key.ts';
import { selectsNothing } from './selects-nothing.ts';

/** By the XEndpointSelector's key. */
export const selectorStatus: Unit<StatusResult | undefined> = {
  name: 'selectorStatus',
  compute: (reader, key) => {
    const record = reader.get('XEndpointSelector', key);
    if (!record) return undefined;
    const ref = refOf('XEndpointSelector', record.metadata);
    const refusal = selectorRefusal(record);
    const problems = refusal
      ? [{ ...refusal, ref, path: 'spec.selector' }]
      : selectsNothing(reader, { as: 'selector', kind: 'XEndpointSelector', key });
    const { generation } = record.metadata;
    const accepted = { type: 'Accepted', status: 'True', reason: 'Accepted' } as const;
    const status = { conditions: conditionsOf(generation, [accepted], problems) };
    return {
      status: { ref, apiVersion: apiVersionOf(kinds.XEndpointSelector), generation, status },
      problems,
    };
  },
};
