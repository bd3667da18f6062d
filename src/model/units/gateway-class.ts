import { apiVersionOf } from '../../api/kind.ts';
import { kinds } from '../../api/kinds.ts';
import { nearest } from '../../api/nearest.ts';
import type { Status } from '../compiled.ts';
import { conditionsOf } from '../conditions.ts';
import type { Inputs } from '../inputs.ts';
import type { Problem } from '../problem.ts';
import type { Reader, Unit } from '../reader.ts';
import { refOf } from './object-key.ts';

/** Whether a class is ours, by its name. */
export const classIsOurs: Unit<boolean> = {
  name: 'classIsOurs',
  compute: (reader, name) =>
    reader.get('GatewayClass', name)?.spec.controllerName === reader.config.controllerName,
};

/** The class of a Gateway does not exist; undefined: it does, ours or not. */
export function classNotFound(reader: Reader, gateway: Inputs['Gateway']): Problem | undefined {
  const name = gateway.spec.gatewayClassName;
  if (reader.get('GatewayClass', name)) return undefined;
  const { controllerName } = reader.config;
  const ours = reader.list('GatewayClass', 'controller', controllerName).map(({ metadata }) => metadata.name);
  const near = nearest(name, ours);
  const meant =
    near === undefined ? `classes of ours are: ${ours.join(', ') || 'none'}` : `did you mean "${near}"?`;
  return {
    code: 'ClassNotFound',
    ref: refOf('Gateway', gateway.metadata),
    path: 'spec.gatewayClassName',
    message: `expected a GatewayClass that exists, found ${JSON.stringify(name)}; ${meant}`,
  };
}

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
