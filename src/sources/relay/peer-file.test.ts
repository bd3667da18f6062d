import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ManualClock } from '../../runtime/clock.ts';
import { silentLog } from '../../runtime/log.ts';
import { Metrics } from '../../runtime/metrics.ts';
import type { KeptPeers } from './kept-peers.ts';
import { loadPeers, PeerFile } from './peer-file.ts';

const own = { set: 'demo', cluster: 'east' };
const keptWith = (...ports: string[]): KeptPeers => ({
  ...own,
  ports,
  unanswered: [],
  staleSince: new Map(),
  links: new Map(),
});

let folder: string;
let path: string;
let clock: ManualClock;
let source: { kept: KeptPeers | undefined; hasContact: boolean };
let said: string[];
let file: PeerFile;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'causeway-peers-'));
  path = join(folder, 'peers.json');
  clock = new ManualClock(1_000_000);
  source = { kept: keptWith(), hasContact: false };
  said = [];
  const say = (_: object, text: string): void => void said.push(text);
  file = new PeerFile({
    stateFolder: folder,
    source,
    clock,
    log: { ...silentLog, warn: say, info: say },
    metrics: new Metrics(),
  });
});
afterEach(async () => {
  await file.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Lets time pass, and what runs meanwhile end. */
async function passes(ms: number): Promise<void> {
  for (let passed = 0; passed <= ms; passed += 100) {
    clock.advance(passed === 0 ? 0 : 100);
    await file.settled();
  }
}
const ports = async () => (await loadPeers(folder, own)).kept?.ports;

test('the first change is written at once, those that follow within a second together', async () => {
  source.kept = keptWith('shop/a/tcp-1');
  file.changed();
  await passes(0);
  expect(await ports()).toEqual(['shop/a/tcp-1']);
  for (const port of ['shop/a/tcp-2', 'shop/a/tcp-3']) {
    source.kept = keptWith(port);
    file.changed();
    await passes(100);
  }
  expect(await ports()).toEqual(['shop/a/tcp-1']);
  await passes(900);
  expect(await ports()).toEqual(['shop/a/tcp-3']);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test('its time is that of the last contact, without writing it again', async () => {
  file.changed();
  await passes(0);
  expect((await loadPeers(folder, own)).contactUntil).toBe(1_002_000);
  const { ino } = statSync(path);
  source.hasContact = true;
  await passes(10_000);
  const { contactUntil } = await loadPeers(folder, own);
  expect(contactUntil).toBeGreaterThan(1_004_000);
  source.hasContact = false;
  await passes(60_000);
  expect((await loadPeers(folder, own)).contactUntil).toBe(contactUntil);
  expect(statSync(path).ino).toBe(ino);
});

test('what cannot be written is tried again and told once; closing writes what is left', async () => {
  mkdirSync(join(folder, '.peers.json.new'));
  file.changed();
  for (let i = 0; i < 5; i++) await passes(1_000);
  expect(said).toEqual(['what peers gave cannot be kept on disk; it is tried again']);
  rmSync(join(folder, '.peers.json.new'), { recursive: true });
  await passes(1_000);
  expect(said).toHaveLength(2);
  expect(await ports()).toEqual([]);
  source.kept = keptWith('shop/a/tcp-9');
  file.changed();
  await file.close();
  expect(await ports()).toEqual(['shop/a/tcp-9']);
});

test('nothing is written while what is known is less than what was lost', async () => {
  writeFileSync(path, 'half a fi');
  source.kept = undefined;
  file.changed();
  await passes(5_000);
  expect(readFileSync(path, 'utf8')).toBe('half a fi');
  expect((await loadPeers(folder, own)).fault).toMatch(/peers\.json: expected a checksum/);
  source.kept = keptWith();
  await passes(5_000);
  expect((await loadPeers(folder, own)).fault).toBeUndefined();
});

test('a missing file is no fault, one that cannot be read is', async () => {
  expect(await loadPeers(folder, own)).toEqual({ contactUntil: 0 });
  mkdirSync(path);
  expect((await loadPeers(folder, own)).fault).toContain('peers.json: ');
  chmodSync(path, 0o700);
  rmSync(path, { recursive: true });
});
