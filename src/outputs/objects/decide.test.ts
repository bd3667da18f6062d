import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { WantedClaim } from '../../model/compiled.ts';
import { formatClaims, parseClaims } from './claim-file.ts';
import { type ClaimState, holders, type KeptClaim, noClaims } from './claim-state.ts';
import { type ClaimFacts, type Decision, decide } from './decide.ts';

const want = (name: string, options: Partial<WantedClaim> & { uid?: string } = {}): WantedClaim => ({
  gateway: { namespace: 'shop', name, uid: options.uid ?? `uid-${name}` },
  families: options.families ?? ['IPv4'],
  requested: options.requested ?? [],
});

const wanted = (...claims: readonly (string | WantedClaim)[]): ReadonlyMap<string, WantedClaim> =>
  new Map(
    claims.map((claim) => {
      const made = typeof claim === 'string' ? want(claim) : claim;
      return [`shop/${made.gateway.name}`, made];
    }),
  );

const nobody: ClaimFacts = {
  wanted: new Map(),
  ranges: ['10.96.0.0/28', 'fd00::/120'],
  reserved: new Map(),
  connected: new Set(),
  rendered: Number.MAX_SAFE_INTEGER,
  nodeObjects: undefined,
  acknowledged: () => 0,
  refuses: () => false,
};

/** `10.96.0.3 store`, releasing ones with their holders as they are on disk. */
const shown = (state: ClaimState): string[] =>
  [...state.claims.values()]
    .map((c) =>
      c.until === undefined
        ? c.gateway.name
        : `${c.gateway.name} releasing (${holders(state, c, nobody).join()})`,
    )
    .sort();

const addressOf = (state: ClaimState, name: string): string[] =>
  [...state.claims.values()]
    .filter((c) => c.gateway.name === name && c.until === undefined)
    .map((c) => c.address);

/** Decides again and again with the facts of each step. */
function run(...steps: readonly Partial<ClaimFacts>[]): Decision {
  let facts = nobody;
  let decision: Decision = { state: noClaims, failures: new Map() };
  for (const step of steps) {
    facts = { ...facts, ...step };
    decision = decide(decision.state, facts);
  }
  return decision;
}

describe('addresses', () => {
  test('one of the primary family by default, both or requested ones when asked, stable afterwards', () => {
    const all = wanted(
      'a',
      want('b', { families: ['IPv4', 'IPv6'] }),
      want('c', { families: ['IPv6'], requested: ['fd00::7'] }),
    );
    const { state, failures } = run({ wanted: all });
    expect(failures.size).toBe(0);
    expect(addressOf(state, 'a')).toHaveLength(1);
    expect(
      addressOf(state, 'b')
        .map((a) => a.includes(':'))
        .sort(),
    ).toEqual([false, true]);
    expect(addressOf(state, 'c')).toEqual(['fd00::7']);
    expect(decide(state, { ...nobody, wanted: all }).state).toBe(state);
    expect(decide(state, { ...nobody, wanted: new Map([...all].reverse()) }).state).toBe(state);
  });

  test('a requested one is nobody else’s by chance, whatever the order', () => {
    const free = addressOf(run({ wanted: wanted('a') }).state, 'a')[0] as string;
    const { state } = run({ wanted: wanted('a', want('z', { requested: [free] })) });
    expect(addressOf(state, 'z')).toEqual([free]);
    expect(addressOf(state, 'a')).not.toEqual([free]);
  });

  test('of Services are left alone', () => {
    const free = addressOf(run({ wanted: wanted('a') }).state, 'a')[0] as string;
    const { state } = run({ wanted: wanted('a'), reserved: new Map([[free, 'Service shop/web']]) });
    expect(addressOf(state, 'a')).toHaveLength(1);
    expect(addressOf(state, 'a')).not.toEqual([free]);
  });

  test('exhaustion is told to the new Gateway only', () => {
    const full = wanted(...Array.from({ length: 13 }, (_, i) => `g${i}`));
    const first = run({ wanted: full });
    expect(first.failures.size).toBe(0);
    const second = decide(first.state, { ...nobody, wanted: new Map([...full, ...wanted('a', 'h')]) });
    expect([...second.failures]).toEqual([
      ['shop/a', { reason: 'NotAssigned', message: expect.stringContaining('no IPv4 address is free') }],
      ['shop/h', { reason: 'NotAssigned', message: expect.stringContaining('no IPv4 address is free') }],
    ]);
    expect(second.state).toBe(first.state);
  });

  test('that do not fit a changed range are given up for new ones', () => {
    const { state } = run({ wanted: wanted('a') });
    const moved = decide(state, {
      ...nobody,
      wanted: wanted('a'),
      ranges: ['10.97.0.0/28'],
      connected: new Set(['e1']),
    });
    expect(addressOf(moved.state, 'a')[0]).toMatch(/^10\.97\./);
  });

  test('are neither given nor taken until it is known what is wanted', () => {
    const { state } = run({ wanted: wanted('a') }, { wanted: undefined });
    expect(shown(state)).toEqual(['a']);
    expect(shown(run({ wanted: undefined }).state)).toEqual([]);
  });
});

