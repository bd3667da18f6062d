import { resourceFragment } from '../../wire/proto/discovery.ts';

/** What is put under a name. */
export interface Resource {
  readonly name: string;
  /** The encoded message. */
  readonly body: Uint8Array;
  /** Default: a hash of the body. Equal versions must mean equal content, on every replica. */
  readonly version?: string;
  /** Bytes of envoy.config.core.v3.Metadata that ride beside the body, outside the version. */
  readonly metadata?: Uint8Array;
  /** For the views of streams; never sent. */
  readonly facts?: unknown;
}

/** The state of a name at a position. Immutable: a change makes a new entry. */
export interface Entry {
  readonly name: string;
  /** set: has content. removed: gone. withheld: its content is not known; it is not answered at all. */
  readonly state: 'set' | 'removed' | 'withheld';
  readonly version: string;
  /** Position in the log at which it became so. */
  readonly seq: number;
  /** Field 2 of DeltaDiscoveryResponse, tag included; empty unless set. */
  readonly fragment: Buffer;
  readonly facts: unknown;
}

/** A resource whose body somebody else holds: it is encoded each time that it is sent. */
export class BorrowedEntry implements Entry {
  readonly version: string;
  readonly seq: number;
  readonly #typeUrl: string;
  readonly #resource: Resource;

  constructor(typeUrl: string, resource: Resource, version: string, seq: number) {
    this.#typeUrl = typeUrl;
    this.#resource = resource;
    this.version = version;
    this.seq = seq;
  }

  at(seq: number): BorrowedEntry {
    return new BorrowedEntry(this.#typeUrl, this.#resource, this.version, seq);
  }

  get state(): 'set' {
    return 'set';
  }

  get name(): string {
    return this.#resource.name;
  }

  get facts(): unknown {
    return this.#resource.facts;
  }

  get fragment(): Buffer {
    return resourceFragment(fragmentOf(this.#typeUrl, this.#resource, this.version));
  }
}

/** A resource that is encoded once for all streams. */
export function encodedEntry(typeUrl: string, resource: Resource, version: string, seq: number): Entry {
  const { name, facts } = resource;
  const fragment = resourceFragment(fragmentOf(typeUrl, resource, version));
  return { name, state: 'set', version, seq, fragment, facts };
}

/** The same at another position. */
export const entryAt = (entry: Entry, seq: number): Entry =>
  entry instanceof BorrowedEntry ? entry.at(seq) : { ...entry, seq };

const fragmentOf = (
  typeUrl: string,
  { name, body, metadata }: Resource,
  version: string,
): Parameters<typeof resourceFragment>[0] => ({ name, version, typeUrl, body, metadata });
