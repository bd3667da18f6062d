import {
  addressToBigInt,
  bigIntToAddress,
  type Cidr,
  canonicalAddress,
  cidrContains,
  type Family,
  familyOf,
  parseCidr,
} from '../wire/address.ts';
import type { WantedClaim } from './compiled.ts';
import type { ClaimFailure } from './inputs.ts';

export interface AllocateOptions {
  /** Ranges of virtual addresses, as CIDRs. */
  readonly ranges: readonly string[];
  /** Who holds an address (canonical text), bound or releasing, this Gateway included; for people. */
  readonly holderOf: (address: string) => string | undefined;
  readonly wanted: WantedClaim;
  /** Canonical addresses that the Gateway has already. */
  readonly held: readonly string[];
}

export interface Allocation {
  /** What the Gateway has from now on, in the order of `families`: those it keeps and the new ones. */
  readonly addresses: readonly string[];
  /** The first family that gets none, and why. */
  readonly failure?: ClaimFailure;
}

/**
 * Chooses addresses for one Gateway. A requested one is taken as it is; for a family without, a held address
 * stays, or else the first free one is chosen. The search starts in the upper part of a range at a place that
 * the Gateway's name gives, so that the same Gateways get the same addresses wherever there is room, and stays
 * off the lower part, which Kubernetes keeps for static addresses, until nothing else is free.
 */
export function allocate({ ranges, holderOf, wanted, held }: AllocateOptions): Allocation {
  const cidrs = ranges.flatMap((range) => parseCidr(range) ?? []);
  const requested = wanted.requested.map((address) => canonicalAddress(address) ?? address);
  const addresses: string[] = [];
  let failure: ClaimFailure | undefined;
  for (const family of wanted.families) {
    const chosen = choose(
      family,
      requested.find((address) => familyOf(address) === family),
      held,
      cidrs.filter((cidr) => cidr.family === family),
      holderOf,
      wanted.gateway,
    );
    if (typeof chosen === 'string') addresses.push(chosen);
    else failure ??= chosen;
  }
  return failure ? { addresses, failure } : { addresses };
}

function choose(
  family: Family,
  requested: string | undefined,
  held: readonly string[],
  cidrs: readonly Cidr[],
  holderOf: AllocateOptions['holderOf'],
  gateway: WantedClaim['gateway'],
): string | ClaimFailure {
  const names =
    cidrs.map((cidr) => `${bigIntToAddress(family, cidr.first)}/${cidr.prefix}`).join(', ') || 'none';
  if (requested !== undefined) {
    if (held.includes(requested)) return requested;
    const value = addressToBigInt(requested);
    if (!value || !cidrs.some((cidr) => cidrContains(usable(cidr), value))) {
      return { reason: 'NotUsable', message: `expected an address within ${names}, found ${requested}` };
    }
    const holder = holderOf(requested);
    if (holder !== undefined)
      return {
        reason: 'NotUsable',
        message: `expected a free address, found ${requested} taken by ${holder}`,
      };
    return requested;
  }
  const kept = held.find((address) => {
    const value = addressToBigInt(address);
    return value !== undefined && cidrs.some((cidr) => cidrContains(usable(cidr), value));
  });
  if (kept !== undefined) return kept;
  for (const cidr of cidrs) {
    const isTaken = (address: string): boolean => holderOf(address) !== undefined;
    const free = firstFree(cidr, `${gateway.namespace}/${gateway.name}`, isTaken);
    if (free !== undefined) return free;
  }
  return { reason: 'NotAssigned', message: `no ${family} address is free (ranges: ${names})` };
}

/**
 * Neither the network's own address nor the one after it, which is the API server's Service, nor in IPv4 the
 * broadcast address.
 */
function usable(cidr: Cidr): Cidr {
  const reserved = cidr.family === 'IPv4' ? 1n : 0n;
  return { ...cidr, first: cidr.first + 2n, last: cidr.last - reserved };
}

/** Kubernetes keeps min(max(16, size ÷ 16), 256) addresses at the start for those who name one. */
function lowerPart(size: bigint): bigint {
  const sixteenth = size / 16n;
  const wanted = sixteenth < 16n ? 16n : sixteenth > 256n ? 256n : sixteenth;
  return size > wanted ? wanted : 0n;
}

/** More probes than addresses can be held: an IPv6 range never ends. */
const maxProbes = 1_000_000n;

function firstFree(cidr: Cidr, name: string, isTaken: (address: string) => boolean): string | undefined {
  const { first, last } = usable(cidr);
  if (last < first) return undefined;
  const lower = lowerPart(last - first + 1n);
  return (
    probe(cidr.family, first + lower, last, name, isTaken) ??
    (lower > 0n ? probe(cidr.family, first, first + lower - 1n, name, isTaken) : undefined)
  );
}

function probe(
  family: Family,
  first: bigint,
  last: bigint,
  name: string,
  isTaken: (address: string) => boolean,
): string | undefined {
  const size = last - first + 1n;
  const start = hash(name) % size;
  const probes = size < maxProbes ? size : maxProbes;
  for (let i = 0n; i < probes; i++) {
    const address = bigIntToAddress(family, first + ((start + i) % size));
    if (!isTaken(address)) return address;
  }
  return undefined;
}

/** FNV-1a, 64 bits: well spread, the same everywhere. */
function hash(text: string): bigint {
  let value = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(text)) {
    value = BigInt.asUintN(64, (value ^ BigInt(byte)) * 0x100000001b3n);
  }
  return value;
}
