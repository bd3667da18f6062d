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
  /** It has acknowledged that everything given up until then is gone, and refused nothing. */
  readonly cleared: number;
  /** There was a Node object of this name, so that its absence means something. */
  readonly object: boolean;
}

export const noClaims: ClaimState = { sequence: 0, claims: new Map(), nodes: new Map() };

/** What nodes have said to this process; more than `KnownNode.cleared` where a node refuses something. */
export interface Acknowledgements {
  /** The event up to which a node holds everything that it does not refuse; 0: none. */
  readonly acknowledged: (node: string) => number;
  /**
   * It refuses a part of a Gateway, and may have what it held of it before; without a Gateway: a part of any. What it
   * does not refuse is not held back by it.
   */
  readonly refuses: (node: string, gateway?: KeptClaim['gateway']) => boolean;
}

/** Nodes that may translate a claim's address: their agent was connected meanwhile, and has not said it is gone. */
export function holders(state: ClaimState, claim: KeptClaim, said: Acknowledgements): string[] {
  return [...state.nodes.keys()].filter((name) => isHolder(state, name, claim, said)).sort();
}

export function isHeld(state: ClaimState, claim: KeptClaim, said: Acknowledgements): boolean {
  for (const name of state.nodes.keys()) if (isHolder(state, name, claim, said)) return true;
  return false;
}

function isHolder(state: ClaimState, name: string, claim: KeptClaim, said: Acknowledgements): boolean {
  const node = state.nodes.get(name);
  if (!node || !mayHold(node, claim, state.sequence)) return false;
  const { until, gateway } = claim;
  return until === undefined || said.acknowledged(name) < until || said.refuses(name, gateway);
}

function mayHold(node: KnownNode, { since, until }: KeptClaim, now: number): boolean {
  const last = node.connected ? now : node.last;
  return node.first <= (until ?? now) && last >= since && (until === undefined || node.cleared < until);
}
