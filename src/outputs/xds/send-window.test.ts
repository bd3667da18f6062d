import { expect, test } from 'vitest';
import { SendBudget, SendWindow } from './send-window.ts';

function stream(budget: SendBudget, bytes = 10) {
  const writes: (() => void)[] = [];
  let drained = 0;
  const window = new SendWindow({
    budget,
    bytes,
    write: (_message, done) => writes.push(done),
    drained: () => {
      drained += 1;
    },
  });
  return { window, done: () => writes.shift()?.(), drained: () => drained };
}

test('a stream waits while much of it is on its way', () => {
  const { window, done, drained } = stream(new SendBudget(1000));
  expect(window.send(Buffer.alloc(6))).toBe(true);
  expect(window.send(Buffer.alloc(6))).toBe(false);
  expect(drained()).toBe(0);
  done();
  expect(drained()).toBe(1);
  done();
  expect(drained()).toBe(1);
});

test('all streams together wait while the budget is spent, and go on in turn', () => {
  const budget = new SendBudget(20);
  const [a, b, c] = [stream(budget, 100), stream(budget, 100), stream(budget, 100)];
  expect(a.window.send(Buffer.alloc(15))).toBe(true);
  expect(b.window.send(Buffer.alloc(15))).toBe(false);
  expect(c.window.send(Buffer.alloc(15))).toBe(false);
  b.done();
  expect([b.drained(), c.drained()]).toEqual([0, 0]);
  a.done();
  expect([b.drained(), c.drained()]).toEqual([1, 1]);
});

test('a stream that ends gives back what it held', () => {
  const budget = new SendBudget(10);
  const [a, b] = [stream(budget, 100), stream(budget, 100)];
  expect(a.window.send(Buffer.alloc(10))).toBe(false);
  expect(b.window.send(Buffer.alloc(1))).toBe(false);
  a.window.close();
  a.window.close();
  a.done();
  expect([a.drained(), b.drained()]).toEqual([0, 1]);
  b.done();
  expect(budget.isSpent).toBe(false);
  budget.take(10);
  expect(budget.isSpent).toBe(true);
});