describe('design VIP a freed address is not given out again until no node can hold it', () => {
  const only: Partial<ClaimFacts> = { ranges: ['10.96.0.0/30'] };
  const connected = new Set(['e1', 'e2']);
  const a = { ...only, wanted: wanted('a'), connected };

  test('an agent that is down is waited for', () => {
    const freed = run(a, {
      wanted: wanted('b'),
      connected: new Set(['e1']),
      acknowledged: (n) => (n === 'e1' ? 2 : 0),
    });
    expect(shown(freed.state)).toEqual(['a releasing (e2)']);
    expect(freed.failures.get('shop/b')?.reason).toBe('NotAssigned');
  });

  test('it is free when that agent has caught up', () => {
    const { state } = run(a, { wanted: wanted('b') }, { acknowledged: () => 1 }, { acknowledged: () => 2 });
    expect(shown(state)).toEqual(['b']);
  });

  test('or when that agent has caught up and refuses another Gateway; its own is held, also over a restart', () => {
    const refusing = (name: string): Partial<ClaimFacts> => ({
      acknowledged: () => 2,
      refuses: (node, gateway) => node === 'e2' && (gateway?.name ?? name) === name,
    });
    expect(shown(run(a, { wanted: wanted('b') }, refusing('other')).state)).toEqual(['b']);
    const held = run(a, { wanted: wanted('b') }, refusing('a'));
    expect(shown(held.state)).toEqual(['a releasing (e2)']);
    const restarted = decide(held.state, { ...nobody, ...only, wanted: wanted('b') });
    expect(shown(restarted.state)).toEqual(['a releasing (e2)']);
  });

  test('not when its agent is merely back', () => {
    const { state } = run(a, { wanted: wanted('b'), connected: new Set() }, { connected });
    expect(shown(state)).toEqual(['a releasing (e1,e2)']);
  });

  test('or when its node is gone', () => {
    const nodes = { nodeObjects: new Set(['e1', 'e2']) };
    const { state } = run(
      { ...a, ...nodes },
      { wanted: wanted('b'), connected: new Set(['e1']), acknowledged: (n) => (n === 'e1' ? 2 : 0) },
      { nodeObjects: new Set(['e1']) },
    );
    expect(shown(state)).toEqual(['b']);
  });

  test('a node is not gone because its object is not known, nor while its agent is connected', () => {
    const without = run(a, { wanted: wanted('b'), connected: new Set() }, { nodeObjects: new Set() });
    expect(shown(without.state)).toEqual(['a releasing (e1,e2)']);
    const still = run(
      { ...a, nodeObjects: new Set(['e1', 'e2']) },
      { wanted: wanted('b'), nodeObjects: new Set() },
    );
    expect(shown(still.state)).toEqual(['a releasing (e1,e2)']);
  });

  test('a node whose agent was not there meanwhile is not waited for', () => {
    const before = run(
      { ...only, connected: new Set(['e1']) },
      { connected: new Set() },
      { wanted: wanted('a') },
    );
    expect(holders(before.state, [...before.state.claims.values()][0] as never, nobody)).toEqual([]);
    expect(shown(decide(before.state, { ...nobody, ...only, wanted: wanted('b') }).state)).toEqual(['b']);
    expect(shown(run(a, { wanted: wanted() }, { connected: new Set([...connected, 'e3']) }).state)).toEqual([
      'a releasing (e1,e2)',
    ]);
  });

  test('a Gateway that was deleted and made again is another one; one that was invalid for a while is not', () => {
    const again = run(a, { wanted: wanted() }, { wanted: wanted(want('a', { uid: 'other' })) });
    expect(shown(again.state)).toEqual(['a releasing (e1,e2)']);
    expect(again.failures.has('shop/a')).toBe(true);
    expect(shown(run(a, { wanted: wanted() }, { wanted: wanted('a') }).state)).toEqual(['a']);
  });

  test('a restart remembers all of it', () => {
    const { state } = run(a, { wanted: wanted('b'), connected: new Set(['e1']) });
    const restarted = parseClaims(formatClaims(state)) as ClaimState;
    expect(restarted).toEqual(state);
    const facts = { ...nobody, ...only, wanted: wanted('b') };
    expect(shown(decide(restarted, facts).state)).toEqual(['a releasing (e1,e2)']);
  });
});

