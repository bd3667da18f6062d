import { expect, test } from 'vitest';
import { namespaceFor } from './exec.ts';

test('a place is found by cluster, node, pod or its own name', () => {
  const names = ['client', 'east', 'east-client', 'east-e1', 'east-store-0', 'hub', 'wan'];
  expect(namespaceFor('east', names)).toBe('east-client');
  expect(namespaceFor('east/e1', names)).toBe('east-e1');
  expect(namespaceFor('east/store-0', names)).toBe('east-store-0');
  expect(namespaceFor('client', names)).toBe('client');
  expect(namespaceFor('hub', names)).toBe('hub');
  expect(namespaceFor('north', names)).toBeUndefined();
});
