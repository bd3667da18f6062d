import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Ir } from '../../model/ir.ts';
import { ManualClock } from '../../runtime/clock.ts';
import { silentLog } from '../../runtime/log.ts';
import { Metrics } from '../../runtime/metrics.ts';
import { NftOutput } from './apply.ts';
import { arbitraryIr } from './arbitrary-ir.ts';
import { FakeKernel } from './fake.ts';
import { endsInFlight, type Generation, recording } from './in-flight-bed.ts';
import { Mirror } from './mirror.ts';
import { Renderer, type TouchedKeys } from './render.ts';
import { NftError } from './runner.ts';
import { backend, endpoint, frontend, ir, node, tcp, to, udp } from './sample-ir.ts';
import type { Table } from './table.ts';
import { replacement, type Step, transaction } from './transaction.ts';

function start(kernel = new FakeKernel()) {
  const clock = new ManualClock();
  const metrics = new Metrics();
  const { runner, generations } = recording(kernel, () => clock.now());
  const output = new NftOutput({
    node: 'e1',
    cluster: 'east',
    runner,
    clock,
    log: silentLog,
    metrics,
    hostAddresses: () => new Set(['172.18.1.1']),
  });
  return { kernel, clock, metrics, output, generations };
}

/** Slots without their numbers: a table that evolved lays them out differently from a fresh one. */
function withoutOrder(table: Table) {
  const slots = new Map<string, string[]>();
  const rest: string[] = [];
  for (const [set, elements] of table.elements) {
    for (const [key, data] of elements) {
      if (!set.startsWith('e')) {
        rest.push(`${set} ${key} ${data}`);
        continue;
      }
      const vip = `${set} ${key.replace(/ \. \d+$/, '')}`;
      slots.set(vip, [...(slots.get(vip) ?? []), data].sort());
    }
  }
  return { slots: new Map([...slots].sort()), rest: rest.sort(), chains: [...table.chains.keys()].sort() };
}

const settle = async (): Promise<void> => {
  for (let i = 0; i < 50; i++) await Promise.resolve();
  await new Promise((resolve) => setImmediate(resolve));
};

/** Keys whose values differ, as a source tells them. */
function touchedBetween(before: Ir, after: Ir): TouchedKeys {
  const changed = (table: 'frontends' | 'backends' | 'nodes'): Set<string> => {
    const [a, b] = [before[table], after[table]] as ReadonlyMap<string, unknown>[];
    return new Set([...(a?.keys() ?? []), ...(b?.keys() ?? [])].filter((k) => a?.get(k) !== b?.get(k)));
  };
  return { frontends: changed('frontends'), backends: changed('backends'), nodes: changed('nodes') };
}

async function applyAll(
  output: NftOutput,
  clock: ManualClock,
  states: readonly Ir[],
  tell: boolean,
): Promise<void> {
  let before = ir({});
  for (const state of states) {
    await output.update(state, tell ? touchedBetween(before, state) : undefined);
    before = state;
    clock.advance(300);
    await settle();
  }
  for (let i = 0; i < 3; i++) {
    clock.advance(2000);
    await settle();
  }
}

test('changes applied one after the other give the table that a fresh start gives', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(arbitraryIr, { minLength: 1, maxLength: 5 }),
      fc.constantFrom(1, 7, 1e9),
      fc.boolean(),
      async (states, maxElements, tell) => {
        const evolved = start();
        evolved.kernel.maxElements = Math.max(maxElements, 8);
        await applyAll(evolved.output, evolved.clock, states, tell);
        const fresh = start();
        await applyAll(fresh.output, fresh.clock, states.slice(-1), false);
        expect(withoutOrder(evolved.kernel.table)).toEqual(withoutOrder(fresh.kernel.table));
        expect(withoutOrder(evolved.output.table)).toEqual(withoutOrder(evolved.kernel.table));
        expect(await evolved.output.audit()).toBeUndefined();
      },
    ),
    { numRuns: 150 },
  );
});

const store = 'composite/shop/store/tcp-80';
const one = (endpoints: readonly string[], vip = '10.96.0.1', key = 'gateway/shop/store'): Ir =>
  ir({
    frontends: [frontend(key, [vip], [tcp(80, [to(store)]), udp(53, [to(store)])])],
    backends: [
      backend(
        store,
        endpoints.map((a) => endpoint(a)),
      ),
    ],
    nodes: [node('e1', ['10.10.1.0/24'])],
  });

