import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../runtime/clock.ts';
import { silentLog } from '../../runtime/log.ts';
import type { WriteFile } from '../../runtime/state-disk.ts';
import { writeAtomic } from '../../runtime/write-atomic.ts';
import { type FileBatch, FileSource } from './file-source.ts';

const namespace = (name: string, label = 'a'): string =>
  `apiVersion: v1\nkind: Namespace\nmetadata: {name: ${name}, labels: {label: "${label}"}}\n`;
const gateway = (port: number | string): string =>
  `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: g}
spec: {gatewayClassName: c, listeners: [{name: a, protocol: TCP, port: ${port}}]}
`;

let base: string;
let folder: string;
const sources: FileSource[] = [];

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'causeway-files-'));
  folder = join(base, 'manifests');
  mkdirSync(folder);
});

afterEach(async () => {
  await Promise.all(sources.splice(0).map((s) => s.close()));
  rmSync(base, { recursive: true, force: true });
});

function put(file: string, text: string): void {
  mkdirSync(dirname(join(folder, file)), { recursive: true });
  writeFileSync(join(folder, file), text);
}

const eventually = (check: () => void): Promise<void> => vi.waitFor(check, { timeout: 15_000, interval: 10 });

/**
 * Follows the folder and holds what is in force: `<kind>/<key>` → the label, or the generation. `until` waits for
 * that and for as many broken files.
 */
function follow(write: WriteFile = writeAtomic) {
  const inForce = new Map<string, unknown>();
  const batches: FileBatch[] = [];
  const source = new FileSource({
    folder,
    stateFolder: join(base, 'state'),
    write,
    clock: systemClock,
    log: silentLog,
    onBatch(batch) {
      batches.push(batch);
      for (const { kind, key, value } of batch.changes) {
        if (!value) inForce.delete(`${kind}/${key}`);
        else if ('metadata' in value)
          inForce.set(`${kind}/${key}`, value.metadata.labels.label ?? value.metadata.generation);
      }
    },
  });
  sources.push(source);
  source.start();
  const until = (expected: Record<string, unknown>, broken = 0) =>
    eventually(() => {
      expect(Object.fromEntries(inForce)).toEqual(expected);
      const errors = batches.at(-1)?.problems.filter((p) => p.severity === 'error') ?? [];
      expect(new Set(errors.map((p) => p.file)).size).toBe(broken);
    });
  return { source, inForce, batches, until };
}

