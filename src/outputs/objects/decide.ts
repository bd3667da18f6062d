import { allocate } from '../../model/allocate.ts';
import type { WantedClaim } from '../../model/compiled.ts';
import type { ClaimFailure } from '../../model/inputs.ts';
import {
  type Acknowledgements,
  type ClaimState,
  isHeld,
  type KeptClaim,
  type KnownNode,
} from './claim-state.ts';

export interface ClaimFacts extends Acknowledgements {
  /** key: `<namespace>/<name>`. Undefined: not known yet whether these are all, so nothing is given or taken. */
  readonly wanted: ReadonlyMap<string, WantedClaim> | undefined;
  /** Ranges of virtual addresses, as CIDRs. */
  readonly ranges: readonly string[];
  /** Addresses of those ranges that somebody else has, and who, as `Service shop/web`. */
  readonly reserved: ReadonlyMap<string, string>;
  /** Nodes whose agent is connected, or was since the last decision. */
  readonly connected: ReadonlySet<string>;
  /** The event up to which agents that connect now are told nothing that was given up. */
  readonly rendered: number;
  /** Names of the Node objects. Undefined: not all of them are known. */
  readonly nodeObjects: ReadonlySet<string> | undefined;
  /** What a decision came to for the same `wanted`, `ranges` and `reserved`. It is not made again for its claims. */
  readonly given?: Given | undefined;
}

/** Claims from which nothing is given or taken. */
export interface Given {
  readonly claims: ReadonlyMap<string, KeptClaim>;
  /** key: `<namespace>/<name>` of the Gateway. */
  readonly failures: ReadonlyMap<string, ClaimFailure>;
}

export interface Decision {
  /** The same object when nothing changed. */
  readonly state: ClaimState;
  /** key: `<namespace>/<name>` of the Gateway. */
  readonly failures: ReadonlyMap<string, ClaimFailure>;
  /** Present: to decide again would come to the same, as long as no fact changes. */
  readonly given?: Given;
}

/**
 * The claims that follow from what is wanted and what nodes hold. An address that is given up is nobody's until
 * every node that may translate it has acknowledged its removal or is gone; an address is never two Gateways'.
 */
export function decide(before: ClaimState, facts: ClaimFacts): Decision {
  let from = before;
  let decision = decideOnce(from, facts);
  // What nobody can hold is free at once, and somebody may be waiting for it.
  for (let i = 0; decision.state !== from && i < maxRounds; i += 1) {
    from = decision.state;
    decision = decideOnce(from, facts);
  }
  const { state, failures } = decision;
  return state === from && facts.wanted
    ? { state, failures, given: { claims: state.claims, failures } }
    : decision;
}

const maxRounds = 10;

/** Whatever happens in it, happens at the next number of the sequence. */
function decideOnce(before: ClaimState, facts: ClaimFacts): Decision {
  const nodes = observe(before, facts);
  const freed = freeClaims({ ...before, nodes }, facts);
  const known = facts.given?.claims === freed ? facts.given : undefined;
  const { claims, failures } = known
    ? known
    : facts.wanted
      ? giveAndTake({ ...before, nodes, claims: freed }, facts.wanted, facts)
      : { claims: freed, failures: new Map<string, ClaimFailure>() };
  if (claims === before.claims && nodes === before.nodes) return { state: before, failures };
  const happened = claims !== freed || [...nodes.values()].some(({ last }) => last > before.sequence);
  const sequence = before.sequence + (happened ? 1 : 0);
  return { state: { sequence, claims, nodes }, failures };
}

/** The same map when nothing changed. */
function observe(state: ClaimState, facts: ClaimFacts): ReadonlyMap<string, KnownNode> {
  const { sequence } = state;
  const nodes = new Map<string, KnownNode>();
  let changed = false;
  for (const name of new Set([...state.nodes.keys(), ...facts.connected])) {
    const node = state.nodes.get(name);
    const connected = facts.connected.has(name);
    const object = (node?.object ?? false) || (facts.nodeObjects?.has(name) ?? false);
    if (object && !connected && facts.nodeObjects && !facts.nodeObjects.has(name)) {
      changed = true;
      continue;
    }
    const next: KnownNode = {
      first: node?.first ?? Math.min(sequence, facts.rendered) + 1,
      // While it is connected this says nothing.
      last: node ? (node.connected && !connected ? sequence : node.last) : sequence + 1,
      connected,
      cleared: Math.max(node?.cleared ?? 0, facts.refuses(name) ? 0 : facts.acknowledged(name)),
      object,
    };
    nodes.set(name, next);
    changed ||=
      !node || node.connected !== connected || node.cleared !== next.cleared || node.object !== object;
  }
  return changed ? nodes : state.nodes;
}

