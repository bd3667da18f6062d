import type { AnyMessage, MetadataMessage } from './messages.ts';
import { fromStruct, type Json, toStruct } from './struct.ts';
import { metadataKey } from './type-urls.ts';

/** An Any of a message by its full name. */
export function toAny(name: string, value: Uint8Array): AnyMessage {
  return { type_url: `type.googleapis.com/${name}`, value };
}

/** Our own facts beside a standard message. */
export function toMetadata(facts: Readonly<Record<string, Json | undefined>>): MetadataMessage {
  return { filter_metadata: { [metadataKey]: toStruct(facts) } };
}

/** Our own facts; empty where there are none. */
export function fromMetadata(metadata: MetadataMessage | null | undefined): { [key: string]: Json } {
  return fromStruct(metadata?.filter_metadata?.[metadataKey]);
}
