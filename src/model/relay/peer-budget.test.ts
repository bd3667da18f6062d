import { expect, test } from 'vitest';
import { PeerBudget } from './peer-budget.ts';

test('what is over a limit is refused, what is there stays and may change', () => {
  const budget = new PeerBudget({ names: 2, bytes: 100, endpointsPerShard: 10, rate: 10, burst: 5 }, 0);
  expect(budget.admit('a', 40)).toBeUndefined();
  expect(budget.admit('b', 40)).toBeUndefined();
  expect(budget.admit('c', 1)).toMatchObject({ reason: 'limit' });
  expect(budget.admit('a', 70)).toMatchObject({ reason: 'limit' });
  expect(budget.admit('a', 60)).toBeUndefined();
  expect(budget.bytes).toBe(100);
  budget.release('b');
  expect(budget.admit('c', 40)).toBeUndefined();
  expect([budget.names, budget.bytes]).toEqual([2, 100]);
});

test('a peer that sends faster than its rate is read later, not refused', () => {
  const budget = new PeerBudget({ names: 2, bytes: 1, endpointsPerShard: 1, rate: 10, burst: 5 }, 0);
  expect(budget.delayAfter(5, 0)).toBe(0);
  expect(budget.delayAfter(1, 0)).toBe(100);
  expect(budget.delayAfter(1, 1_000)).toBe(0);
});
