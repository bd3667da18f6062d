import { codec } from '../../wire/proto/registry.ts';
import { fromStruct, type Json, toStruct } from '../../wire/proto/struct.ts';
import { metadataKey } from '../../wire/proto/type-urls.ts';
import { type ExportTarget, parseExportPolicy } from './export-policy.ts';

/**
 * What rides beside a resource between clusters, in `Resource.metadata["causeway.dev"]`. It is no part of the
 * content: it may change without the resource being another one.
 */
export interface LinkFacts {
  /** Of what is contributed. From the origin to relays and between them; never told to consumers. */
  readonly export?: readonly ExportTarget[];
  /** Of an OriginStatus: relays that the origin came by. */
  readonly path: readonly string[];
  /** The origin's clock when what it contributes changed, epoch milliseconds; 0: not said. */
  readonly mark: number;
}

const maxPath = 16;

export function encodeLinkFacts(facts: LinkFacts): Buffer {
  const plain: Record<string, Json | undefined> = {
    export: facts.export && (JSON.parse(JSON.stringify(facts.export)) as Json),
    path: facts.path.length === 0 ? undefined : facts.path,
    mark: facts.mark || undefined,
  };
  return codec('envoy.config.core.v3.Metadata').encode({
    filter_metadata: { [metadataKey]: toStruct(plain) },
  });
}

/** Undefined when the bytes are not what a peer may send. An absent export policy stays absent. */
export function decodeLinkFacts(metadata: Uint8Array | undefined): LinkFacts | undefined {
  if (!metadata) return { path: [], mark: 0 };
  let plain: { [key: string]: Json };
  try {
    const message = codec('envoy.config.core.v3.Metadata').decode(metadata);
    plain = fromStruct(message.filter_metadata?.[metadataKey]);
  } catch {
    return undefined;
  }
  const { path = [], mark = 0 } = plain;
  if (!Array.isArray(path) || path.length > maxPath || !path.every((p) => typeof p === 'string'))
    return undefined;
  if (typeof mark !== 'number' || !Number.isFinite(mark)) return undefined;
  const policy = plain.export === undefined ? undefined : parseExportPolicy(plain.export);
  if (plain.export !== undefined && !policy) return undefined;
  return { ...(policy ? { export: policy } : {}), path: path as string[], mark };
}
