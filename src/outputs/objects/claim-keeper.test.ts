import { spawn } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { WantedClaim } from '../../model/compiled.ts';
import { ManualClock } from '../../runtime/clock.ts';
import { silentLog } from '../../runtime/log.ts';
import { parseClaims } from './claim-file.ts';
import { type ClaimInputs, ClaimKeeper } from './claim-keeper.ts';
import type { ClaimState } from './claim-state.ts';

let state: string;
let clock: ManualClock;
let due: number;

beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'causeway-claims-'));
  clock = new ManualClock(0);
  due = 0;
});
afterEach(() => rmSync(state, { recursive: true, force: true }));

const open = (ranges = ['10.96.0.0/30']): Promise<ClaimKeeper> =>
  ClaimKeeper.open({
    stateFolder: state,
    ranges,
    clock,
    random: () => 0.5,
    log: silentLog,
    onDue: () => {
      due += 1;
    },
  });

const wanted = (...names: string[]): ReadonlyMap<string, WantedClaim> =>
  new Map(
    names.map((name) => [
      `shop/${name}`,
      { gateway: { namespace: 'shop', name, uid: `uid-${name}` }, families: ['IPv4'], requested: [] },
    ]),
  );

const inputs = (names: string[], more: Partial<ClaimInputs> = {}): ClaimInputs => ({
  wanted: wanted(...names),
  reserved: new Map(),
  connected: new Set(),
  nodeObjects: undefined,
  acknowledged: () => false,
  refuses: () => false,
  ...more,
});

/** `10.96.0.2 a bound`; a failure as `a: NotAssigned`. */
const told = ({ changes }: { changes: readonly { kind: string; key: string; value: unknown }[] }): string[] =>
  changes.map(({ kind, key, value }) => {
    if (!value) return `-${kind} ${key}`;
    const {
      gateway,
      state: s,
      reason,
    } = value as { gateway: { name: string }; state: string; reason: string };
    return kind === 'Claim' ? `${key} ${gateway.name} ${s}` : `${key}: ${reason}`;
  });

const main = () => join(state, 'claims.yaml');
const copy = () => join(state, 'claims.copy.yaml');

test('addresses are told once, kept on disk, and the same after a restart', async () => {
  const first = await open();
  expect(told(await first.update(inputs(['a'])))).toEqual(['10.96.0.2 a bound']);
  expect(told(await first.update(inputs(['a'])))).toEqual([]);
  expect(told(await first.update(inputs(['a', 'b'])))).toEqual(['shop/b: NotAssigned']);
  await first.close();

  const second = await open();
  expect(told(second.initial())).toEqual(['10.96.0.2 a bound']);
  expect(told(await second.update({ ...inputs([]), wanted: undefined }))).toEqual([]);
  expect(told(await second.update(inputs(['b', 'a'])))).toEqual(['shop/b: NotAssigned']);
});

test('what is wanted is looked at again when its revision says so, or when a claim is free again', async () => {
  const keeper = await open();
  const at = (revision: number, names: string[], more: Partial<ClaimInputs> = {}) =>
    keeper.update(inputs(names, { revision, connected: new Set(['e1']), ...more }));
  expect(told(await at(1, ['a']))).toEqual(['10.96.0.2 a bound']);
  // The same revision says that nobody else is there, whoever it is.
  expect(told(await at(1, ['a', 'b']))).toEqual([]);
  expect(told(await at(2, ['a', 'b']))).toEqual(['shop/b: NotAssigned']);
  const { changes, sequence } = await at(3, ['b']);
  expect(told({ changes })).toEqual(['10.96.0.2 a releasing']);
  keeper.rendered(sequence, 10);
  expect(told(await at(3, ['b']))).toEqual([]);
  const freed = await at(3, ['b'], { acknowledged: (_, position) => position <= 10 });
  expect(told(freed)).toEqual(['10.96.0.2 b bound', '-ClaimFailure shop/b']);
});

