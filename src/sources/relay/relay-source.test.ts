import { expect, test } from 'vitest';
import { ManualClock } from '../../runtime/clock.ts';
import { AppError } from '../../runtime/errors.ts';
import { silentLog } from '../../runtime/log.ts';
import { Metrics } from '../../runtime/metrics.ts';
import { RelaySource } from './relay-source.ts';

test('of a relay that is not heard it is told why its link ended last', () => {
  const source = new RelaySource({
    set: 'demo',
    cluster: 'east',
    relays: ['a:1', 'b:1'],
    clock: new ManualClock(),
    log: silentLog,
    metrics: new Metrics(),
    onChanges: () => undefined,
    earlier: { contactUntil: 0, isLost: false },
  });
  const [a] = source.links;
  a?.closed(new AppError('E_UNREACHABLE', 'refused'));
  a?.closed(new AppError('E_PEER_IDENTITY', 'east is not on the list of members'));
  expect(source.states).toEqual([
    { relay: 'a:1', connected: false, error: 'E_PEER_IDENTITY: east is not on the list of members' },
    { relay: 'b:1', connected: false },
  ]);
  source.close();
});
