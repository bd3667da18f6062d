import { addressToBigInt, type Cidr, cidrContains, parseCidr } from '../../wire/address.ts';
import type { ModelConfig } from '../model-config.ts';

const known = new WeakMap<ModelConfig, readonly Cidr[]>();

/** The ranges of virtual addresses, in the order of the configuration; what is no CIDR is left out. */
export function serviceRanges(config: ModelConfig): readonly Cidr[] {
  let ranges = known.get(config);
  if (!ranges) {
    ranges = config.serviceCidrs.flatMap((text) => parseCidr(text) ?? []);
    known.set(config, ranges);
  }
  return ranges;
}

export function isServiceAddress(config: ModelConfig, address: string): boolean {
  const value = addressToBigInt(address);
  return value !== undefined && serviceRanges(config).some((range) => cidrContains(range, value));
}
