import { defaultModelConfig, type ModelConfig } from '../../model/model-config.ts';
import { networkOf } from '../../model/network.ts';
import { AppError } from '../../runtime/errors.ts';
import type { PeerIdentity } from '../../runtime/identity.ts';

export interface ModelConfigOptions {
  readonly cluster: string;
  readonly set: string;
  /** Empty: what the certificate says. */
  readonly region: string;
  readonly network: string;
  readonly zone: string;
  readonly controllerName: string;
  readonly serviceCidrs: readonly string[];
  readonly relays: readonly string[];
  readonly tls: { readonly cert: string };
}

/**
 * Of a controller's options and its certificate. Other clusters are told what the certificate says and nothing else,
 * so where there are any the options may add nothing to it. Throws E_USAGE.
 */
export function modelConfig(
  options: ModelConfigOptions,
  identity: Pick<PeerIdentity, 'labels' | 'region' | 'network'>,
): ModelConfig {
  requireSame(options, 'region', identity.region, (name) => name);
  requireSame(options, 'network', identity.network, networkOf);
  return {
    ...defaultModelConfig,
    cluster: options.cluster,
    region: options.region || identity.region,
    network: options.network || identity.network,
    labels: identity.labels,
    zone: options.zone,
    controllerName: options.controllerName,
    serviceCidrs: options.serviceCidrs,
    clusterset: options.set,
    relay: options.relays.length > 0,
  };
}

function requireSame(
  options: ModelConfigOptions,
  field: 'region' | 'network',
  certified: string,
  meaning: (name: string) => string,
): void {
  const given = options[field];
  if (given === '' || meaning(given) === meaning(certified)) return;
  if (certified === '' && options.relays.length === 0) return;
  const found = certified === '' ? `carries no ${field}` : `says ${certified}`;
  throw new AppError(
    'E_USAGE',
    `--${field} ${given}: the certificate ${options.tls.cert} (--tls-cert) ${found}, and that is what other clusters are told`,
  );
}
