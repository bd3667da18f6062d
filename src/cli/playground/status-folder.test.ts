import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { FileStatus } from '../../outputs/status/file-status.ts';
import { ManualClock } from '../../runtime/clock.ts';
import { compositeStates } from './status-folder.ts';

const folder = mkdtempSync(join(tmpdir(), 'causeway-'));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('what a controller writes about a composite is read back', async () => {
  expect(compositeStates(folder, 'shop', 'store')).toEqual({});
  const output = new FileStatus({
    stateFolder: folder,
    controllerName: 'causeway.dev/gateway-controller',
    clock: new ManualClock(),
    onDue: () => {},
  });
  await output.update('CompositeBackend/shop/store', {
    ref: { kind: 'CompositeBackend', namespace: 'shop', name: 'store' },
    apiVersion: 'causeway.dev/v1alpha1',
    generation: 1,
    status: {
      clusters: [
        { name: 'east', state: 'Synced' },
        { name: 'west', state: 'Stale' },
      ],
    },
  });
  output.close();
  expect(compositeStates(folder, 'shop', 'store')).toEqual({ east: 'Synced', west: 'Stale' });
});
