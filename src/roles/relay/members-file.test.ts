import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readTexts } from '../../runtime/followed-file.ts';
import { parseMembers } from './members-file.ts';

const parse = (text: string) => parseMembers(readTexts(text));

test('the list is read, what is wrong is named', () => {
  expect(parse('members:\n- cluster: east\n- cluster: west\n  note: x\n')).toEqual({
    list: { clusters: new Set(['east', 'west']), relays: new Map() },
    revoked: [],
  });
  // A cluster that dials in here may be delegated as well.
  const delegating =
    'members: [{cluster: west}, {relay: eu, clusters: [west, north]}, {relay: us, clusters: []}]';
  expect(parse(delegating).list).toEqual({
    clusters: new Set(['west']),
    relays: new Map([
      ['eu', new Set(['west', 'north'])],
      ['us', new Set()],
    ]),
  });
  expect(parse('members: []\nrevoked: [{serial: 0A:0b}]')).toEqual({
    list: { clusters: new Set(), relays: new Map() },
    revoked: [{ serial: 'a0b' }],
  });
  const wrong: [string, string][] = [
    ['', 'members: expected a list, found none'],
    ['- a', 'members: expected a list, found none'],
    ['members: {a: b}', 'members: expected a list, found {"a":"b"}'],
    [
      'members: [{clster: west}]',
      'members[0].clster: expected one of the fields cluster, note, found "clster"',
    ],
    [
      'members: [{cluster: west, clusters: [east]}]',
      'members[0].clusters: expected one of the fields cluster, note, found',
    ],
    ['members: [{relay: eu, cluster: eu, cluters: []}]', 'members[0].cluters: expected one of'],
    ['members: []\nrevokd: []', 'revokd: expected one of the fields members, revoked, found "revokd"'],
    ['members: [west]', 'members[0].cluster: expected a DNS label, found none'],
    ['members: [{cluster: A.b}]', 'members[0].cluster: expected a DNS label, found "A.b"'],
    ['members: [{cluster: a}, {cluster: a}]', 'members[1].cluster: expected each name once, found "a"'],
    ['members: [{relay: eu}]', 'members[0].clusters: expected a list, found none'],
    ['members: [{relay: e_u, clusters: []}]', 'members[0].relay: expected a DNS label, found "e_u"'],
    [
      'members: [{relay: eu, cluster: eu, clusters: []}]',
      'members[0]: expected a cluster or a relay, found {',
    ],
    ['members: [{relay: eu, clusters: [a, B]}]', 'members[0].clusters[1]: expected a DNS label, found "B"'],
    [
      'members: [{relay: eu, clusters: [a, a]}]',
      'members[0].clusters[1]: expected each name once, found "a"',
    ],
    [
      'members: [{relay: eu, clusters: []}, {relay: eu, clusters: []}]',
      'members[1].relay: expected each name once, found "eu"',
    ],
    ['members: []\nrevoked: [{}]', 'revoked[0]: expected a serial or a cluster, found none'],
    ['members: [', 'line 1 is not YAML: expected the closing } or ], found the end of the file'],
  ];
  for (const [text, error] of wrong) {
    expect(() => parse(text), text).toThrow(error);
  }
  const bomb = `a: &a [x,x,x,x,x,x,x,x,x]\n${[...'bcdefgh'].map((k, i) => `${k}: &${k} [${Array(9).fill(`*${'abcdefg'[i]}`).join(',')}]`).join('\n')}\nmembers: *h\n`;
  expect(() => parse(bomb)).toThrow();
  const isUsage = (text: string): boolean => {
    try {
      return parse(text) !== undefined;
    } catch (error) {
      return error instanceof Error;
    }
  };
  fc.assert(fc.property(fc.string(), isUsage));
});