test('dataplane 2 one endpoint more or less is at most five commands and no listing', async () => {
  const vips = Array.from({ length: 1000 }, (_, i) => `10.96.${i >> 8}.${i & 255}`);
  const all = (n: number): Ir => {
    const backends = vips.map((_, i) =>
      backend(
        `composite/shop/b${i}/tcp-80`,
        Array.from({ length: i === 7 ? n : 10 }, (_, e) => endpoint(`10.10.${e}.${i & 255}`)),
      ),
    );
    return ir({
      frontends: vips.map((v, i) =>
        frontend(`gateway/shop/g${i}`, [v], [tcp(80, [to(`composite/shop/b${i}/tcp-80`)])]),
      ),
      backends,
      nodes: [node('e1', ['10.10.0.0/16'])],
    });
  };
  const { kernel, output } = start();
  await output.update(all(10));
  const lists = kernel.lists;
  for (const n of [11, 10, 9, 10]) {
    const before = kernel.committed.length;
    await output.update(all(n));
    const lines = kernel.committed.slice(before).join('').split('\n');
    const commands = lines.filter((l) => /^(add|delete|table|flush)/.test(l));
    expect(commands.length).toBeGreaterThan(0);
    expect(commands.length).toBeLessThanOrEqual(5);
  }
  expect(kernel.lists).toBe(lists);
});

test('dataplane 3 chains do not grow with VIPs', async () => {
  const { kernel, output } = start();
  await output.update(one(['10.10.1.2']));
  const before = kernel.table.chains.size;
  const frontends = Array.from({ length: 200 }, (_, i) =>
    frontend(`gateway/shop/g${i}`, [`10.96.1.${i}`], [tcp(80, [to(store)]), udp(53, [to(store)])]),
  );
  await output.update(ir({ frontends, backends: [backend(store, [endpoint('10.10.1.2')])] }));
  expect(kernel.table.chains.size).toBe(before);
});

test('dataplane 6 what an old verdict leads to is removed a second later, in a transaction of its own', async () => {
  const { kernel, clock, output } = start();
  await output.update(one(['10.10.1.2', '10.10.1.3']));
  await output.update(one(['10.10.1.3']));
  const slots = () => [...(kernel.table.elements.get('et4') ?? [])].map(([k, v]) => `${k} : ${v}`).sort();
  expect(slots()).toEqual(['10.96.0.1 . 80 . 0 : 10.10.1.3 . 8080', '10.96.0.1 . 80 . 1 : 10.10.1.3 . 8080']);
  expect(kernel.table.elements.get('vip4')?.get('10.96.0.1 . tcp . 80')).toBe('goto t4n1');
  expect(kernel.table.chains.has('t4n2')).toBe(true);
  clock.advance(999);
  await settle();
  expect(kernel.table.chains.has('t4n2')).toBe(true);
  clock.advance(1);
  await settle();
  expect(slots()).toEqual(['10.96.0.1 . 80 . 0 : 10.10.1.3 . 8080']);
  expect(kernel.table.chains.has('t4n2')).toBe(false);
});

const client = { kind: 'pod', address: '10.10.1.99' } as const;
const connection = { from: client, to: { address: '10.96.0.1', port: 80, protocol: 'tcp' } } as const;

/** How connections fail that are made while the table changes. */
const failures = (generations: readonly Generation[]) =>
  endsInFlight(generations, connection, 1000)
    .map((end) => (end.result === 'endpoint' ? end.address : end.result))
    .filter((end) => !end.startsWith('10.10.'));

test('dataplane 6 whatever comes and goes, no packet under way finds half a change', async () => {
  const arbitraryChange = fc.record({
    endpoints: fc.shuffledSubarray(['10.10.1.2', '10.10.1.3', '10.10.2.4', '10.10.2.5'], { minLength: 1 }),
    wait: fc.constantFrom(0, 1, 999, 1000, 5000),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(arbitraryChange, { minLength: 2, maxLength: 6 }), async (changes) => {
      const { clock, generations, kernel, output } = start();
      for (const { endpoints, wait } of changes) {
        await output.update(one(endpoints));
        clock.advance(wait);
        await settle();
      }
      expect(generations).toHaveLength(kernel.committed.length);
      expect(failures(generations)).toEqual([]);
    }),
    { numRuns: 60 },
  );
});