describe('design VIP a VIP freed while one agent is down is not given out again', () => {
  const nodes = new Set(['e1', 'e2']);
  const one = new Set(['e1']);

  /** `a` has the only address, e1 and e2 hold it; then e2 goes, and `b` wants the address. */
  async function freed() {
    const keeper = await open();
    const given = await keeper.update(inputs(['a'], { connected: nodes, nodeObjects: nodes }));
    keeper.rendered(given.sequence, 10);
    keeper.observe(one);
    await keeper.update(inputs(['a'], { connected: one, nodeObjects: nodes }));
    const removed = await keeper.update(inputs(['b'], { connected: one, nodeObjects: nodes }));
    expect(told(removed)).toEqual(['10.96.0.2 a releasing', 'shop/b: NotAssigned']);
    keeper.rendered(removed.sequence, 20);
    return keeper;
  }
  const holders = (keeper: ClaimKeeper) => keeper.claims.map((c) => c.holders.join());

  test('until that agent has caught up', async () => {
    const keeper = await freed();
    const e1 = (node: string, position: number) => node === 'e1' && position <= 20;
    expect(
      told(await keeper.update(inputs(['b'], { connected: one, nodeObjects: nodes, acknowledged: e1 }))),
    ).toEqual([]);
    expect(holders(keeper)).toEqual(['e2']);
    const old = (_: string, position: number) => position < 20;
    expect(
      told(await keeper.update(inputs(['b'], { connected: nodes, nodeObjects: nodes, acknowledged: old }))),
    ).toEqual([]);
    const all = () => true;
    expect(
      told(await keeper.update(inputs(['b'], { connected: nodes, nodeObjects: nodes, acknowledged: all }))),
    ).toEqual(['10.96.0.2 b bound', '-ClaimFailure shop/b']);
  });

  test('what else it refuses does not count, what it refuses of that Gateway does', async () => {
    const keeper = await freed();
    const facts = { connected: nodes, nodeObjects: nodes, acknowledged: () => true };
    const refuses = (name: string) => (node: string, gateway?: { readonly name: string }) =>
      node === 'e2' && (gateway?.name ?? name) === name;
    expect(told(await keeper.update(inputs(['b'], { ...facts, refuses: refuses('a') })))).toEqual([]);
    expect(holders(keeper)).toEqual(['e2']);
    expect(told(await keeper.update(inputs(['b'], { ...facts, refuses: refuses('b') })))).toEqual([
      '10.96.0.2 b bound',
      '-ClaimFailure shop/b',
    ]);
  });

  test('or its node is gone', async () => {
    const keeper = await freed();
    const facts = { connected: one, acknowledged: (node: string) => node === 'e1' };
    expect(told(await keeper.update(inputs(['b'], { ...facts, nodeObjects: nodes })))).toEqual([]);
    expect(told(await keeper.update(inputs(['b'], { ...facts, nodeObjects: one })))).toContain(
      '10.96.0.2 b bound',
    );
  });

  test('also by a controller that started again meanwhile, whose log begins anew', async () => {
    await (await freed()).close();
    const keeper = await open();
    expect(told(keeper.initial())).toEqual(['10.96.0.2 a releasing']);
    expect(told(await keeper.update(inputs(['b'], { nodeObjects: nodes })))).toEqual(['shop/b: NotAssigned']);
    const position = new Map([['e1', 3]]);
    const acknowledged = (node: string, p: number) => (position.get(node) ?? -1) >= p;
    const again = await keeper.update(inputs(['b'], { connected: one, nodeObjects: nodes, acknowledged }));
    keeper.rendered(again.sequence, 3);
    await keeper.update(inputs(['b'], { connected: one, nodeObjects: nodes, acknowledged }));
    expect(holders(keeper)).toEqual(['e2']);
    position.set('e2', 3);
    expect(
      told(await keeper.update(inputs(['b'], { connected: nodes, nodeObjects: nodes, acknowledged }))),
    ).toContain('10.96.0.2 b bound');
  });

  test('an agent that came and went between two updates is not forgotten', async () => {
    const keeper = await open();
    const given = await keeper.update(inputs(['a']));
    keeper.rendered(given.sequence, 1);
    keeper.observe(new Set(['e9']));
    keeper.observe(new Set());
    const removed = await keeper.update(inputs(['b']));
    keeper.rendered(removed.sequence, 2);
    await keeper.update(inputs(['b']));
    expect(keeper.claims).toMatchObject([{ gateway: { name: 'a' }, holders: ['e9'] }]);
  });
});

