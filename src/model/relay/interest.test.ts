import { expect, test } from 'vitest';
import { Interest, type InterestLimits } from './interest.ts';

const limits: InterestLimits = { lingerMs: 60, perCluster: 4, perRelay: 8, total: 6 };
const west = { name: 'west', isRelay: false };
const east = { name: 'east', isRelay: false };
const eu = { name: 'eu', isRelay: true };
const of = (...ports: string[]) => ports.map((port) => [`name of ${port}`, port] as const);
const many = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => `${prefix}${i}`);

test('an asker has its limit by all of its streams, and what it gave up makes room', () => {
  const interest = new Interest(limits);
  const [one, two] = [{}, {}];
  interest.ask(one, west, of('a', 'b'), 0);
  expect(interest.excess(west, ['b', 'c', 'd'])).toBe(0);
  interest.ask(two, west, of('b', 'c', 'd'), 0);
  expect(interest.excess(west, ['a', 'e', 'f'])).toBe(2);
  expect(interest.excess(east, ['a', 'e', 'f'])).toBe(0);
  // A port that another stream of it asks for is not given up.
  interest.giveUp(one, of('a', 'b'), 1);
  expect([...interest.portsFor('')]).toEqual(['a', 'b', 'c', 'd']);
  expect(interest.excess(west, ['e'])).toBe(0);
  expect(interest.ask(one, west, of('e'), 2)).toBe(true);
  expect([...interest.portsFor('')].sort()).toEqual(['b', 'c', 'd', 'e']);
});

test('ports that come and go do not pile up, whatever the linger time', () => {
  const interest = new Interest(limits);
  for (let round = 0; round < 100; round += 1) {
    const stream = {};
    interest.ask(stream, west, of(...many(`r${round}-`, 4)), round / 10);
    interest.end(stream, round / 10);
    expect(interest.portsFor('').size).toBeLessThanOrEqual(4);
  }
  expect(interest.nextDeadline).toBe(9.9 + 60);
  expect(interest.expire(9.9 + 59)).toBe(false);
  expect(interest.expire(9.9 + 60)).toBe(true);
  expect(interest.portsFor('').size).toBe(0);
  expect(interest.nextDeadline).toBeUndefined();
});

test('beyond the limit of all together the longest asked count, and others follow when there is room', () => {
  const interest = new Interest(limits);
  const [one, two] = [{}, {}];
  interest.ask(one, west, of(...many('w', 4)), 0);
  interest.ask(two, east, of(...many('e', 4)), 5);
  expect([...interest.portsFor('')]).toEqual(['w0', 'w1', 'w2', 'w3', 'e0', 'e1']);
  expect(interest.since('e3', '')).toBe(5);
  expect([...interest.allFor('')]).toHaveLength(8);
  interest.end(one, 10);
  interest.expire(70);
  expect([...interest.portsFor('')]).toEqual(many('e', 4));
});

test('a relay is not asked for what only it asks for, also where a cluster has its name', () => {
  const interest = new Interest(limits);
  interest.ask({}, eu, of('a', 'b'), 0);
  interest.ask({}, { name: 'eu', isRelay: false }, of('b'), 3);
  expect([...interest.portsFor('eu')]).toEqual(['b']);
  expect(interest.since('a', 'eu')).toBeUndefined();
  expect(interest.since('b', 'eu')).toBe(3);
  expect(interest.since('b', 'us')).toBe(0);
});
