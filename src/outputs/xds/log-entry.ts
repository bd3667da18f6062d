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