describe('what is followed', () => {
  test('files and nested folders, in place and by rename; the first batch is the whole folder', async () => {
    put('a.yaml', namespace('a'));
    put('deep/er/b.yml', namespace('b'));
    put(
      'c.json',
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name: 'c', labels: { label: 'a' } },
      }),
    );
    const { until, batches } = follow();
    await until({ 'Namespace/a': 'a', 'Namespace/b': 'a', 'Namespace/c': 'a' });
    expect(batches[0]?.changes).toHaveLength(3);

    put('a.yaml', namespace('a', 'in-place'));
    put('deep/new/d.yaml', namespace('d'));
    put('.b.yml.tmp', namespace('b', 'renamed'));
    renameSync(join(folder, '.b.yml.tmp'), join(folder, 'deep/er/b.yml'));
    await until({
      'Namespace/a': 'in-place',
      'Namespace/b': 'renamed',
      'Namespace/c': 'a',
      'Namespace/d': 'a',
    });
    rmSync(join(folder, 'deep'), { recursive: true });
    await until({ 'Namespace/a': 'in-place', 'Namespace/c': 'a' });
  });

  test('not what editors leave behind', async () => {
    put('a.yaml', namespace('a'));
    const { until } = follow();
    await until({ 'Namespace/a': 'a' });
    for (const name of ['.a.yaml.swp', 'a.yaml~', '#a.yaml#', '4913', '.#a.yaml', 'a.yaml.orig', 'notes.txt'])
      put(name, '{{{');
    symlinkSync('nobody@nowhere', join(folder, '.#b.yaml'));
    put('z.yaml', namespace('z'));
    await until({ 'Namespace/a': 'a', 'Namespace/z': 'a' });
  });

  test('a link that leads nowhere is told, keeps what it led to, and is forgotten with the link', async () => {
    put('target', namespace('a'));
    symlinkSync('target', join(folder, 'a.yaml'));
    symlinkSync('../elsewhere', join(folder, 'more'));
    const { until, batches } = follow();
    await until({ 'Namespace/a': 'a' }, 1);
    rmSync(join(folder, 'target'));
    await until({ 'Namespace/a': 'a' }, 2);
    expect(batches.at(-1)?.problems).toMatchObject([
      { file: 'a.yaml', message: 'expected a file or folder, found a link to target, which does not exist' },
      {
        file: 'more',
        message: 'expected a file or folder, found a link to ../elsewhere, which does not exist',
      },
    ]);
    rmSync(join(folder, 'a.yaml'));
    await until({}, 1);
  });

  test('an editor that moves the old file away and writes a new one never takes its objects', async () => {
    put('a.yaml', namespace('a', '0'));
    const { until, batches } = follow();
    await until({ 'Namespace/a': '0' });
    for (let i = 1; i <= 5; i += 1) {
      renameSync(join(folder, 'a.yaml'), join(folder, 'a.yaml~'));
      put('a.yaml', '');
      put('a.yaml', namespace('a', String(i)));
      await until({ 'Namespace/a': String(i) });
    }
    expect(batches.flatMap((b) => b.changes).filter((c) => c.value === undefined)).toEqual([]);
  });

  test('a mounted folder, whose files are links that are swapped together', async () => {
    for (const version of ['1', '2']) put(`..v${version}/a.yaml`, namespace('a', version));
    symlinkSync('..v1', join(folder, '..data'));
    symlinkSync('..data/a.yaml', join(folder, 'a.yaml'));
    const { until } = follow();
    await until({ 'Namespace/a': '1' });
    symlinkSync('..v2', join(folder, '..new'));
    renameSync(join(folder, '..new'), join(folder, '..data'));
    await until({ 'Namespace/a': '2' });
  });

  test('folders that link to each other are read once', async () => {
    put('a/x.yaml', namespace('x'));
    symlinkSync('..', join(folder, 'a', 'loop'));
    const { until } = follow();
    await until({ 'Namespace/x': 'a' });
  });
});

describe('empty is not a fact', () => {
  test('a folder that goes keeps everything; when it is back, what it says counts', async () => {
    put('a.yaml', namespace('a'));
    put('b.yaml', namespace('b'));
    const { until } = follow();
    await until({ 'Namespace/a': 'a', 'Namespace/b': 'a' });
    renameSync(folder, join(base, 'elsewhere'));
    await until({ 'Namespace/a': 'a', 'Namespace/b': 'a' }, 1);
    mkdirSync(folder);
    put('a.yaml', namespace('a', 'new'));
    await until({ 'Namespace/a': 'new' });
    put('c.yaml', namespace('c'));
    await until({ 'Namespace/a': 'new', 'Namespace/c': 'a' });
  });

  test('a folder that is not there yet is not complete; an empty one is', async () => {
    rmSync(folder, { recursive: true });
    const { batches, source, until } = follow();
    await until({}, 1);
    expect(batches).toMatchObject([{ complete: false, changes: [], problems: [{ path: '' }] }]);
    expect(source.complete).toBe(false);
    mkdirSync(folder);
    await until({});
    expect(batches.at(-1)).toMatchObject({ complete: true, changes: [] });
    put('a.yaml', namespace('a'));
    await until({ 'Namespace/a': 'a' });
  });

  test('an empty folder in the place of another takes nothing away, also over a restart', async () => {
    put('a.yaml', gateway(80));
    const { until, source } = follow();
    await until({ 'Gateway/default/g': 1 });
    renameSync(folder, join(base, 'elsewhere'));
    mkdirSync(folder);
    await until({ 'Gateway/default/g': 1 }, 1);
    await source.close();
    const next = follow();
    await next.until({}, 1);
    expect(next.source.complete).toBe(false);
    expect(next.batches.at(-1)?.problems).toMatchObject([
      { message: expect.stringContaining('an empty one') },
    ]);
    rmSync(folder, { recursive: true });
    renameSync(join(base, 'elsewhere'), folder);
    await next.until({ 'Gateway/default/g': 1 });
    expect(next.source.complete).toBe(true);
  });

  test('a folder that is emptied on purpose gives everything up', async () => {
    put('a.yaml', namespace('a'));
    const { until } = follow();
    await until({ 'Namespace/a': 'a' });
    rmSync(join(folder, 'a.yaml'));
    await until({});
  });
});

