import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { AppError } from '../../runtime/errors.ts';
import { fuzz } from '../../runtime/fuzz-bed.ts';
import { DeltaClientStream } from '../../sources/xds/delta-client-stream.ts';
import type { Refusal } from '../../wire/proto/discovery.ts';
import { typeUrls } from '../../wire/proto/type-urls.ts';
import { DeltaServerStream, defaultStreamLimits } from './delta-server-stream.ts';
import type { Entry } from './log-entry.ts';
import { ResourceLog } from './resource-log.ts';
import type { View } from './view.ts';

/** Both state machines, and between them two queues that are emptied step by step. */
class Link {
  readonly client: DeltaClientStream;
  readonly held = new Map<string, Map<string, string>>();
  readonly refuses: (content: string) => boolean;
  server: DeltaServerStream | undefined;
  fault: AppError | undefined;
  /** Updates that the handler is not done with. */
  readonly #unsettled: (() => void)[] = [];
  #toServer: Buffer[] = [];
  #toClient: Buffer[] = [];
  readonly #capacity: number;
  #full = false;

  constructor(options: { refuses?: (content: string) => boolean; capacity?: number; slow?: boolean } = {}) {
    this.refuses = options.refuses ?? (() => false);
    this.#capacity = options.capacity ?? Number.POSITIVE_INFINITY;
    this.client = new DeltaClientStream({
      node: () => new Uint8Array(),
      apply: ({ typeUrl, upserts, removals }) => {
        const held = this.heldOf(typeUrl);
        const refusals: Refusal[] = [];
        for (const { name, body } of upserts) {
          const content = Buffer.from(body).toString();
          if (this.refuses(content)) refusals.push({ name, message: 'refused' });
          else held.set(name, content);
        }
        for (const name of removals) held.delete(name);
        if (!options.slow) return refusals;
        return new Promise((resolve) => {
          this.#unsettled.push(() => resolve(refusals));
        });
      },
    });
  }

  heldOf(typeUrl: string): Map<string, string> {
    const known = this.held.get(typeUrl) ?? new Map<string, string>();
    this.held.set(typeUrl, known);
    return known;
  }

  connect(log: ResourceLog, view: View, responseBytes = defaultStreamLimits.responseBytes): void {
    this.disconnect();
    const server = new DeltaServerStream({
      log,
      view,
      limits: { ...defaultStreamLimits, responseBytes },
      send: (message) => {
        this.#toClient.push(message);
        this.#full = this.#toClient.length >= this.#capacity;
        return !this.#full;
      },
      fail: (error) => {
        this.fault = error;
      },
    });
    this.server = server;
    this.client.opened({
      send: (message) => this.#toServer.push(message),
      fail: (error) => {
        this.fault = error;
      },
    });
  }

  disconnect(): void {
    this.server?.close();
    this.server = undefined;
    this.#toServer = [];
    this.#toClient = [];
    this.#full = false;
    this.client.closed();
  }

  /** Takes one message out of each queue, or lets the handler finish. False: there was nothing to do. */
  async step(): Promise<boolean> {
    const request = this.#toServer.shift();
    if (request) this.server?.receive(request);
    const response = this.#toClient.shift();
    if (response) this.client.receive(response);
    if (this.#full && this.#toClient.length === 0) {
      this.#full = false;
      this.server?.drained();
    }
    const settle = response ? undefined : this.#unsettled.shift();
    settle?.();
    for (let i = 0; i < 8; i += 1) await Promise.resolve();
    return request !== undefined || response !== undefined || settle !== undefined;
  }

  async settle(): Promise<void> {
    while (await this.step());
    while (await this.step());
  }
}

const everything: View = { key: 'all', stable: true, sees: () => true };
const names = ['a', 'b', 'c', 'xdstp://s/t/v1/p/e', 'xdstp://s/t/v1/p/w', 'xdstp://s/t/v1/q/e'];
const wishes = [...names, '*', 'xdstp://s/t/v1/p/*', 'xdstp://s/t/v1/q/*'];
const types: readonly string[] = [typeUrls.cluster, typeUrls.listener];

type Step =
  | { do: 'set'; type: string; name: string; content: number }
  | { do: 'remove' | 'withhold'; type: string; name: string }
  | { do: 'subscribe' | 'unsubscribe'; type: string; wish: string }
  | { do: 'hide' | 'show'; name: string }
  | { do: 'flush' | 'steps' | 'reconnect' | 'restart' };

const type = fc.constantFrom(...types);
const name = fc.constantFrom(...names);
const wish = fc.constantFrom(...wishes);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('set' as const), type, name, content: fc.nat(9) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constantFrom('remove' as const, 'withhold' as const), type, name }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom('subscribe' as const, 'unsubscribe' as const), type, wish }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('hide' as const, 'show' as const), name }) },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constantFrom('flush' as const, 'steps' as const, 'steps' as const) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('reconnect' as const, 'restart' as const) }) },
);

/** What the log should say, kept apart from it. */
type Truth = Map<string, { state: 'set' | 'withheld'; content: string }>;

function copyOf(log: ResourceLog, withheld: Truth): ResourceLog {
  const copy = new ResourceLog({ slack: 0 });
  for (const t of types) {
    for (const entry of log.entries(t)) {
      copy.set(t, { name: entry.name, body: Buffer.from(withheld.get(`${t} ${entry.name}`)?.content ?? '') });
    }
    for (const n of names) if (log.get(t, n)?.state === 'withheld') copy.withhold(t, n);
  }
  copy.open();
  return copy;
}

const covered = (wanted: ReadonlySet<string>, n: string): boolean =>
  wanted.has('*') || wanted.has(n) || wanted.has(`${n.slice(0, n.lastIndexOf('/') + 1)}*`);

