import { expect, test } from 'vitest';
import { bestWay, type Way } from './ways.ts';

const way = (relay: string, over: Partial<Way> = {}): Way => ({
  relay,
  epoch: 1_000,
  sequence: 5,
  sentAt: 20_000,
  path: [relay],
  isWhole: true,
  ...over,
});

test('of two ways the later life counts, then what knows more, what is heard, what is near, and the name', () => {
  const best = (...ways: Way[]) => {
    const chosen = bestWay(ways);
    expect(bestWay([...ways].reverse())).toBe(chosen);
    return chosen?.relay;
  };
  expect(bestWay([])).toBeUndefined();
  expect(best(way('a', { sequence: 9 }), way('b', { epoch: 2_000, sequence: 1 }))).toBe('b');
  expect(best(way('a', { path: [] }), way('b', { sequence: 6 }))).toBe('b');
  expect(best(way('a', { path: [], sentAt: 13_000 }), way('b'))).toBe('b');
  expect(best(way('a', { path: ['c', 'a'] }), way('b', { sentAt: 15_000 }))).toBe('b');
  expect(best(way('b'), way('a'))).toBe('a');
  expect(bestWay([way('a', { isWhole: false }), way('a')])?.isWhole).toBe(true);
});
