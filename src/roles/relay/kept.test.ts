import { beforeEach, expect, test } from 'vitest';
import { formatKeptPeers, type KeptPeers, parseKeptPeers } from '../../sources/relay/kept-peers.ts';
import { addresses, type Consumer, identity, RelayMemoryBed } from './memory-bed.ts';
import type { TestHub } from './memory-relay.ts';
import { store, storePort } from './test-bed.ts';

const cartPort = 'shop/cart/tcp-80';
const own = { set: 'demo', cluster: 'east' };

let bed: RelayMemoryBed;
let hub: TestHub;
beforeEach(() => {
  bed = new RelayMemoryBed();
  hub = bed.hub('east', 'west');
});

/** What an earlier process leaves, through its file. */
function left(by: Consumer): KeptPeers {
  const read = parseKeptPeers(formatKeptPeers(by.source.kept as KeptPeers), own);
  if (typeof read === 'string') throw new Error(read);
  return read;
}

async function west(...exported: Parameters<ReturnType<RelayMemoryBed['publisher']>['export']>) {
  const publisher = bed.publisher(identity('west'), { epoch: 1 }).export(...exported);
  publisher.link(hub);
  bed.publisher(identity('east')).export().link(hub);
  await bed.settle();
  return publisher;
}

const alone = (kept: KeptPeers | undefined, contactUntil = 0, ports?: readonly string[]): Consumer =>
  bed.restarted(identity('east'), { ...(kept ? { kept } : {}), contactUntil, isLost: false }, ports);

test('design kept: after a restart with relay and peers away the same is in force, at once and Stale', async () => {
  await west(store(addresses(350)), store(['10.9.0.1'], { composite: 'cart' }));
  const before = bed.consumer(identity('east'), storePort, cartPort).link(hub);
  await bed.settle();
  const contributions = new Map(before.contributions);
  const synced = before.origins.get('west');
  const kept = left(before);
  const contactUntil = bed.clock.now() + 2_000;
  bed.clock.advance(60_000);

  const after = alone(kept, contactUntil);
  expect(after.contributions).toEqual(contributions);
  expect(after.imports).toEqual(
    new Map([
      [storePort, true],
      [cartPort, true],
    ]),
  );
  const origin = { ...synced, state: 'Stale', staleSince: contactUntil };
  expect(after.origins.get('west')).toEqual(origin);
  // What is not imported any more goes; what is stays whatever time passes.
  after.source.setImports(new Set([storePort]));
  bed.clock.advance(3_600_000);
  expect(after.get()).toEqual(before.get());
  expect(after.losses()).toEqual([`Contribution ${cartPort}/west`]);
  expect(after.origins.get('west')).toEqual(origin);
});

test('design kept: restarts do not start the clock of expireAfter anew, and a clock that steps does not stop it', async () => {
  const publisher = await west(store(['10.1.0.1']));
  const first = bed.consumer(identity('east'), storePort).link(hub);
  await bed.settle();
  publisher.stop();
  bed.clock.advance(20_000);
  await bed.settle();
  const stale = first.origins.get('west');
  expect(stale?.state).toBe('Stale');
  let kept = left(first);
  for (let i = 0; i < 3; i++) {
    bed.clock.advance(100_000);
    const next = alone(kept, bed.clock.now(), [storePort]);
    // The relay repeats the last status that it heard: no contact.
    next.link(hub);
    await bed.settle();
    expect(next.origins.get('west')).toEqual(stale);
    expect(next.losses()).toEqual([]);
    // The file is on the wall clock, the process is not.
    bed.clock.setWall(i === 1 ? -7_200_000 : 3_600_000);
    kept = left(next);
    expect(kept.staleSince.get('west')).toBe((stale?.staleSince ?? 0) + bed.clock.wall() - bed.clock.now());
  }
  const future = bed.clock.now() + 3_600_000;
  const ahead = alone({ ...kept, staleSince: new Map([['west', future]]) }, future);
  expect(ahead.origins.get('west')?.staleSince).toBe(bed.clock.now());
  const unsaid = alone({ ...kept, staleSince: new Map() }, future);
  expect(unsaid.origins.get('west')?.staleSince).toBe(bed.clock.now());
});

