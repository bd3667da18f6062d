import {
  addressToBigInt,
  canonicalAddress,
  cidrContains,
  type Family,
  familyOf,
} from '../../wire/address.ts';
import type { WantedClaim } from '../compiled.ts';
import type { Inputs } from '../inputs.ts';
import type { Problem } from '../problem.ts';
import type { Reader, Unit } from '../reader.ts';
import { listenerPlans } from './listeners.ts';
import { byAge, refOf } from './object-key.ts';
import { serviceRanges } from './service-ranges.ts';

export interface GatewayAddresses {
  /** In the order of the spec; without one, the primary family. */
  readonly families: readonly Family[];
  readonly requested: readonly string[];
  readonly problems: readonly Problem[];
}

/**
 * What `spec.addresses` asks for, by the Gateway's key. Only type IPAddress is known, one for each family: a
 * value asks for that address, `0.0.0.0` or `::` for any of the family, none for any of a family not yet named.
 */
export const gatewayAddresses: Unit<GatewayAddresses> = {
  name: 'gatewayAddresses',
  compute: (reader, key) => {
    const gateway = reader.get('Gateway', key);
    const served = [...new Set(serviceRanges(reader.config).map(({ family }) => family))];
    if (!gateway) return { families: [], requested: [], problems: [] };
    const { addresses } = gateway.spec;
    if (addresses.length === 0) return { families: served.slice(0, 1), requested: [], problems: [] };
    const problems: Problem[] = [];
    const families: Family[] = [];
    const requested: string[] = [];
    const named = new Set(addresses.flatMap(({ value }) => explicitFamily(value) ?? []));
    for (const [i, { type, value }] of addresses.entries()) {
      const add = (code: Problem['code'], message: string) =>
        problems.push({
          code,
          ref: refOf('Gateway', gateway.metadata),
          path: `spec.addresses[${i}]`,
          message,
        });
      if (type !== 'IPAddress') {
        add('AddressUnsupported', `expected an address of type IPAddress, found ${type}`);
        continue;
      }
      const family = explicitFamily(value) ?? served.find((f) => !named.has(f) && !families.includes(f));
      if (!family || families.includes(family)) {
        add('AddressUnsupported', `expected one address for each of ${served.join(' and ')}, found one more`);
        continue;
      }
      const address = canonicalAddress(value ?? '');
      if (
        !served.includes(family) ||
        (address !== undefined && !isAny(address) && !inRange(reader, address))
      ) {
        const ranges = reader.config.serviceCidrs.join(', ') || 'none';
        add('AddressNotUsable', `expected an address within ${ranges}, found ${value}`);
        continue;
      }
      families.push(family);
      if (address !== undefined && !isAny(address)) requested.push(address);
    }
    return { families, requested, problems };
  },
};

const isAny = (address: string): boolean => address === '0.0.0.0' || address === '::';

function explicitFamily(value: string | undefined): Family | undefined {
  const address = canonicalAddress(value ?? '');
  return address === undefined ? undefined : familyOf(address);
}

function inRange(reader: Reader, address: string): boolean {
  const value = addressToBigInt(address);
  return value !== undefined && serviceRanges(reader.config).some((range) => cidrContains(range, value));
}

/** A Gateway is accepted when it is of a class of ours, has a valid listener and asks for nothing unknown. */
export function isGatewayAccepted(reader: Reader, key: string): boolean {
  return (
    reader.get('Gateway', key)?.spec.infrastructure?.parametersRef === undefined &&
    (reader.unit(listenerPlans, key)?.some(({ valid }) => valid) ?? false) &&
    reader.unit(gatewayAddresses, key).problems.every(({ code }) => code !== 'AddressUnsupported')
  );
}

/**
 * By the Gateway's key. Undefined: it should have no address. A Gateway that became invalid keeps what it holds
 * as long as it exists: a mistake must not cost it its address.
 */
export const wantedClaim: Unit<WantedClaim | undefined> = {
  name: 'wantedClaim',
  compute: (reader, key) => {
    const gateway = reader.get('Gateway', key);
    if (!gateway || !reader.unit(listenerPlans, key)) return undefined;
    const { families, requested } = reader.unit(gatewayAddresses, key);
    const accepted = isGatewayAccepted(reader, key);
    const kept = heldFamilies(reader, key).filter((family) => !accepted || !families.includes(family));
    const wanted = accepted ? [...families, ...(isWrong(reader, key) ? kept : [])] : kept;
    if (wanted.length === 0) return undefined;
    const { namespace, name, uid } = gateway.metadata;
    return { gateway: { namespace, name, uid }, families: wanted, requested: accepted ? requested : [] };
  },
};

const isWrong = (reader: Reader, key: string): boolean =>
  reader.unit(gatewayAddresses, key).problems.length > 0;

function heldAddresses(reader: Reader, key: string): readonly string[] {
  return reader
    .list('Claim', 'gateway', key)
    .filter(({ state }) => state === 'bound')
    .flatMap(({ address }) => canonicalAddress(address) ?? []);
}

const heldFamilies = (reader: Reader, key: string): readonly Family[] => [
  ...new Set(heldAddresses(reader, key).map(familyOf)),
];

/**
 * The addresses that are bound to a Gateway, by its key: canonical, at most one per family, in the order it asks
 * for them. What it holds beside stays only while what it asks for is wrong. An address that two Gateways hold
 * goes to the older one.
 */
export const gatewayVips: Unit<readonly string[]> = {
  name: 'gatewayVips',
  compute: (reader, key) => {
    const { families, requested } = reader.unit(gatewayAddresses, key);
    const held = heldAddresses(reader, key).filter((address) => holderOf(reader, address) === key);
    const first = (family: Family) =>
      held.find((address) => familyOf(address) === family && requested.includes(address)) ??
      held.find((address) => familyOf(address) === family);
    const wanted = isWrong(reader, key) ? [...families, ...heldFamilies(reader, key)] : families;
    return [...new Set(wanted)].flatMap((family) => first(family) ?? []);
  },
};

function holderOf(reader: Reader, address: string): string | undefined {
  const claims = reader.list('Claim', 'address', address).filter(({ state }) => state === 'bound');
  const holders = [...new Set(claims.map(({ gateway }) => `${gateway.namespace}/${gateway.name}`))];
  if (holders.length < 2) return holders[0];
  const gateways = holders.flatMap((holder) => reader.get('Gateway', holder) ?? []);
  const oldest = gateways.sort((a, b) => byAge(a.metadata, b.metadata))[0] as Inputs['Gateway'] | undefined;
  return oldest && `${oldest.metadata.namespace}/${oldest.metadata.name}`;
}
