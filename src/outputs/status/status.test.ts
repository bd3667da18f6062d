import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import type { Status } from '../../model/compiled.ts';
import { ManualClock } from '../../runtime/clock.ts';
import { FileStatus } from './file-status.ts';
import { mergeStatus } from './merge.ts';

const T0 = Date.UTC(2026, 0, 1);
const controllerName = 'causeway.dev/gateway-controller';

let state: string;
let clock: ManualClock;
const outputs: FileStatus[] = [];

beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'causeway-status-'));
  clock = new ManualClock(T0);
});
afterEach(() => {
  for (const output of outputs.splice(0)) output.close();
  rmSync(state, { recursive: true, force: true });
});

function writer() {
  const statuses = new Map<string, Status>();
  const due = new Set<string>();
  const output = new FileStatus({ stateFolder: state, controllerName, clock, onDue: (key) => due.add(key) });
  outputs.push(output);
  const apply = async (key: string): Promise<void> => {
    const status = statuses.get(key);
    await (status ? output.update(key, status) : output.delete(key));
  };
  const write = async (
    key: string,
    status: Record<string, unknown> | undefined,
    generation = 1,
  ): Promise<void> => {
    const [kind = '', namespace = '', name = ''] = key.split('/');
    if (status) statuses.set(key, { ref: { kind, namespace, name }, apiVersion: 'x/v1', generation, status });
    else statuses.delete(key);
    await apply(key);
  };
  /** Lets time pass, and does what is due then. */
  const advance = async (ms: number): Promise<void> => {
    clock.advance(ms);
    for (const key of due) await apply(key);
    due.clear();
  };
  return { output, write, advance };
}

const path = (file: string): string => join(state, 'status', file);
const read = (file: string) => parse(readFileSync(path(file), 'utf8'));
const inode = (file: string): number => statSync(path(file)).ino;

const condition = (type: string, status: string, message = '') => ({
  type,
  status,
  reason: type,
  message,
  observedGeneration: 1,
});

test('a status is a YAML file with kind, name, generation and the time of each condition', async () => {
  const { write } = writer();
  await write('Gateway/shop/store', {
    addresses: [{ type: 'IPAddress', value: '10.96.0.1' }],
    conditions: [condition('Accepted', 'True')],
    listeners: [{ name: 'http', attachedRoutes: 1, conditions: [condition('Programmed', 'True')] }],
  });
  expect(read('Gateway/shop_store.yaml')).toEqual({
    apiVersion: 'x/v1',
    kind: 'Gateway',
    metadata: { name: 'store', namespace: 'shop', generation: 1 },
    status: {
      addresses: [{ type: 'IPAddress', value: '10.96.0.1' }],
      conditions: [{ ...condition('Accepted', 'True'), lastTransitionTime: '2026-01-01T00:00:00Z' }],
      listeners: [
        {
          name: 'http',
          attachedRoutes: 1,
          conditions: [{ ...condition('Programmed', 'True'), lastTransitionTime: '2026-01-01T00:00:00Z' }],
        },
      ],
    },
  });
  await write('GatewayClass//cluster-ip', { conditions: [] });
  expect(read('GatewayClass/cluster-ip.yaml').metadata).toEqual({ name: 'cluster-ip', generation: 1 });
});

test('a file is written only when something in it changes', async () => {
  const { write } = writer();
  const file = 'Gateway/a_b.yaml';
  await write('Gateway/a/b', { conditions: [condition('Accepted', 'True')] });
  const first = inode(file);
  clock.advance(60_000);
  await write('Gateway/a/b', { conditions: [condition('Accepted', 'True')] });
  expect(inode(file)).toBe(first);
  await write('Gateway/a/b', { conditions: [condition('Accepted', 'True', 'news')] });
  expect(inode(file)).not.toBe(first);
});

test('the time of a condition moves only with its status, and is kept over a restart', async () => {
  const times = () =>
    read('Gateway/a_b.yaml').status.conditions.map((c: { lastTransitionTime: string }) =>
      c.lastTransitionTime.slice(14, 19),
    );
  const first = writer();
  await first.write('Gateway/a/b', {
    conditions: [condition('Accepted', 'True'), condition('Programmed', 'False')],
  });
  clock.advance(60_000);
  const second = writer();
  await second.write('Gateway/a/b', {
    conditions: [condition('Accepted', 'True', 'news'), condition('Programmed', 'False')],
  });
  expect(times()).toEqual(['00:00', '00:00']);
  await second.write('Gateway/a/b', {
    conditions: [condition('Accepted', 'True'), condition('Programmed', 'True')],
  });
  expect(times()).toEqual(['00:00', '01:00']);
});