/** Not before its removal was rendered: until then an agent that connects is still told of it. */
function freeClaims(state: ClaimState, facts: ClaimFacts): ReadonlyMap<string, KeptClaim> {
  const free = [...state.claims.values()].filter(
    (claim) => claim.until !== undefined && claim.until <= facts.rendered && !isHeld(state, claim, facts),
  );
  if (free.length === 0) return state.claims;
  const claims = new Map(state.claims);
  for (const { address } of free) claims.delete(address);
  return claims;
}

function giveAndTake(
  state: ClaimState,
  wanted: ReadonlyMap<string, WantedClaim>,
  { ranges, reserved }: ClaimFacts,
): { claims: ReadonlyMap<string, KeptClaim>; failures: ReadonlyMap<string, ClaimFailure> } {
  const now = state.sequence + 1;
  const claims = new Map(state.claims);
  const failures = new Map<string, ClaimFailure>();
  const held = heldBy(state.claims.values());
  const exhausted = new Map<string, ClaimFailure>();
  const keeps = new Set<string>();
  for (const [key, want] of [...wanted].sort(byUrgency)) {
    const own = held.get(ownerOf(want.gateway)) ?? [];
    const request = want.families.join();
    const unconditional = want.requested.length === 0 && own.length === 0;
    // One search through a full range is enough for all that ask the same.
    const known = unconditional ? exhausted.get(request) : undefined;
    const { addresses, failure } = known
      ? { addresses: [], failure: known }
      : allocate({
          ranges,
          holderOf: (address) => holderText(claims.get(address)) ?? reserved.get(address),
          wanted: want,
          held: own,
        });
    if (failure) failures.set(key, failure);
    if (failure && unconditional && addresses.length === 0) exhausted.set(request, failure);
    for (const address of addresses) {
      keeps.add(address);
      const claim = claims.get(address);
      if (!claim) claims.set(address, { address, gateway: want.gateway, since: now });
      else if (claim.until !== undefined)
        claims.set(address, { address, gateway: claim.gateway, since: claim.since });
    }
  }
  for (const claim of claims.values()) {
    if (claim.until === undefined && !keeps.has(claim.address))
      claims.set(claim.address, { ...claim, until: now });
  }
  const changed =
    claims.size !== state.claims.size || [...claims].some(([a, c]) => state.claims.get(a) !== c);
  return { claims: changed ? claims : state.claims, failures };
}

/** By owner: bound addresses first, then those that it gave up and nobody has. */
function heldBy(claims: Iterable<KeptClaim>): ReadonlyMap<string, readonly string[]> {
  const held = new Map<string, string[]>();
  const sorted = [...claims].sort(
    (a, b) => (a.until ?? 0) - (b.until ?? 0) || (a.address < b.address ? -1 : 1),
  );
  for (const { address, gateway } of sorted) {
    const list = held.get(ownerOf(gateway));
    if (list) list.push(address);
    else held.set(ownerOf(gateway), [address]);
  }
  return held;
}

function holderText(claim: KeptClaim | undefined): string | undefined {
  if (!claim) return undefined;
  const { gateway, until } = claim;
  const gone = until === undefined ? '' : ', which gave it up; nodes may still translate it';
  return `Gateway ${gateway.namespace}/${gateway.name}${gone}`;
}

const ownerOf = ({ namespace, name, uid }: KeptClaim['gateway']): string => `${namespace}/${name}/${uid}`;

/** Those that ask for a certain address first, so that nobody gets it by chance; then by key. */
function byUrgency([a, x]: readonly [string, WantedClaim], [b, y]: readonly [string, WantedClaim]): number {
  return Math.sign(y.requested.length) - Math.sign(x.requested.length) || (a < b ? -1 : 1);
}
