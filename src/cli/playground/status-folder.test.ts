import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FileStatus } from '../../outputs/status/file-status.ts';
import { ManualClock } from '../../runtime/clock.ts';
import { compositeStates, gatewayState } from './status-folder.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'causeway-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function write(kind: string, status: Record<string, unknown>): Promise<void> {
  const output = new FileStatus({
    stateFolder: folder,
    controllerName: 'causeway.dev/gateway-controller',
    clock: new ManualClock(),
    onDue: () => {},
  });
  await output.update(`${kind}/shop/store`, {
    ref: { kind, namespace: 'shop', name: 'store' },
    apiVersion: 'causeway.dev/v1alpha1',
    generation: 1,
    status,
  });
  output.close();
}

test('what a controller writes about a composite is read back', async () => {
  expect(compositeStates(folder, 'shop', 'store')).toEqual({});
  const clusters = [
    { name: 'east', state: 'Synced' },
    { name: 'west', state: 'Stale' },
  ];
  await write('CompositeBackend', { clusters });
  expect(compositeStates(folder, 'shop', 'store')).toEqual({ east: 'Synced', west: 'Stale' });
});

test('what a controller writes about a Gateway is read back', async () => {
  expect(gatewayState(folder, 'shop', 'store').programmed).toBe(false);
  await write('Gateway', {
    addresses: [{ type: 'IPAddress', value: '10.96.1.2' }],
    conditions: [{ type: 'Programmed', status: 'True', reason: 'Programmed', message: 'on 2 of 2 nodes' }],
  });
  expect(gatewayState(folder, 'shop', 'store')).toEqual({
    programmed: true,
    message: 'Programmed: on 2 of 2 nodes',
    addresses: ['10.96.1.2'],
  });
});