async function run(steps: readonly Step[], dynamic: boolean, slow: boolean, capacity: number, bytes: number) {
  let log = new ResourceLog({ slack: 0 });
  log.open();
  const truth: Truth = new Map();
  const hidden = new Set<string>();
  /** A name that is withheld or refused may still have any content that it once had. */
  const ever = new Set<string>();
  const view: View = dynamic
    ? { key: 'dynamic', stable: false, sees: (_t: string, e: Entry) => !hidden.has(e.name) }
    : everything;
  const link = new Link({ refuses: (content) => content === '7', capacity, slow });
  const wanted = new Map(types.map((t) => [t, new Set<string>()]));
  link.connect(log, view, bytes);
  // One that wants everything from the start, and reads when it likes.
  const plain = new Link({ capacity });
  for (const t of types) plain.client.subscribe(t, ['*']);
  plain.connect(log, everything, bytes);
  for (const s of steps) {
    if (s.do === 'set') {
      const content = String(s.content);
      truth.set(`${s.type} ${s.name}`, { state: 'set', content });
      ever.add(`${s.type} ${s.name} ${content}`);
      log.set(s.type, { name: s.name, body: Buffer.from(content) });
    } else if (s.do === 'remove') {
      truth.delete(`${s.type} ${s.name}`);
      log.remove(s.type, s.name);
    } else if (s.do === 'withhold') {
      truth.set(`${s.type} ${s.name}`, { state: 'withheld', content: '' });
      log.withhold(s.type, s.name);
    } else if (s.do === 'subscribe') {
      wanted.get(s.type)?.add(s.wish);
      link.client.subscribe(s.type, [s.wish]);
    } else if (s.do === 'unsubscribe') {
      const wishes = wanted.get(s.type) as Set<string>;
      if (wishes.delete(s.wish)) link.client.unsubscribe(s.type, [s.wish]);
      for (const n of names) if (!covered(wishes, n)) link.heldOf(s.type).delete(n);
    } else if (s.do === 'hide' || s.do === 'show') {
      if (s.do === 'hide') hidden.add(s.name);
      else hidden.delete(s.name);
      link.server?.refresh();
    } else if (s.do === 'flush') log.flush();
    else if (s.do === 'steps') {
      for (let i = 0; i < 3; i += 1) await link.step();
      await plain.step();
    } else {
      if (s.do === 'restart') log = copyOf(log, truth);
      link.connect(log, view, bytes);
      plain.connect(log, everything, bytes);
    }
  }
  log.flush();
  await link.settle();
  await plain.settle();
  expect(link.fault).toBeUndefined();
  for (const t of types) {
    for (const n of names) {
      const told = truth.get(`${t} ${n}`);
      if (told?.state !== 'withheld') expect(plain.heldOf(t).get(n)).toBe(told?.content);
      if (!covered(wanted.get(t) as Set<string>, n)) continue;
      const held = link.heldOf(t).get(n);
      const entry = truth.get(`${t} ${n}`);
      const where = `${t} ${n}`;
      if (!entry || (dynamic && hidden.has(n))) expect(held, where).toBeUndefined();
      else if (entry.state === 'set' && entry.content !== '7') expect(held, where).toBe(entry.content);
      else expect(held === undefined || ever.has(`${where} ${held}`), where).toBe(true);
    }
    if (wanted.get(t)?.size) expect(link.server?.acked(t), t).toBe(log.position);
  }
}

test('whatever is subscribed, changed, refused, lost or slow: the client ends with what the server says', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 80, size: 'max' }),
      fc.boolean(),
      fc.boolean(),
      fc.constantFrom(1, 3, 1000),
      fc.constantFrom(1, 40, 1_000_000),
      run,
    ),
    { numRuns: 600 },
  );
});

test('a long session of a slow client, with new names all the time, leaves nothing behind', async () => {
  const log = new ResourceLog({ slack: 64, maxTombstones: 2_000 });
  const truth = new Map<string, string>();
  let odd = 0;
  const view: View = { ...everything, stable: false, sees: (_t, { name }) => name.length % 2 !== odd };
  const link = new Link({ refuses: (content) => content.endsWith('7'), capacity: 2, slow: true });
  const [type] = types as [string];
  log.open();
  link.client.subscribe(type, ['*']);
  link.connect(log, view);
  const nameOf = (i: number): string => `${i % 2 ? 'odd' : 'even'}-${i}`;
  await fuzz(25_000, async (random, i) => {
    log.set(type, { name: nameOf(i), body: Buffer.from(`${i}`) });
    truth.set(nameOf(i), `${i}`);
    const gone = nameOf(i - random.below(100));
    log.remove(type, gone);
    truth.delete(gone);
    const old = nameOf(i - 100);
    log.remove(type, old);
    truth.delete(old);
    if (random.chance(20)) link.client.subscribe(type, [nameOf(i), `xdstp://s/t/v1/${i}/*`]);
    if (random.chance(20)) link.client.unsubscribe(type, [nameOf(i - random.below(200))]);
    link.client.unsubscribe(type, [nameOf(i - 200), `xdstp://s/t/v1/${i - 20}/*`]);
    if (random.chance(5)) {
      odd = 1 - odd;
      link.server?.refresh();
    }
    if (random.chance(30)) log.flush();
    if (i % 3_000 === 0) link.connect(log, view);
    for (let steps = random.below(4); steps > 0; steps -= 1) await link.step();
    if (i % 500 === 0) await link.settle();
  });
  link.server?.refresh();
  log.flush();
  await link.settle();
  expect(link.fault).toBeUndefined();
  const seen = [...truth].filter(([name, content]) => name.length % 2 !== odd && !content.endsWith('7'));
  expect(new Map([...link.heldOf(type)].sort())).toEqual(new Map(seen.sort()));
}, 300_000);