test('design kept: what was gone while it was away goes with the relay’s word, what stayed is not sent again', async () => {
  const publisher = await west(store(addresses(350)), store(['10.9.0.1'], { composite: 'cart' }));
  const before = bed.consumer(identity('east'), storePort, cartPort).link(hub);
  await bed.settle();
  const kept = left(before);
  before.unlink();
  publisher.export(store(addresses(350)));
  await bed.settle();
  const after = alone(kept, 0, [storePort, cartPort]);
  expect(after.get(cartPort)).toEqual({ west: ['10.9.0.1'] });
  after.link(hub);
  await bed.settle();
  expect(after.get(cartPort)).toEqual({});
  expect(after.get()).toEqual(before.get());
  bed.clock.advance(2_000);
  await bed.settle();
  expect(after.origins.get('west')).toMatchObject({ state: 'Synced', staleSince: 0 });
  expect(after.losses()).toEqual([`Contribution ${cartPort}/west`]);
  const size = (by: Consumer) => Buffer.concat(by.bytes).length;
  expect(size(after)).toBeLessThan(size(before) / 5);

  // Taken off the list of members while it was away: an explicit removal.
  const last = left(after);
  after.unlink();
  hub.members('east');
  await bed.settle();
  const later = alone(last, 0, [storePort]).link(hub);
  await bed.settle();
  expect(later.get()).toEqual({});
  expect(later.origins.size).toBe(0);
});

test('design kept: relay and consumer restart together while the member is away: nothing is lost', async () => {
  const publisher = await west(store(['10.1.0.1']));
  const before = bed.consumer(identity('east'), storePort).link(hub);
  await bed.settle();
  publisher.stop();
  const next = bed.hub('east', 'west');
  bed.publisher(identity('east')).export().link(next);
  const after = alone(left(before), bed.clock.now(), [storePort]).link(next);
  await bed.settle();
  bed.clock.advance(15_000);
  await bed.settle();
  expect(after.get()).toEqual({ west: ['10.1.0.1'] });
  expect(after.origins.get('west')?.state).toBe('Stale');
  expect(after.losses()).toEqual([]);
  // It comes with less: only now does what it gave go.
  bed.publisher(identity('west')).export().link(next);
  await bed.settle();
  expect(after.get()).toEqual({});
});

test('what a relay told counts as well when it has another address', async () => {
  await west(store(['10.1.0.1']));
  const before = bed.consumer(identity('east'), storePort).link(hub);
  await bed.settle();
  bed.relays = ['other:1'];
  const after = alone(left(before), 0, [storePort]);
  expect(after.get()).toEqual({ west: ['10.1.0.1'] });
  after.link(hub);
  await bed.settle();
  expect(after.get()).toEqual({ west: ['10.1.0.1'] });
  expect(after.losses()).toEqual([]);
});

test('design startup: a controller that never reached its relay serves its own endpoints, and learns the rest later', async () => {
  const fresh = alone(undefined, 0, [storePort]);
  expect(fresh.imports.get(storePort)).toBe(false);
  bed.clock.advance(3_000);
  const last = () => fresh.changes.filter((c) => c.kind === 'Import').at(-1)?.value;
  expect(last()).toEqual({ complete: true, unanswered: true });
  // A restart on the way does not wait again.
  const again = alone(left(fresh));
  expect(again.changes).toContainEqual({
    kind: 'Import',
    key: storePort,
    value: { complete: true, unanswered: true },
  });
  await west(store(['10.1.0.1']));
  fresh.link(hub);
  await bed.settle();
  expect(last()).toEqual({ complete: true });
  expect(fresh.get()).toEqual({ west: ['10.1.0.1'] });
});

test('design withheld: with a lost file what is imported from the start waits for a relay, what is new does not', async () => {
  const lost = bed.restarted(identity('east'), { contactUntil: 0, isLost: true });
  expect(lost.source.kept).toBeUndefined();
  lost.source.setImports(new Set([storePort]));
  bed.clock.advance(60_000);
  lost.source.setImports(new Set([storePort, cartPort]));
  bed.clock.advance(60_000);
  expect(lost.imports).toEqual(
    new Map([
      [storePort, false],
      [cartPort, true],
    ]),
  );
  // Nothing is written over it before all of it is known again.
  expect(lost.source.kept).toBeUndefined();
  await west(store(['10.1.0.1']));
  lost.link(hub);
  await bed.settle();
  expect(lost.imports.get(storePort)).toBe(true);
  expect(left(lost).ports).toEqual([cartPort, storePort]);
});

test('a part that had not come whole is not kept, and what a file claims of ourselves or of strangers is not used', async () => {
  await west(store(addresses(350)));
  const before = bed.consumer(identity('east'), storePort).link(hub);
  await bed.settle();
  const kept = left(before);
  const [link] = kept.links.values();
  const told = link?.resources ?? [];
  expect(told.length).toBeGreaterThan(3);
  const swapped = told.map(({ name, version, body }) => ({
    name: name.replace(/west(\.\d+)?$/, 'east'),
    version,
    body,
  }));
  const resources = [...swapped, { name: 'x', version: '1', body: Buffer.from('y') }];
  const origins = [{ cluster: 'west', body: Buffer.from([255, 255, 255]), isGone: false }];
  const after = alone({ ...kept, links: new Map([['hub:1', { resources, origins }]]) });
  expect(after.contributions.size).toBe(0);
  expect(after.origins.size).toBe(0);
  after.source.setImports(new Set([storePort]));
  after.link(hub);
  await bed.settle();
  expect(after.get()).toEqual(before.get());
});
