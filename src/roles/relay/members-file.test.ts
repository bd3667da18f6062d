import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ManualClock } from '../../runtime/clock.ts';
import { type Log, silentLog } from '../../runtime/log.ts';
import { MembersFile, parseMembers } from './members-file.ts';

let dir: string;
let path: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'causeway-members-'));
  path = join(dir, 'members.yaml');
});
afterEach(() => rmSync(dir, { recursive: true }));

test('the list is read, what is wrong is named', () => {
  expect(parseMembers('members:\n- cluster: east\n- cluster: west\n  note: x\n')).toEqual(
    new Set(['east', 'west']),
  );
  expect(parseMembers('members: []')).toEqual(new Set());
  const wrong: [string, string][] = [
    ['', 'members: expected a list, found none'],
    ['- a', 'members: expected a list, found none'],
    ['members: {a: b}', 'members: expected a list, found {"a":"b"}'],
    ['members: [west]', 'members[0].cluster: expected a DNS label, found none'],
    ['members: [{cluster: A.b}]', 'members[0].cluster: expected a DNS label, found "A.b"'],
    [
      'members: [{cluster: a}, {cluster: a}]',
      'members[1].cluster: expected each cluster once, found a again',
    ],
    ['members: [', 'Flow sequence'],
  ];
  for (const [text, error] of wrong) {
    expect(parseMembers(text), text).toEqual({ error: expect.stringContaining(error) });
  }
  const bomb = `a: &a [x,x,x,x,x,x,x,x,x]\n${[...'bcdefgh'].map((k, i) => `${k}: &${k} [${Array(9).fill(`*${'abcdefg'[i]}`).join(',')}]`).join('\n')}\nmembers: *h\n`;
  expect(parseMembers(bomb)).toHaveProperty('error');
  fc.assert(fc.property(fc.string(), (text) => void parseMembers(text)));
});

test('the file is followed; what cannot be used keeps the last good list', () => {
  const clock = new ManualClock();
  const lists: string[][] = [];
  const warnings: string[] = [];
  const log: Log = {
    ...silentLog,
    warn: (fields) => void warnings.push((fields as { error: string }).error),
  };
  const file = new MembersFile({ path, clock, log, onList: (c) => void lists.push([...c]) });
  clock.advance(2_000);
  expect(lists).toEqual([]);
  expect(warnings).toHaveLength(1);

  writeFileSync(path, 'members: [{cluster: east}, {cluster: west}]');
  clock.advance(1_000);
  expect(lists).toEqual([['east', 'west']]);
  writeFileSync(path, 'members: [{cluster: east}, {clu');
  clock.advance(2_000);
  rmSync(path);
  clock.advance(2_000);
  expect(lists).toHaveLength(1);
  expect(warnings).toHaveLength(3);
  writeFileSync(path, 'members: [{cluster: east}]');
  clock.advance(1_000);
  expect(lists.at(-1)).toEqual(['east']);
  file.close();
  writeFileSync(path, 'members: []');
  clock.advance(5_000);
  expect(lists).toHaveLength(2);
});

test('half a file that reads as a shorter list takes nobody away', () => {
  const clock = new ManualClock();
  const lists: string[][] = [];
  writeFileSync(path, 'members:\n- cluster: east\n- cluster: west\n');
  const file = new MembersFile({ path, clock, log: silentLog, onList: (c) => void lists.push([...c]) });
  writeFileSync(path, 'members:\n- cluster: east\n');
  clock.advance(500);
  writeFileSync(path, 'members:\n- cluster: east\n- cluster: west\n- cluster: north\n');
  clock.advance(2_000);
  expect(lists).toEqual([
    ['east', 'west'],
    ['east', 'west', 'north'],
  ]);
  file.close();
});
