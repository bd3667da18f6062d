import { afterEach, expect, test } from 'vitest';
import { onStop } from './stop-signal.ts';

const names = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const before = new Map(names.map((name) => [name, process.listeners(name)]));
afterEach(() => {
  for (const name of names) {
    for (const listener of process.listeners(name)) {
      if (!before.get(name)?.includes(listener)) process.off(name, listener);
    }
  }
});

test('a Ctrl-C that arrives twice is one, a later one ends at once', () => {
  let now = 0;
  const calls: string[] = [];
  onStop(() => calls.push('stop'), { now: () => now, exit: () => calls.push('exit') });
  process.emit('SIGINT');
  now = 300;
  process.emit('SIGINT');
  expect(calls).toEqual(['stop']);
  now = 1_500;
  process.emit('SIGTERM');
  expect(calls).toEqual(['stop', 'exit']);
});