type Event =
  | { readonly do: 'create'; readonly gateway: string; readonly request?: number }
  | { readonly do: 'delete'; readonly gateway: string }
  | {
      readonly do: 'connect' | 'disconnect' | 'deliver' | 'ack' | 'removeNode' | 'addNode';
      readonly node: string;
    }
  | { readonly do: 'refuse' | 'accept'; readonly node: string; readonly gateway: string }
  | { readonly do: 'render' }
  | { readonly do: 'restart' };

/**
 * Gateways, agents with kernels of their own, and a controller that may restart at any time. A kernel holds what
 * was delivered to it last, whether its agent still runs or not.
 */
class World {
  state: ClaimState = noClaims;
  readonly #gateways = new Map<string, WantedClaim>();
  readonly #nodeObjects = new Set(['e1', 'e2', 'e3']);
  /** node → address → the Gateway that it is translated for. */
  readonly #kernels = new Map<string, Map<string, KeptClaim['gateway']>>();
  readonly #connected = new Set<string>();
  /** What agents are told: a state that was rendered some time ago. */
  #rendered: ClaimState = noClaims;
  /** What an agent was told and did, up to which event, not yet acknowledged. */
  readonly #told = new Map<string, number>();
  readonly #acknowledged = new Map<string, number>();
  /** node → names of Gateways that it cannot take, those among what it was told, and those that it told us. */
  readonly #refused = new Map<string, Set<string>>();
  readonly #refusals = new Map<string, ReadonlySet<string>>();
  readonly #heard = new Map<string, ReadonlySet<string>>();
  #uids = 0;

  do(event: Event): void {
    if (event.do === 'create') {
      const requested = event.request === undefined ? [] : [`10.${event.request}.0.2`];
      const uid = this.#gateways.get(event.gateway)?.gateway.uid ?? `u${this.#uids++}`;
      this.#gateways.set(event.gateway, want(event.gateway, { uid, requested }));
    } else if (event.do === 'delete') this.#gateways.delete(event.gateway);
    else if (event.do === 'restart') this.#restart();
    else if (event.do === 'refuse' || event.do === 'accept') {
      const refused = this.#refused.get(event.node) ?? new Set();
      this.#refused.set(event.node, refused);
      if (event.do === 'refuse') refused.add(event.gateway);
      else refused.delete(event.gateway);
    } else if (event.do === 'render') this.#rendered = this.state;
    else this.#node(event.do, event.node);
    this.#decide();
  }