test.each([
  {
    what: 'removes in the transaction that switches',
    graceMs: 0,
    commits: (steps: readonly Step[]) => [
      steps.filter((s) => s.addChains),
      steps.filter((s) => !s.addChains),
    ],
  },
  {
    what: 'makes a chain in the transaction that leads to it',
    graceMs: 1000,
    commits: (steps: readonly Step[]) => [steps],
  },
])('dataplane 6 a writer that $what is found out', async ({ graceMs, commits }) => {
  const kernel = new FakeKernel();
  kernel.takesNewChains = true;
  const { runner, generations } = recording(kernel, () => 0);
  const renderer = new Renderer({ node: 'e1', cluster: 'east' });
  const mirror = new Mirror({ graceMs });
  for (const endpoints of [
    ['10.10.1.2', '10.10.1.3'],
    ['10.10.1.3'],
    ['10.10.1.2', '10.10.1.3', '10.10.2.4'],
  ]) {
    const wanted = renderer.render(one(endpoints), undefined, new Set());
    const steps = [...mirror.advance(wanted, 0), ...mirror.sweep(0)];
    if (generations.length === 0) await runner.run(replacement(steps).text);
    else for (const part of commits(steps)) await runner.run(transaction(part).text);
  }
  expect(withoutOrder(kernel.table)).toEqual(withoutOrder(mirror.table()));
  expect(failures(generations)).not.toEqual([]);
});

test('after a failed transaction the kernel is read, and what differs is changed', async () => {
  const { kernel, output } = start();
  await output.update(one(['10.10.1.2']));
  kernel.tamper((state) => state.elements.get('vip4')?.clear());
  await output.update(one(['10.10.1.2', '10.10.1.3']));
  expect(kernel.committed.slice(1).join('')).not.toContain('delete table inet causeway\n');
  expect(kernel.table.elements.get('et4')?.size).toBe(2);
  expect(await output.audit()).toBeUndefined();
});

test('a table of another schema is replaced in one transaction', async () => {
  const { kernel, output } = start();
  await kernel.run('add table inet causeway\ntable inet causeway {\n  chain disp {\n    accept\n  }\n}\n');
  await output.update(one(['10.10.1.2']));
  expect(kernel.committed).toHaveLength(2);
  expect(kernel.committed.at(-1)).toContain('delete table inet causeway\n');
  expect(await output.audit()).toBeUndefined();
});

