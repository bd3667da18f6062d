import { apiVersionOf } from '../../api/kind.ts';
import { kinds } from '../../api/kinds.ts';
import { familyOf } from '../../wire/address.ts';
import { type Condition, conditionsOf, type DefaultCondition } from '../conditions.ts';
import type { Frontend } from '../ir.ts';
import type { Problem } from '../problem.ts';
import type { Reader, Unit } from '../reader.ts';
import { type Carriers, carriers } from './carriers.ts';
import { frontend, frontendName } from './frontend.ts';
import { gatewayAddresses, gatewayVips, isGatewayAccepted } from './gateway-addresses.ts';
import { classNotFound, type StatusResult } from './gateway-class.ts';
import { type ListenerPlan, listenerPlans } from './listeners.ts';
import { parseKey, refOf } from './object-key.ts';

/** By the Gateway's key. Undefined: not of a class of ours. */
export const gatewayStatus: Unit<StatusResult | undefined> = {
  name: 'gatewayStatus',
  compute: (reader, key) => {
    const gateway = reader.get('Gateway', key);
    const listeners = reader.unit(listenerPlans, key);
    if (!gateway) return undefined;
    if (!listeners) {
      const problem = classNotFound(reader, gateway);
      return problem && { status: undefined, problems: [problem] };
    }
    const ref = refOf('Gateway', gateway.metadata);
    const { generation } = gateway.metadata;
    const add = (code: Problem['code'], path: string, message: string): Problem => ({
      code,
      ref,
      path,
      message,
    });
    const name = frontendName(reader.config, parseKey(key));
    const problems: Problem[] = [
      ...parameterProblems(gateway.spec.infrastructure?.parametersRef, add),
      ...reader.unit(gatewayAddresses, key).problems,
      ...listenerSummary(listeners, add),
      ...programmingProblems(reader, key, generation, add),
      ...(name === undefined ? [add('NameNotALabel', 'metadata.name', nameMessage(key))] : []),
    ];
    const conditions = conditionsOf(
      generation,
      [
        { type: 'Accepted', status: 'True', reason: 'Accepted' },
        { type: 'Programmed', status: 'True', reason: 'Programmed', message: programmedMessage(reader, key) },
        nameCondition(name, reader.unit(frontend, key)),
      ],
      problems,
    );
    const programmed = conditions.find(({ type }) => type === 'Programmed') as Condition;
    const attached = reader.unit(carriers, key);
    return {
      status: {
        ref,
        apiVersion: apiVersionOf(kinds.Gateway),
        generation,
        status: {
          addresses: reader.unit(gatewayVips, key).map((value) => ({ type: 'IPAddress', value })),
          conditions,
          listeners: listeners.map((listener) => listenerStatus(listener, generation, attached, programmed)),
        },
      },
      problems: [...problems, ...listeners.flatMap((listener) => listener.problems)],
    };
  },
};

type Add = (code: Problem['code'], path: string, message: string) => Problem;

function parameterProblems(
  parametersRef: { readonly kind: string; readonly name: string } | undefined,
  add: Add,
): readonly Problem[] {
  if (!parametersRef) return [];
  const { kind, name } = parametersRef;
  const message = `expected no parameters, found ${kind} "${name}"`;
  return [add('ParametersInvalid', 'spec.infrastructure.parametersRef', message)];
}

function listenerSummary(listeners: readonly ListenerPlan[], add: Add): readonly Problem[] {
  const invalid = listeners.filter(({ valid }) => !valid).map(({ name }) => `"${name}"`);
  if (invalid.length === 0) return [];
  if (invalid.length === listeners.length) {
    return [
      add(
        'NoListenerValid',
        'spec.listeners',
        'expected a valid listener, found none (see status.listeners)',
      ),
    ];
  }
  const message = `not served: ${invalid.join(', ')} (see status.listeners)`;
  return [add('SomeListenersInvalid', 'spec.listeners', message)];
}

/** Why traffic does not flow yet, the first cause only. */
function programmingProblems(reader: Reader, key: string, generation: number, add: Add): readonly Problem[] {
  if (!isGatewayAccepted(reader, key)) {
    return [add('GatewayInvalid', '', 'the Gateway is not accepted (see the condition Accepted)')];
  }
  const { families, problems } = reader.unit(gatewayAddresses, key);
  if (problems.length > 0) return [];
  const vips = reader.unit(gatewayVips, key);
  const lacking = families.filter((family) => vips.every((vip) => familyOf(vip) !== family));
  const failure = reader.get('ClaimFailure', key);
  if (failure && lacking.length > 0) {
    const code = failure.reason === 'NotUsable' ? 'AddressNotUsable' : 'AddressNotAssigned';
    return [add(code, 'spec.addresses', failure.message)];
  }
  if (lacking.length > 0 || vips.length === 0) {
    return [add('AddressNotAssigned', '', `waiting for an ${lacking.join(' and an ')} address`)];
  }
  const programming = reader.get('Programming', key);
  if (programming?.bypassed) {
    return [add('DataPlaneBypassed', '', programming.message)];
  }
  if (programming?.generation === generation && programming.programmed) return [];
  const message = programming?.generation === generation ? programming.message : 'waiting for nodes';
  return [add('ProgrammingPending', '', message)];
}

const programmedMessage = (reader: Reader, key: string): string =>
  reader.get('Programming', key)?.message ?? '';

/** DNS knows the names of front ends that somebody can connect to. */
function nameCondition(name: string | undefined, served: Frontend | undefined): DefaultCondition {
  const type = 'causeway.dev/NameAssigned';
  if (served) return { type, status: 'True', reason: 'Assigned', message: name ?? '' };
  const message = `${name} does not exist before the Gateway has an address (see the condition Programmed)`;
  return { type, status: 'False', reason: 'NoAddress', message };
}

function nameMessage(key: string): string {
  const { namespace, name } = parseKey(key);
  return `expected a name that is a DNS label (a-z, 0-9 and "-", at most 63), found ${JSON.stringify(name)} in namespace "${namespace}": it has an address and no name`;
}

function listenerStatus(
  { name, supportedKinds, problems, valid }: ListenerPlan,
  generation: number,
  attached: Carriers,
  programmed: Condition,
) {
  const conflict = problems.find(({ code }) => code.endsWith('Conflict'));
  const conditions = conditionsOf(
    generation,
    [
      { type: 'Accepted', status: 'True', reason: 'Accepted' },
      { type: 'Conflicted', status: 'False', reason: 'NoConflicts' },
      { type: 'ResolvedRefs', status: 'True', reason: 'ResolvedRefs' },
    ],
    problems,
  ).map((condition): Condition => {
    // A listener in a conflict is accepted only by itself.
    if (condition.type !== 'Accepted' || condition.status !== 'True' || !conflict) return condition;
    const reason = conflict.code === 'ListenerHostnameConflict' ? 'HostnameConflict' : 'ProtocolConflict';
    return { ...condition, status: 'False', reason, message: conflict.message };
  });
  const own: Condition = valid
    ? { ...programmed, message: '' }
    : { ...programmed, status: 'False', reason: 'Invalid', message: 'see the other conditions' };
  return {
    name,
    supportedKinds,
    attachedRoutes: attached.get(name)?.length ?? 0,
    conditions: [...conditions, own],
  };
}