  #node(what: string, node: string): void {
    if (what === 'connect' && this.#nodeObjects.has(node)) this.#connected.add(node);
    if (what === 'disconnect') {
      this.#connected.delete(node);
      this.#told.delete(node);
    }
    if (what === 'deliver' && this.#connected.has(node)) {
      this.#deliver(node);
      this.#told.set(node, this.#rendered.sequence);
    }
    if (what === 'ack') {
      this.#acknowledged.set(node, Math.max(this.#acknowledged.get(node) ?? 0, this.#told.get(node) ?? 0));
      if (this.#told.has(node)) this.#heard.set(node, this.#refusals.get(node) ?? new Set());
    }
    if (what === 'removeNode' && !this.#connected.has(node)) {
      this.#nodeObjects.delete(node);
      this.#kernels.delete(node);
    }
    if (what === 'addNode') this.#nodeObjects.add(node);
  }

  /** Of a Gateway that it refuses a node keeps what it has, as long as there is the Gateway. */
  #deliver(node: string): void {
    const bound = [...this.#rendered.claims.values()].filter((c) => c.until === undefined);
    const refused = this.#refused.get(node) ?? new Set();
    const refusals = new Set(bound.map(({ gateway }) => gateway.name).filter((name) => refused.has(name)));
    const kept = [...(this.#kernels.get(node) ?? [])].filter(([, gateway]) => refusals.has(gateway.name));
    const taken = bound.filter(({ gateway }) => !refusals.has(gateway.name));
    this.#kernels.set(node, new Map([...kept, ...taken.map((c) => [c.address, c.gateway] as const)]));
    this.#refusals.set(node, refusals);
  }

  #restart(): void {
    this.#rendered = this.state;
    this.#connected.clear();
    this.#told.clear();
    this.#acknowledged.clear();
    this.#heard.clear();
  }

  #decide(): void {
    const before = this.state;
    const { state } = decide(before, {
      wanted: new Map([...this.#gateways].map(([name, claim]) => [`shop/${name}`, claim])),
      ranges: ['10.96.0.0/30', '10.97.0.0/30'],
      reserved: new Map(),
      connected: new Set(this.#connected),
      rendered: this.#rendered.sequence,
      nodeObjects: new Set(this.#nodeObjects),
      acknowledged: (node) => this.#acknowledged.get(node) ?? 0,
      refuses: (node, gateway) => {
        const heard = this.#heard.get(node) ?? new Set();
        return gateway ? heard.has(gateway.name) : heard.size > 0;
      },
    });
    for (const { address, gateway } of state.claims.values()) {
      if (before.claims.get(address)?.gateway.uid === gateway.uid) continue;
      for (const [node, kernel] of this.#kernels) {
        const uid = kernel.get(address)?.uid;
        if (uid !== undefined && uid !== gateway.uid)
          throw new Error(`${node} still translates ${address} for ${uid}`);
      }
    }
    const owners = [...state.claims.values()].filter((c) => c.until === undefined).map((c) => c.gateway.uid);
    if (new Set(owners).size !== owners.length) throw new Error('one Gateway, two addresses of a family');
    this.state = state;
  }

  /** All agents come back, are told everything and acknowledge. */
  settle(): void {
    this.#refused.clear();
    for (const node of this.#nodeObjects) this.do({ do: 'connect', node });
    // Who gets an address may give up another one, which takes one more round.
    for (let i = 0; i < 8; i += 1) {
      for (const node of this.#nodeObjects) {
        this.do({ do: 'deliver', node });
        this.do({ do: 'ack', node });
      }
      this.do({ do: 'render' });
    }
  }
}

const create = (gateway: string, request?: number): Event => ({
  do: 'create',
  gateway,
  ...(request === undefined ? {} : { request }),
});
const remove = (gateway: string): Event => ({ do: 'delete', gateway });
const agent = (what: 'connect' | 'deliver' | 'ack', node: string): Event => ({ do: what, node });
const render: Event = { do: 'render' };
const restart: Event = { do: 'restart' };

/** A Gateway moves to another address, and a node cannot take it. */
const movesAndIsRefused: Event[] = [
  agent('connect', 'e1'),
  create('a', 96),
  render,
  agent('deliver', 'e1'),
  agent('ack', 'e1'),
  { do: 'refuse', node: 'e1', gateway: 'a' },
  create('a', 97),
  render,
  agent('deliver', 'e1'),
  agent('ack', 'e1'),
  render,
];

/** Each of these gave an address away too early when one condition was missing. */
const onceWrong: Event[][] = [
  [...movesAndIsRefused, create('b', 96)],
  [...movesAndIsRefused, restart, create('b', 96)],
  [create('a'), render, remove('a'), agent('connect', 'e1'), agent('deliver', 'e1'), create('a')],
  [create('a'), render, agent('connect', 'e1'), remove('a'), agent('deliver', 'e1'), render, create('b', 96)],
  [
    agent('connect', 'e1'),
    create('a'),
    render,
    agent('deliver', 'e1'),
    restart,
    remove('a'),
    restart,
    create('a'),
  ],
  [
    create('a'),
    agent('connect', 'e1'),
    render,
    agent('deliver', 'e1'),
    agent('ack', 'e1'),
    remove('a'),
    create('a'),
  ],
];

test('design VIP whatever happens to Gateways, agents, nodes and the controller, no address is two Gateways’', () => {
  const gateway = fc.constantFrom('a', 'b', 'c', 'd');
  const node = fc.constantFrom('e1', 'e2', 'e3');
  const event: fc.Arbitrary<Event> = fc.oneof(
    fc.record({ do: fc.constant('create' as const), gateway }),
    fc.record({ do: fc.constant('create' as const), gateway, request: fc.constantFrom(96, 97) }),
    fc.record({ do: fc.constant('delete' as const), gateway }),
    fc.record({ do: fc.constantFrom('connect' as const, 'deliver' as const, 'ack' as const), node }),
    fc.record({
      do: fc.constantFrom('disconnect' as const, 'removeNode' as const, 'addNode' as const),
      node,
    }),
    fc.record({ do: fc.constantFrom('refuse' as const, 'accept' as const), node, gateway }),
    fc.record({ do: fc.constant('render' as const) }),
    fc.record({ do: fc.constant('restart' as const) }),
  );
  fc.assert(
    fc.property(fc.array(event, { maxLength: 60, size: 'max' }), (events) => {
      const world = new World();
      for (const e of events) world.do(e);
      // Nothing is held back for ever.
      world.settle();
      expect([...world.state.claims.values()].filter((c) => c.until !== undefined)).toEqual([]);
    }),
    { numRuns: 700, examples: onceWrong.map((events) => [events]) },
  );
});

describe('the file', () => {
  test('of any state is read back as it was', () => {
    const { state } = run({ wanted: wanted('a', 'b'), connected: new Set(['e1']) }, { wanted: wanted('a') });
    expect(parseClaims(formatClaims(state))).toEqual(state);
    expect(parseClaims(formatClaims(noClaims))).toEqual(noClaims);
  });

  test('that is not exactly ours is refused with a reason', () => {
    const text = formatClaims(run({ wanted: wanted('a', 'b'), connected: new Set(['e1']) }).state);
    const lines = text.split('\n');
    const last = lines.at(-2) as string;
    for (const broken of [
      '',
      '42',
      '{{{',
      text.slice(0, text.length / 2),
      text.replace('version: 1', 'version: 2'),
      text.replace('sequence: 1', 'sequence: 0'),
      `${text}${last}\n`,
      text.replace('"since":1', '"since":"1"'),
      text.replace('"uid":', '"id":'),
      text.replace(/"10\.96\.0\.(\d+)"/, '"10.96.0.0$1"'),
    ]) {
      expect(parseClaims(broken), broken).toEqual(expect.any(String));
    }
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (junk) => typeof parseClaims(junk) === 'string'));
  });
});
