import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Status } from '../../model/compiled.ts';
import { ManualClock } from '../../runtime/clock.ts';
import { FileStatus } from './file-status.ts';

let folder: string;
let clock: ManualClock;
let repaired: string[];
let files: FileStatus;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'causeway-file-status-'));
  clock = new ManualClock(Date.UTC(2026, 0, 1));
  repaired = [];
  files = new FileStatus({
    stateFolder: folder,
    controllerName: 'causeway.dev/gateway-controller',
    clock,
    onDue: () => {},
    onRepaired: (key) => repaired.push(key),
  });
});
afterEach(() => {
  files.close();
  rmSync(folder, { recursive: true, force: true });
});

const key = 'Gateway/shop/store';
const path = () => join(folder, 'status', 'Gateway', 'shop_store.yaml');
const text = () => readFileSync(path(), 'utf8');
const edit = (change: (t: string) => string): void => writeFileSync(path(), change(text()));

const statusOf = (more: Record<string, unknown> = {}): Status => ({
  ref: { kind: 'Gateway', namespace: 'shop', name: 'store' },
  apiVersion: 'x/v1',
  generation: 1,
  status: {
    addresses: [{ type: 'IPAddress', value: '10.96.0.1' }],
    conditions: [
      { type: 'Accepted', status: 'True', reason: 'Accepted', message: '', observedGeneration: 1 },
    ],
    ...more,
  },
});

test.each([
  ['an address is changed', () => edit((t) => t.replace('10.96.0.1', '10.96.0.9'))],
  ['a condition is changed', () => edit((t) => t.replace('"True"', '"False"'))],
  ['the file is emptied', () => edit(() => '')],
  ['the file is gone', () => rmSync(path())],
] as const)('P7 the same update again puts a status right when %s', async (_, change) => {
  const status = statusOf();
  await files.update(key, status);
  const before = text();
  change();
  await files.update(key, status);
  expect(text()).toBe(before);
  expect(repaired).toEqual([key]);
});

test('the same update again leaves a file alone that nobody touched, and what others wrote to it', async () => {
  const status = statusOf();
  await files.update(key, status);
  const { ino } = statSync(path());
  await files.update(key, status);
  expect(statSync(path()).ino).toBe(ino);
  const theirs = '    - {type: example.com/Seen, status: "True", reason: Seen, message: x}\n';
  edit((t) => t.replace(/(conditions:\n)/, `$1${theirs}`));
  await files.update(key, status);
  await files.update(key, status);
  expect(text()).toContain('example.com/Seen');
  expect(text()).toContain('type: Accepted');
});

test('another status, or a summary that becomes due, is no repair', async () => {
  const first = statusOf({ summary: { endpoints: 1 } });
  await files.update(key, first);
  const second = statusOf({ summary: { endpoints: 2 } });
  await files.update(key, second);
  expect(text()).toContain('endpoints: 1');
  clock.advance(60_000);
  await files.update(key, second);
  expect(text()).toContain('endpoints: 2');
  expect(repaired).toEqual([]);
});
