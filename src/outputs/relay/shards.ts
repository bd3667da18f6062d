import type { RemoteEndpoint } from '../../model/inputs.ts';

export interface Shard {
  /** Leading bits of the endpoint hash that its endpoints share; empty: it holds all. */
  readonly bits: string;
  readonly endpoints: readonly RemoteEndpoint[];
}

const maxBits = 32;

/**
 * Splits endpoints into shards of at most `limit` by the leading bits of a hash of their first address and port.
 * Only the endpoints decide, so a restart gives the same shards, and one endpoint's change touches one shard (or
 * splits or joins that one). The order within a shard is the order of `endpoints`.
 */
export function shardEndpoints(endpoints: readonly RemoteEndpoint[], limit = 100): readonly Shard[] {
  const hashed = endpoints.map((endpoint) => ({ endpoint, hash: hashOf(endpoint) }));
  return split(hashed, '', limit).map(({ bits, items }) => ({
    bits,
    endpoints: items.map((i) => i.endpoint),
  }));
}

interface Hashed {
  readonly endpoint: RemoteEndpoint;
  readonly hash: number;
}

function split(
  items: readonly Hashed[],
  bits: string,
  limit: number,
): { bits: string; items: readonly Hashed[] }[] {
  if (items.length <= limit || bits.length === maxBits) return [{ bits, items }];
  const shift = 31 - bits.length;
  const half = (bit: number) => items.filter((i) => ((i.hash >>> shift) & 1) === bit);
  return [...split(half(0), `${bits}0`, limit), ...split(half(1), `${bits}1`, limit)];
}

/** FNV-1a and the finalizer of MurmurHash3, so that neighbouring addresses spread over the leading bits. */
function hashOf(endpoint: RemoteEndpoint): number {
  const text = `${endpoint.addresses[0]} ${endpoint.port}`;
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
