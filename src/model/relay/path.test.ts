import { expect, test } from 'vitest';
import { refusedPath } from './path.ts';

test('what comes round or comes too far stops', () => {
  expect(refusedPath([], 'hub')).toBeUndefined();
  expect(refusedPath(['eu'], 'hub')).toBeUndefined();
  expect(refusedPath(['hub', 'eu'], 'hub')).toMatchObject({ reason: 'loop' });
  expect(refusedPath(['a', 'b', 'c', 'd', 'e'], 'hub')).toBeUndefined();
  expect(refusedPath(['a', 'b', 'c', 'd', 'e', 'f'], 'hub')).toMatchObject({ reason: 'hops' });
});
