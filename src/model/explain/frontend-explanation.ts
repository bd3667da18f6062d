import type { Condition } from '../conditions.ts';
import type { Inputs } from '../inputs.ts';
import type { Reader, Unit } from '../reader.ts';
import { frontendName } from '../units/frontend.ts';
import { gatewayVips } from '../units/gateway-addresses.ts';
import { classNotFound } from '../units/gateway-class.ts';
import { gatewayStatus } from '../units/gateway-status.ts';
import { type ListenerPlan, listenerPlans } from '../units/listeners.ts';
import { refOf } from '../units/object-key.ts';
import { causeOf } from './cause.ts';
import type { Cause, FrontendExplanation } from './explanation.ts';
import { explainPort } from './port-explanation.ts';

/** By the Gateway's key. Undefined: there is none. */
export const frontendExplanation: Unit<FrontendExplanation | undefined> = {
  name: 'frontendExplanation',
  compute: (reader, key) => {
    const gateway = reader.get('Gateway', key);
    if (!gateway) return undefined;
    const { namespace, name } = gateway.metadata;
    const plans = reader.unit(listenerPlans, key);
    const dnsName = frontendName(reader.config, { namespace, name });
    const { conditions, causes } = statusOf(reader, key);
    return {
      namespace,
      name,
      class: gateway.spec.gatewayClassName,
      names: dnsName === undefined ? [] : [dnsName],
      ttl: reader.config.ttl,
      addresses: plans ? reader.unit(gatewayVips, key) : [],
      conditions,
      causes: plans ? causes : [notOurs(reader, gateway)],
      ports: (plans ?? []).map((plan: ListenerPlan) => explainPort(reader, key, plan)),
    };
  },
};

/** The Gateway's own conditions, and what is wrong with it apart from its listeners. */
function statusOf(
  reader: Reader,
  key: string,
): Pick<FrontendExplanation, 'conditions'> & { readonly causes: readonly Cause[] } {
  const result = reader.unit(gatewayStatus, key);
  const conditions = (result?.status?.status.conditions ?? []) as readonly Condition[];
  return {
    conditions: conditions.map(({ type, status, reason, message }) => ({ type, status, reason, message })),
    causes: (result?.problems ?? [])
      .filter(({ path, code }) => !path.startsWith('spec.listeners[') && code !== 'GatewayInvalid')
      .map(causeOf),
  };
}

function notOurs(reader: Reader, gateway: Inputs['Gateway']): Cause {
  const missing = classNotFound(reader, gateway);
  if (missing) return { ...causeOf(missing), stops: true };
  const { gatewayClassName } = gateway.spec;
  const controller = reader.get('GatewayClass', gatewayClassName)?.spec.controllerName;
  return {
    stops: true,
    reason: 'ClassNotOurs',
    ref: refOf('Gateway', gateway.metadata),
    field: 'spec.gatewayClassName',
    message: `expected a class of controller ${reader.config.controllerName}, found that "${gatewayClassName}" is of controller ${controller}`,
    next: 'use a GatewayClass with that controllerName, as cluster-ip',
  };
}
