import { decodeLinkFacts } from '../../src/model/relay/link-metadata.ts';
import { decodeOriginStatus } from '../../src/model/relay/origin-status.ts';
import { parseClaims } from '../../src/outputs/objects/claim-file.ts';
import { parsePeerIdentity } from '../../src/runtime/identity.ts';
import * as link from '../../src/sources/relay/decode.ts';
import { parseKeptPeers } from '../../src/sources/relay/kept-peers.ts';
import * as ads from '../../src/sources/xds/decode.ts';
import { decodeDeltaRequest, decodeDeltaResponse } from '../../src/wire/proto/discovery.ts';

/** Who sends what is recorded, and who reads it: each has a reading of its own. */
export const readings = {
  Listener: ads.decodeListener,
  Cluster: ads.decodeCluster,
  ClusterLoadAssignment: ads.decodeAssignment,
  nodes: (name: string, body: Uint8Array) => {
    const read = ads.decodeNodes(name, body);
    return 'refused' in read ? read : [...read.values()];
  },
  OriginStatus: (_: string, body: Uint8Array) => decodeOriginStatus(body),
  'link Cluster': (name: string, body: Uint8Array) => link.decodeCluster(body, name),
  'link ClusterLoadAssignment': (name: string, body: Uint8Array) =>
    link.decodeShard(body, { name, cluster: 'west', limit: 1_000 }),
  'link metadata': (_: string, body: Uint8Array) => decodeLinkFacts(body),
  DeltaDiscoveryRequest: (_: string, bytes: Uint8Array) => {
    const { node, initialVersions, ...request } = decodeDeltaRequest(bytes);
    return { ...request, node: node !== undefined, initialVersions: Object.fromEntries(initialVersions) };
  },
  DeltaDiscoveryResponse: (_: string, bytes: Uint8Array) => {
    const { resources, ...response } = decodeDeltaResponse(bytes);
    const read = resources.map(({ body, metadata, ...rest }) => ({
      ...rest,
      bytes: body.length,
      facts: decodeLinkFacts(metadata),
    }));
    return { ...response, resources: read };
  },
  certificate: (_: string, der: Uint8Array) => parsePeerIdentity(der),
  'peers.json': (_: string, bytes: Uint8Array) => {
    const kept = parseKeptPeers(Buffer.from(bytes).toString(), { set: 'demo', cluster: 'east' });
    return typeof kept === 'string' ? { refused: kept } : kept;
  },
  'claims.yaml': (_: string, bytes: Uint8Array) => {
    const claims = parseClaims(Buffer.from(bytes).toString());
    return typeof claims === 'string' ? { refused: claims } : claims;
  },
} as const;

export type Reading = keyof typeof readings;

/** What today's code reads in recorded bytes, as plain values. */
export function read(reading: Reading, name: string, bytes: Uint8Array): unknown {
  return plain(readings[reading](name, bytes));
}

function plain(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (_key, held: unknown) => {
      if (held instanceof Map) return Object.fromEntries(held);
      const buffer = held as { type?: unknown; data?: number[] } | null;
      if (buffer?.type === 'Buffer' && Array.isArray(buffer.data))
        return Buffer.from(buffer.data).toString('base64');
      return held;
    }) ?? 'null',
  );
}