describe('what others wrote', () => {
  const context = { now: 'now', controllerName };
  const foreign = { ...condition('example.com/Checked', 'True'), lastTransitionTime: 'long ago' };

  test('stays: conditions of their types, entries of their controllers', () => {
    const theirs = { controllerName: 'other', parentRef: { name: 'g' }, conditions: [foreign] };
    const ours = (status: string, lastTransitionTime?: string) => ({
      controllerName,
      parentRef: { name: 'g', kind: 'Gateway' },
      conditions: [
        { ...condition('Accepted', status), ...(lastTransitionTime ? { lastTransitionTime } : {}) },
      ],
    });
    const old = {
      conditions: [foreign],
      parents: [theirs, { ...ours('True', 'before'), parentRef: { kind: 'Gateway', name: 'g' } }],
    };
    expect(
      mergeStatus({ conditions: [condition('Accepted', 'True')], parents: [ours('True')] }, old, context),
    ).toEqual({
      conditions: [{ ...condition('Accepted', 'True'), lastTransitionTime: 'now' }, foreign],
      parents: [ours('True', 'before'), theirs],
    });
    expect(mergeStatus({}, old, context)).toEqual({ conditions: [foreign], parents: [theirs] });
  });

  test('is told from what we wrote and do not want any more', () => {
    const old = {
      addresses: [],
      conditions: [{ ...condition('Conflicted', 'True'), lastTransitionTime: 'before' }],
    };
    expect(mergeStatus({ conditions: [] }, old, context)).toEqual({ conditions: [] });
    expect(mergeStatus({}, old, context)).toEqual({});
  });

  test('outlives our status in the file', async () => {
    const { write } = writer();
    await write('Gateway/a/b', { conditions: [condition('Accepted', 'True')] });
    const object = read('Gateway/a_b.yaml');
    object.status.conditions.push(foreign);
    writeFileSync(path('Gateway/a_b.yaml'), stringify(object));
    await write('Gateway/a/b', undefined);
    expect(read('Gateway/a_b.yaml').status).toEqual({ conditions: [foreign] });
  });
});

test('statuses go with their object; what an earlier process left goes with a complete set only', async () => {
  mkdirSync(path('Gateway'), { recursive: true });
  writeFileSync(path('Gateway/old_one.yaml'), 'status: {}');
  const { output, write } = writer();
  await write('Gateway/a/b', { conditions: [] });
  await write('Gateway/a/c', { conditions: [] });
  await write('Gateway/a/c', undefined);
  expect(readdirSync(path('Gateway'))).toEqual(['a_b.yaml', 'old_one.yaml']);
  await output.prune(new Set(['Gateway/a/b']));
  expect(readdirSync(path('Gateway'))).toEqual(['a_b.yaml']);
});

describe('a composite', () => {
  const key = 'CompositeBackend/shop/store';
  const status = (endpoints: number, state = 'Synced') => ({
    conditions: [condition('Accepted', 'True')],
    summary: { clusters: '1/1', endpoints },
    clusters: [{ name: 'west', state, reason: state, message: '' }],
  });
  const now = () => read('CompositeBackend/shop_store.yaml').status;

  test('has its summary written once in 30 seconds, what matters at once', async () => {
    const { write, advance } = writer();
    await write(key, status(1));
    await advance(1000);
    await write(key, status(2));
    await write(key, status(3));
    expect(now().summary.endpoints).toBe(1);
    await write(key, status(4, 'Stale'));
    expect(now()).toMatchObject({ summary: { endpoints: 1 }, clusters: [{ state: 'Stale' }] });
    await advance(28_999);
    expect(now().summary.endpoints).toBe(1);
    await advance(1);
    expect(now().summary.endpoints).toBe(4);
    await write(key, status(5, 'Stale'));
    expect(now().summary.endpoints).toBe(4);
    await advance(30_000);
    expect(now().summary.endpoints).toBe(5);
  });

  test('that was quiet for long has a change written at once', async () => {
    const { write } = writer();
    await write(key, status(1));
    clock.advance(30_000);
    await write(key, status(2));
    expect(now().summary.endpoints).toBe(2);
  });

  test("says since when a cluster's state is what it is", async () => {
    const { write } = writer();
    await write(key, status(1));
    clock.advance(60_000);
    await write(key, {
      ...status(1),
      clusters: [{ name: 'west', state: 'Synced', reason: 'NoEndpoints', message: 'x' }],
    });
    expect(now().clusters).toEqual([
      {
        name: 'west',
        state: 'Synced',
        reason: 'NoEndpoints',
        message: 'x',
        lastTransitionTime: '2026-01-01T00:00:00Z',
      },
    ]);
    await write(key, status(1, 'Stale'));
    expect(now().clusters[0].lastTransitionTime).toBe('2026-01-01T00:01:00Z');
  });
});

describe('faults', () => {
  test('a file that somebody broke is written anew', async () => {
    for (const text of [
      '{{{',
      '',
      '42',
      'status: [1]',
      'status: {conditions: {a: b}, parents: [1, null]}',
      '&a [*a]',
    ]) {
      mkdirSync(dirname(path('Gateway/a_b.yaml')), { recursive: true });
      writeFileSync(path('Gateway/a_b.yaml'), text);
      const { write } = writer();
      await write('Gateway/a/b', { conditions: [condition('Accepted', 'True')] });
      expect(read('Gateway/a_b.yaml').status.conditions).toHaveLength(1);
    }
  });

  test('a folder that cannot be written is a fault that another try may mend', async () => {
    writeFileSync(join(state, 'status'), 'a file where the folder should be');
    const { write } = writer();
    await expect(write('Gateway/a/b', { conditions: [] })).rejects.toMatchObject({
      code: 'E_STATE_WRITE',
      retryable: true,
    });
    rmSync(join(state, 'status'));
    await write('Gateway/a/b', { conditions: [] });
    expect(read('Gateway/a_b.yaml').kind).toBe('Gateway');
  });

  test('names longer than a file name may be are told apart', async () => {
    const { write } = writer();
    const name = 'x'.repeat(252);
    await write(`Gateway/${'n'.repeat(63)}/${name}a`, { conditions: [] });
    await write(`Gateway/${'n'.repeat(63)}/${name}b`, { conditions: [] });
    expect(readdirSync(path('Gateway'))).toHaveLength(2);
  });
});
