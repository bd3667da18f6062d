import { apiVersionOf } from '../../api/kind.ts';
import { kinds } from '../../api/kinds.ts';
import type { Status } from '../compiled.ts';
import { conditionsOf } from '../conditions.ts';
import type { Problem } from '../problem.ts';
import type { Unit } from '../reader.ts';
import { refOf } from './object-key.ts';

/** Whether a class is ours, by its name. */
export const classIsOurs: Unit<boolean> = {
  name: 'classIsOurs',
  compute: (reader, name) =>
    reader.get('GatewayClass', name)?.spec.controllerName === reader.config.controllerName,
};

export const gatewayClassStatus: Unit<StatusResult | undefined> = {
  name: 'gatewayClassStatus',
  compute: (reader, name) => {
    const record = reader.get('GatewayClass', name);
    if (!record || !reader.unit(classIsOurs, name)) return undefined;
    const ref = refOf('GatewayClass', record.metadata);
    const problems: Problem[] = [];
    if (record.spec.parametersRef) {
      const { kind, name: parameters } = record.spec.parametersRef;
      problems.push({
        code: 'ParametersInvalid',
        ref,
        path: 'spec.parametersRef',
        message: `expected no parameters, found ${kind} "${parameters}"`,
      });
    }
    const conditions = conditionsOf(
      record.metadata.generation,
      [{ type: 'Accepted', status: 'True', reason: 'Accepted' }],
      problems,
    );
    return {
      status: {
        ref,
        apiVersion: apiVersionOf(kinds.GatewayClass),
        generation: record.metadata.generation,
        status: { conditions },
      },
      problems,
    };
  },
};

/** A status and the problems that it tells of. */
export interface StatusResult {
  readonly status: Status | undefined;
  readonly problems: readonly Problem[];
}
