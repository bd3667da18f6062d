import { expect, test } from 'vitest';
import { once, percentile, spreadOf } from './spread.ts';

test('a percentile is a value that was measured: the nearest rank', () => {
  const hundred = Array.from({ length: 100 }, (_, i) => 100 - i);
  expect([0, 0.01, 0.5, 0.99, 1].map((q) => percentile(hundred, q))).toEqual([1, 1, 50, 99, 100]);
  expect(percentile([7], 0.99)).toBe(7);
  expect(() => percentile([], 0.5)).toThrow('at least one');
});

test('a spread shows the percentile that was asked for, and what is around it', () => {
  expect(spreadOf([3, 1, 2])).toEqual({ value: 2, min: 1, median: 2, max: 3, count: 3 });
  expect(spreadOf([3, 1, 2], 1).value).toBe(3);
  expect(once(5)).toEqual({ value: 5, min: 5, median: 5, max: 5, count: 1 });
});
