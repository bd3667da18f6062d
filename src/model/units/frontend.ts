import type { Frontend, FrontendKey, Port } from '../ir.ts';
import type { ModelConfig } from '../model-config.ts';
import type { Unit } from '../reader.ts';
import { byText } from '../sorted-map.ts';
import { targetsProtocol } from './app-protocol.ts';
import { carrying } from './carriers.ts';
import { gatewayVips, isGatewayAccepted } from './gateway-addresses.ts';
import { listenerPlans } from './listeners.ts';
import { type NamespacedName, parseKey } from './object-key.ts';
import { routeTargets } from './route-targets.ts';

export const gatewayFrontendKey = (gateway: string): FrontendKey => `gateway/${gateway}`;

/** By the Gateway's key. Undefined: it has no address, or nothing to serve. */
export const frontend: Unit<Frontend | undefined> = {
  name: 'frontend',
  compute: (reader, key) => {
    const gateway = reader.get('Gateway', key);
    if (!gateway || !isGatewayAccepted(reader, key)) return undefined;
    const vips = reader.unit(gatewayVips, key);
    if (vips.length === 0) return undefined;
    const carriers = reader.unit(carrying, key);
    const ports = (reader.unit(listenerPlans, key) ?? []).flatMap(
      ({ valid, protocol, port, name }): readonly Port[] => {
        if (!valid || !protocol) return [];
        const carrier = carriers.get(name);
        const targets = carrier === undefined ? [] : reader.unit(routeTargets, carrier).targets;
        const appProtocol = targetsProtocol(reader, targets);
        return [
          {
            protocol,
            port,
            listeners: [name],
            ...(appProtocol === undefined ? {} : { appProtocol }),
            targets,
          },
        ];
      },
    );
    const name = frontendName(reader.config, parseKey(key));
    return {
      key: gatewayFrontendKey(key),
      generation: gateway.metadata.generation,
      names: name === undefined ? [] : [name],
      ttl: reader.config.ttl,
      vips,
      ports: ports.sort((a, b) => byText(a.protocol, b.protocol) || a.port - b.port),
    };
  },
};

const label = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** `<gateway>.<namespace>.<zone>`. Undefined: one of them is no DNS label, or the whole is too long for a name. */
export function frontendName({ zone }: ModelConfig, { namespace, name }: NamespacedName): string | undefined {
  if (!label.test(name) || !label.test(namespace)) return undefined;
  const full = `${name}.${namespace}.${zone}`.toLowerCase();
  return full.length <= 253 ? full : undefined;
}
