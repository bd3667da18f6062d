/**
 * Which address which Gateway has, and which nodes may still translate it. Order of events is kept as a sequence
 * number: a claim has the numbers at which it was made and given up, a node those at which its agent was seen.
 */
export interface ClaimState {
  /** Of the last event. */
  readonly sequence: number;
  /** key: the address, canonical text. */
  readonly claims: ReadonlyMap<string, KeptClaim>;
  /** key: the node's name. */
  readonly nodes: ReadonlyMap<string, KnownNode>;
}

export interface KeptClaim {
  readonly address: string;
  /** A Gateway that was deleted and made again has another uid, and is another one. */
  readonly gateway: { readonly namespace: string; readonly name: string; readonly uid: string };
  readonly since: number;
  /** Given up at this event: nobody gets it until no node can hold it any more. */
  readonly until?: number;
}

/** A node whose agent was connected at some time. */
export interface KnownNode {
  /** Between these its agent was told of claims: seen first (what was given up before, it was never told), and last. */
  readonly first: number;
  readonly last: number;
  readonly connected: boolean;
  /** It has acknowledged that everything given up until then is gone. */
  readonly cleared: number;
  /** There was a Node object of this name, so that its absence means something. */
  readonly object: boolean;
}

export const noClaims: ClaimState = { sequence: 0, claims: new Map(), nodes: new Map() };

/** Nodes that may translate a claim's address: their agent was connected meanwhile, and has not said it is gone. */
export function holders(state: ClaimState, claim: KeptClaim): string[] {
  return [...state.nodes]
    .filter(([, node]) => mayHold(node, claim, state.sequence))
    .map(([name]) => name)
    .sort();
}

export function isHeld(state: ClaimState, claim: KeptClaim): boolean {
  for (const node of state.nodes.values()) if (mayHold(node, claim, state.sequence)) return true;
  return false;
}

function mayHold(node: KnownNode, { since, until }: KeptClaim, now: number): boolean {
  const last = node.connected ? now : node.last;
  return node.first <= (until ?? now) && last >= since && (until === undefined || node.cleared < until);
}