describe('a file that cannot be trusted', () => {
  async function used(): Promise<void> {
    const keeper = await open(['10.96.0.0/29']);
    await keeper.update(inputs(['a']));
    await keeper.close();
  }

  test.each([
    ['damaged', () => writeFileSync(main(), readFileSync(main(), 'utf8').slice(0, -30))],
    ['empty', () => writeFileSync(main(), '')],
    ['of another version', () => writeFileSync(main(), 'version: 9\n')],
    ['missing while its copy is there', () => rmSync(main())],
    [
      'a folder',
      () => {
        rmSync(main());
        mkdirSync(main());
      },
    ],
  ])('%s: what is bound stays, nothing new is given out, and it says so', async (_, damage) => {
    await used();
    damage();
    const keeper = await open(['10.96.0.0/29']);
    expect(told(keeper.initial())).toEqual([expect.stringMatching(/ a bound$/)]);
    expect(keeper.fault).toContain(main());
    const update = await keeper.update(inputs(['b']));
    expect(told(update)).toEqual(['shop/b: NotAssigned']);
    expect(update.changes[0]?.value).toMatchObject({ message: expect.stringContaining(main()) });
    expect(told(await keeper.update(inputs([])))).toEqual(['-ClaimFailure shop/b']);
    expect(keeper.claims).toMatchObject([{ gateway: { name: 'a' }, state: 'bound' }]);
  });

  test('both damaged: it does not start, since every Gateway would lose its address', async () => {
    await used();
    writeFileSync(main(), '{');
    writeFileSync(copy(), '{');
    await expect(open(['10.96.0.0/29'])).rejects.toMatchObject({
      code: 'E_STATE_READ',
      message: expect.stringContaining(main()),
    });
  });

  test('is used again as soon as it is put right', async () => {
    await used();
    writeFileSync(main(), '{');
    const keeper = await open(['10.96.0.0/29']);
    keeper.initial();
    await keeper.update(inputs(['a', 'b']));
    copyFileSync(copy(), main());
    clock.advance(10_000);
    expect(due).toBeGreaterThan(0);
    expect(told(await keeper.update(inputs(['a', 'b'])))).toEqual([
      expect.stringMatching(/ b bound$/),
      '-ClaimFailure shop/b',
    ]);
    expect(keeper.fault).toBeUndefined();
  });
});

test('a state folder that cannot be looked into says nothing about claims: it does not start', async () => {
  const blocked = join(state, 'not-a-folder');
  writeFileSync(blocked, '');
  const options = { ranges: ['10.96.0.0/30'], clock, random: () => 0.5, log: silentLog, onDue: () => {} };
  const opening = ClaimKeeper.open({ ...options, stateFolder: join(blocked, 'state') });
  await expect(opening).rejects.toMatchObject({ code: 'E_STATE_READ' });
});

test('a claim that cannot be saved is not given out until it is', async () => {
  const keeper = await open(['10.96.0.0/30']);
  mkdirSync(join(state, '.claims.yaml.new'));
  expect(told(await keeper.update(inputs(['a'])))).toEqual(['shop/a: NotAssigned']);
  clock.advance(1000);
  expect(due).toBeGreaterThan(0);
  rmSync(join(state, '.claims.yaml.new'), { recursive: true });
  expect(told(await keeper.update(inputs(['a'])))).toEqual(['10.96.0.2 a bound', '-ClaimFailure shop/a']);
});

test('a write that fails later leaves what is bound, and is tried again', async () => {
  const keeper = await open(['10.96.0.0/29']);
  await keeper.update(inputs(['a']));
  const before = readFileSync(main(), 'utf8');
  mkdirSync(join(state, '.claims.yaml.new'));
  const update = await keeper.update(inputs(['b']));
  expect(told(update)).toEqual(['shop/b: NotAssigned']);
  expect(update.changes[0]?.value).toMatchObject({ message: expect.stringContaining('cannot be saved') });
  expect(readFileSync(main(), 'utf8')).toBe(before);
  rmSync(join(state, '.claims.yaml.new'), { recursive: true, force: true });
  clock.advance(1000);
  expect(due).toBe(1);
  expect(told(await keeper.update(inputs(['b'])))).toContain('-ClaimFailure shop/b');
});

