import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { adminOf, namespaceFor, programOf } from './exec.ts';

test('a place is found by cluster, node, pod or its own name', () => {
  const names = ['client', 'east', 'east-client', 'east-e1', 'east-store-0', 'hub', 'wan'];
  expect(namespaceFor('east', names)).toBe('east-client');
  expect(namespaceFor('east/e1', names)).toBe('east-e1');
  expect(namespaceFor('east/store-0', names)).toBe('east-store-0');
  expect(namespaceFor('client', names)).toBe('client');
  expect(namespaceFor('hub', names)).toBe('hub');
  expect(namespaceFor('north', names)).toBeUndefined();
});

test('commands that ask a controller find that of their cluster', () => {
  expect(adminOf('east-client')).toEqual({ CAUSEWAY_CONTROLLER_ADMIN: '172.18.1.100:9101' });
  expect(adminOf('west-w1')).toEqual({ CAUSEWAY_CONTROLLER_ADMIN: '172.18.2.100:9101' });
  expect(adminOf('client')).toEqual({});
});

test('causeway is this program, everything else is what it is called', () => {
  expect(programOf(['curl', 'causeway'])).toEqual(['curl', 'causeway']);
  const [node, program, ...rest] = programOf(['causeway', 'explain', 'x']);
  expect([node, rest]).toEqual([process.execPath, ['explain', 'x']]);
  expect(existsSync(program ?? '')).toBe(true);
});