test('dataplane 6 a new chain is committed before a verdict leads to it', async () => {
  const { kernel, output } = start();
  await output.update(one(['10.10.1.2']));
  const before = kernel.committed.length;
  await output.update(one(['10.10.1.2', '10.10.1.3']));
  const [chains, switches, ...more] = kernel.committed.slice(before);
  expect(chains).toMatch(/^table inet causeway \{\n {2}chain t4n2 /);
  expect(chains).not.toContain('element');
  expect(switches).toContain('10.96.0.1 . tcp . 80 : goto t4n2');
  expect(more).toEqual([]);
});

test('a kernel that takes nothing is a rejection, and the next call starts from what is there', async () => {
  const { kernel, metrics, output } = start();
  await output.update(one(['10.10.1.2']));
  kernel.refuse = () => 'Cannot allocate memory';
  await expect(output.update(one(['10.10.1.3']))).rejects.toThrow('Cannot allocate memory');
  kernel.refuse = () => undefined;
  expect([...(await output.update(one(['10.10.1.4'])))]).toEqual([]);
  expect([...(kernel.table.elements.get('et4')?.values() ?? [])]).toEqual(['10.10.1.4 . 8080']);
  expect(await metrics.registry.metrics()).toMatch(/causeway_nft_failures_total [1-9]/);
});

test('a VIP that the kernel refuses is left out and named; the others are programmed', async () => {
  const { kernel, output } = start();
  kernel.refuse = (text) => (text.includes('10.10.66.6') ? 'Invalid argument' : undefined);
  const state = (bad: string): Ir =>
    ir({
      frontends: Array.from({ length: 20 }, (_, i) =>
        frontend(`gateway/shop/g${i}`, [`10.96.0.${i + 1}`], [tcp(80, [to(i === 13 ? 'bad' : store)])]),
      ),
      backends: [backend(store, [endpoint('10.10.1.2')]), backend('bad', [endpoint(bad)])],
    });
  const refused = await output.update(state('10.10.66.6'));
  expect([...refused.keys()]).toEqual(['gateway/shop/g13']);
  expect(refused.get('gateway/shop/g13')).toContain('Invalid argument');
  expect(kernel.table.elements.get('vip4')?.size).toBe(19);
  expect([...(await output.update(state('10.10.66.7'))).keys()]).toEqual([]);
  expect(kernel.table.elements.get('vip4')?.size).toBe(20);
});

test('dataplane 21 a table that somebody changed or deleted is repaired by the next audit', async () => {
  const { kernel, clock, metrics, output } = start();
  await output.update(one(['10.10.1.2', '10.10.1.3']));
  const want = withoutOrder(kernel.table);
  const edits: [number, () => void][] = [
    [1, () => kernel.tamper((s) => s.elements.get('et4')?.delete('10.96.0.1 . 80 . 0'))],
    [1, () => kernel.tamper((s) => s.elements.get('vip4')?.set('10.96.0.9 . tcp . 80', 'goto rej'))],
    [1, () => kernel.tamper((s) => s.elements.get('own4')?.set('10.96.0.9', ''))],
    [1, () => kernel.tamper((s) => s.chains.set('masq', []))],
    [1, () => kernel.tamper((s) => s.chains.set('extra', ['accept']))],
    [1, () => kernel.drop()],
  ];
  for (const [count, edit] of edits) {
    edit();
    expect((await output.audit())?.count).toBe(count);
    for (let i = 0; i < 2; i++) {
      clock.advance(2000);
      await settle();
    }
    expect(withoutOrder(kernel.table)).toEqual(want);
    expect(await output.audit()).toBeUndefined();
  }
  expect(await metrics.registry.metrics()).toContain('causeway_drift_repaired_total 6');
});

test('P2 a table of an earlier process is changed, not replaced, and its counters go on', async () => {
  const { kernel, output } = start();
  await output.update(one(['10.10.1.2']));
  const next = start(kernel);
  const read = kernel.read.bind(kernel);
  const counted = '10.96.0.1 . tcp . 80 counter packets 7 bytes 420 : goto';
  kernel.read = (take, options) =>
    read((line) => take(line.replace('10.96.0.1 . tcp . 80 : goto', counted)), options);
  expect(await next.output.inspect()).toBe(true);
  await next.output.update(one(['10.10.1.2', '10.10.1.3']));
  expect(kernel.committed.at(-1)).toContain(`${counted} t4n2`);
  expect(kernel.committed.slice(1).join('')).not.toContain('delete table inet causeway\n');
  await output.close();
  await next.output.close();
  expect(kernel.table.elements.get('et4')?.size).toBe(2);
});

test('after close nothing is changed', async () => {
  const { kernel, output } = start();
  await output.update(one(['10.10.1.2']));
  await output.close();
  await expect(output.update(one([]))).rejects.toThrow('closed');
  expect(kernel.table.elements.get('et4')?.size).toBe(1);
});

test('an audit holds up no change: it is given up, and after ten in a row one is done to its end', async () => {
  const kernel = new FakeKernel();
  const { output, clock } = start(kernel);
  await output.update(one(['10.10.1.2']));
  kernel.tamper((s) => s.elements.get('own4')?.set('10.96.0.9', ''));
  const read = kernel.read.bind(kernel);
  let hold = true;
  kernel.read = async (take, options = {}) => {
    // As nft does: it takes its time, unless it is killed.
    const { signal } = options;
    if (hold && signal) await new Promise((resolve) => signal.addEventListener('abort', resolve));
    if (signal?.aborted) throw new NftError('given up');
    await read(take, options);
  };
  for (let i = 1; i < 10; i++) {
    const audit = output.audit();
    await settle();
    await output.update(one([`10.10.1.${i + 2}`]));
    expect(await audit).toBeUndefined();
  }
  const last = output.audit();
  await settle();
  await output.update(one(['10.10.1.20']));
  expect((await last)?.count).toBe(1);
  hold = false;
  clock.advance(1000);
  await settle();
  expect(await output.audit()).toBeUndefined();
  expect(kernel.table.elements.get('own4')?.has('10.96.0.9')).toBe(false);
});

test('whatever one element, set, chain or rule of the kernel is changed to, a comparison line by line finds it', async () => {
  await fc.assert(
    fc.asyncProperty(arbitraryIr, fc.nat(), fc.nat(), async (state, which, how) => {
      const { kernel, output } = start();
      await output.update(state);
      const before = kernel.lists;
      expect(await output.audit()).toBeUndefined();
      expect(kernel.lists).toBe(before + 1);
      kernel.tamper((s) => {
        const sets = [...s.elements].flatMap(([set, elements]) =>
          [...elements.keys()].map((key) => [set, key] as const),
        );
        const [set, key] = sets[which % sets.length] as readonly [string, string];
        const edits = [
          () => s.elements.get(set)?.delete(key),
          () => s.elements.get(set)?.set(key, `${s.elements.get(set)?.get(key)}x`),
          () => s.elements.get(set)?.set(`${key}0`, ''),
          () => s.elements.set('own6', new Map([['2001:db8:9::1', '']])),
          () => s.declarations.delete(set),
          () => s.declarations.set(set, ['type mark']),
          () => s.chains.set('masq', ['accept']),
          () => s.chains.delete('f-fwd'),
          () => s.chains.set('other', []),
        ];
        edits[how % edits.length]?.();
      });
      expect(await output.audit()).toMatchObject({ count: expect.any(Number) });
    }),
    { numRuns: 150 },
  );
});
