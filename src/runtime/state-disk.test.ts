import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { silentLog } from './log.ts';
import { Metrics } from './metrics.ts';
import { StateDisk } from './state-disk.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'causeway-disk-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('what cannot be written is told until it can be, by what it is', async () => {
  const metrics = new Metrics();
  const disk = new StateDisk({ log: silentLog, metrics });
  const [claims, statuses] = [disk.writer('claims'), disk.writer('statuses')];
  const told = async () =>
    [...(await metrics.registry.metrics()).matchAll(/^causeway_state_unwritten\{what="(\w+)"\} (\d)$/gm)].map(
      ([, what, value]) => `${what} ${value}`,
    );
  expect(await told()).toEqual(['claims 0', 'statuses 0']);
  const below = join(folder, 'state');
  const path = join(below, 'claims.yaml');
  writeFileSync(below, 'a file where a folder should be');
  await expect(claims(path, 'text')).rejects.toMatchObject({ code: 'E_STATE_WRITE' });
  await statuses(join(folder, 'statuses.yaml'), 'text');
  expect(await told()).toEqual(['claims 1', 'statuses 0']);
  expect(disk.faults).toEqual([expect.stringMatching(/^claims cannot be written: .*state.*E/)]);
  rmSync(below);
  mkdirSync(below);
  await claims(path, 'text');
  expect(await told()).toEqual(['claims 0', 'statuses 0']);
  expect(disk.faults).toEqual([]);
  expect(readFileSync(path, 'utf8')).toBe('text');
});
