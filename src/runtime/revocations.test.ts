import { expect, test } from 'vitest';
import { readTexts } from './followed-file.ts';
import type { PeerIdentity } from './identity.ts';
import { parseRevocations, parseSerial, revocationOf } from './revocations.ts';

const parse = (yaml: string) => parseRevocations(readTexts(yaml));
const from = Date.parse('2026-01-01T00:00:00Z');
const west = (over: Partial<PeerIdentity> = {}, serial = '5f3a') => ({
  serial,
  from,
  identity: {
    set: 'demo',
    cluster: 'west',
    role: 'controller',
    labels: {},
    namespaces: [],
    region: '',
    network: '',
    ...over,
  } as PeerIdentity,
});

test('serial numbers are read as openssl, browsers and we print them', () => {
  for (const text of ['5F3A', '5f:3a', '0x5f3a', '005F:3A']) expect(parseSerial(text), text).toBe('5f3a');
  expect(parseSerial('00')).toBe('0');
  for (const text of ['', '0x', 'xyz', '5f 3a', 'f'.repeat(41), '-1']) {
    expect(parseSerial(text), text).toBeUndefined();
  }
});

test('a serial number is text, whatever YAML makes of such digits', () => {
  // As numbers: Infinity, 0, an integer that no double holds.
  expect(parse('- serial: 41234e123456\n- serial: 0e12\n- serial: 40000000000000000000000000000001')).toEqual(
    [{ serial: '41234e123456' }, { serial: 'e12' }, { serial: '40000000000000000000000000000001' }],
  );
});

test('an entry means the certificates that match all it says', () => {
  const list = parse(`
- serial: 5F:3A
- {cluster: north}
- {cluster: west, role: agent, node: w1, reason: the node was stolen}
- {cluster: west, issuedBefore: 2026-01-01T01:00:00+01:00}
- {cluster: east, issuedBefore: 2026-01-01T00:00:01Z}
`);
  const isRevoked = (...of: Parameters<typeof west>) => revocationOf(list, west(...of)) !== undefined;
  expect(isRevoked()).toBe(true);
  expect(isRevoked({}, '5f3b')).toBe(false);
  expect(isRevoked({ cluster: 'north' }, '1')).toBe(true);
  expect(isRevoked({ role: 'agent', node: 'w1' }, '1')).toBe(true);
  expect(isRevoked({ role: 'agent', node: 'w2' }, '1')).toBe(false);
  expect(isRevoked({ role: 'dns' }, '1')).toBe(false);
  // Valid from exactly that time: of west not before it, of east before it.
  expect(isRevoked({ cluster: 'east' }, '1')).toBe(true);
});

test('an entry that is not understood is refused, since it would revoke less than was meant', () => {
  expect(parse('')).toEqual([]);
  const wrong: [string, string][] = [
    ['a: b', 'revoked: expected a list, found {"a":"b"}'],
    ['[x]', 'revoked[0]: expected fields, found "x"'],
    ['[{role: agent}]', 'revoked[0]: expected a serial or a cluster, found none'],
    ['[{serial: xyz}]', 'revoked[0].serial: expected up to 40 hexadecimal digits, found "xyz"'],
    ['[{cluster: A}]', 'revoked[0].cluster: expected a DNS label, found "A"'],
    [
      '[{cluster: a, nodes: b}]',
      'revoked[0]: expected serial, cluster, role, node, issuedBefore, reason, found "nodes"',
    ],
    [
      '[{cluster: a, role: king}]',
      'revoked[0].role: expected controller, relay, agent, dns, proxy, admin, found "king"',
    ],
    ['[{cluster: a}, {cluster: a, issuedBefore: yesterday}]', 'revoked[1].issuedBefore: expected a time'],
    ['[{cluster: a, issuedBefore: 2026-01-01}]', 'revoked[0].issuedBefore: expected a time'],
  ];
  for (const [yaml, message] of wrong) expect(() => parse(yaml), yaml).toThrow(message);
});