describe('a disk that is full', () => {
  test('stops nothing, and what could not be saved is saved when it can be', async () => {
    let full = true;
    const { until } = follow(async (...file) => {
      if (full) throw new Error('no space left');
      await writeAtomic(...file);
    });
    put('a.yaml', gateway(80));
    await until({ 'Gateway/default/g': 1 });
    put('a.yaml', gateway(81));
    await until({ 'Gateway/default/g': 2 });
    full = false;
    const saved = () => readFileSync(join(base, 'state', 'files', 'objects.json'), 'utf8');
    await eventually(() => expect(saved()).toContain('"generation":2'));
    await eventually(() => expect(readdirSync(join(base, 'state', 'files', 'good')).length).toBe(1));
  });
});

describe('the last good version', () => {
  test('stays in force until the file is good again, and over a restart', async () => {
    put('a.yaml', `${gateway(80)}---\n${namespace('a')}`);
    put('b.yaml', namespace('b'));
    const first = follow();
    await first.until({ 'Gateway/default/g': 1, 'Namespace/a': 'a', 'Namespace/b': 'a' });
    put('a.yaml', `${gateway('http')}---\n${namespace('a', 'new')}`);
    await first.until({ 'Gateway/default/g': 1, 'Namespace/a': 'new', 'Namespace/b': 'a' }, 1);
    put('b.yaml', '{{{');
    await first.until({ 'Gateway/default/g': 1, 'Namespace/a': 'new', 'Namespace/b': 'a' }, 2);
    await first.source.close();

    const second = follow();
    await second.until({ 'Gateway/default/g': 1, 'Namespace/a': 'new', 'Namespace/b': 'a' }, 2);
    expect(second.batches[0]?.problems[0]).toMatchObject({
      file: 'a.yaml',
      line: 4,
      keptFrom: expect.any(Number),
    });
    put('a.yaml', gateway(81));
    put('b.yaml', namespace('b', 'new'));
    await second.until({ 'Gateway/default/g': 2, 'Namespace/b': 'new' });
    await eventually(() => expect(readdirSync(join(base, 'state/files/good'))).toHaveLength(2));
  });

  test('is not brought back for a file that was deleted meanwhile', async () => {
    put('a.yaml', namespace('a'));
    const first = follow();
    await first.until({ 'Namespace/a': 'a' });
    await first.source.close();
    rmSync(join(folder, 'a.yaml'));
    const second = follow();
    await eventually(() => expect(second.source.complete).toBe(true));
    await eventually(() => expect(readdirSync(join(base, 'state/files/good'))).toEqual([]));
    expect(second.inForce.size).toBe(0);
  });
});

test('a state folder that cannot be written stops nothing', async () => {
  writeFileSync(join(base, 'state'), 'a file where the folder should be');
  put('a.yaml', gateway(80));
  const { until } = follow();
  await until({ 'Gateway/default/g': 1 });
  put('a.yaml', gateway(81));
  await until({ 'Gateway/default/g': 2 });
});