test('design VIP killed at any point, what was told is on disk', async () => {
  const node = join(import.meta.dirname, '../../../node_modules/.bin/node');
  expect(existsSync(node)).toBe(true);
  const script = `
    const { ClaimKeeper } = await import(${JSON.stringify(join(import.meta.dirname, 'claim-keeper.ts'))});
    const { systemClock } = await import(${JSON.stringify(join(import.meta.dirname, '../../runtime/clock.ts'))});
    const { silentLog } = await import(${JSON.stringify(join(import.meta.dirname, '../../runtime/log.ts'))});
    const keeper = await ClaimKeeper.open({ stateFolder: process.argv[1], ranges: ['10.96.0.0/20'], clock: systemClock, random: Math.random, log: silentLog, onDue() {} });
    if (keeper.fault) process.stdout.write('fault ' + keeper.fault + '\\n');
    let n = Number(process.argv[2]);
    const names = [];
    for (;;) {
      names.push('g' + n++);
      if (names.length > 20) names.shift();
      const wanted = new Map(names.map((name) => ['shop/' + name, { gateway: { namespace: 'shop', name, uid: name }, families: ['IPv4'], requested: [] }]));
      const { changes, sequence } = await keeper.update({ wanted, reserved: new Map(), connected: new Set(['e1']), nodeObjects: undefined, acknowledged: () => false, refuses: () => false });
      for (const c of changes) if (c.value?.state === 'bound') process.stdout.write(c.key + ' ' + c.value.gateway.name + '\\n');
      keeper.rendered(sequence, sequence);
    }`;
  const owners = new Map<string, string>();
  for (let round = 0; round < 3; round += 1) {
    const child = spawn(node, ['--input-type=module', '-e', script, state, String(round * 100_000)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    const enough = 30 + round * 17;
    await new Promise<void>((resolve) => {
      child.stdout.on('data', (data: Buffer) => {
        output += data.toString();
        if (output.split('\n').length > enough) child.kill('SIGKILL');
      });
      child.on('close', () => resolve());
    });
    expect(output).not.toContain('fault');
    const saved = parseClaims(readFileSync(main(), 'utf8')) as ClaimState;
    expect(typeof saved).toBe('object');
    for (const line of output.split('\n').slice(0, -1)) {
      const [address = '', name = ''] = line.split(' ');
      // e1 never acknowledges, so an address has one owner for ever.
      expect(owners.get(address) ?? name).toBe(name);
      owners.set(address, name);
      expect(saved.claims.get(address)?.gateway.name).toBe(name);
    }
  }
});

describe('an audit', () => {
  const edits: readonly [string, () => void][] = [
    ['an entry is taken out', () => edit(main(), (text) => text.replace(/^- .*"uid-a".*\n/m, ''))],
    ['an address is another one', () => edit(main(), (text) => text.replace('10.96.0.2', '10.96.0.1'))],
    ['the file is gone', () => rmSync(main())],
    ['the file is no YAML', () => writeFileSync(main(), '{')],
    ['the copy is gone', () => rmSync(copy())],
    ['both are gone', () => [main(), copy()].map((path) => rmSync(path))],
  ];
  const edit = (path: string, change: (text: string) => string): void =>
    writeFileSync(path, change(readFileSync(path, 'utf8')));

  test.each(edits)('P7 puts the file right when %s', async (_, change) => {
    const keeper = await open();
    await keeper.update(inputs(['a']));
    const before = [readFileSync(main(), 'utf8'), readFileSync(copy(), 'utf8')];
    expect(await keeper.audit()).toBe(false);
    change();
    expect(await keeper.audit()).toBe(true);
    expect([readFileSync(main(), 'utf8'), readFileSync(copy(), 'utf8')]).toEqual(before);
    expect(await keeper.audit()).toBe(false);
    expect(told(await keeper.update(inputs(['a'])))).toEqual([]);
  });

  test('writes nothing where nothing was given out, and nothing over a file that cannot be trusted', async () => {
    expect(await (await open()).audit()).toBe(false);
    expect(existsSync(main())).toBe(false);
    await (await open()).update(inputs(['a']));
    writeFileSync(main(), '{');
    const keeper = await open();
    expect(await keeper.audit()).toBe(false);
    expect(readFileSync(main(), 'utf8')).toBe('{');
  });
});
