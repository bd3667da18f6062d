import { beforeEach, expect, test } from 'vitest';
import { interestLimits } from '../../model/relay/interest.ts';
import { contributionGlob } from '../../model/relay/names.ts';
import { DeltaServerStream } from '../../outputs/xds/delta-server-stream.ts';
import type { View } from '../../outputs/xds/view.ts';
import type { PeerIdentity } from '../../runtime/identity.ts';
import { decodeDeltaRequest, decodeDeltaResponse, encodeDeltaRequest } from '../../wire/proto/discovery.ts';
import { typeUrls } from '../../wire/proto/type-urls.ts';
import { identity, RelayMemoryBed } from './memory-bed.ts';
import type { TestHub } from './memory-relay.ts';
import { store, storePort } from './test-bed.ts';

let bed: RelayMemoryBed;
beforeEach(() => {
  bed = new RelayMemoryBed();
});

/** west and north at eu, east at us, both under root; north reads what east exports. */
async function tree() {
  const root = bed.relay('root', { relays: { eu: ['west', 'north'], us: ['east'] } });
  const eu = bed.relay('eu', { clusters: ['west', 'north'] }, ['root']);
  const us = bed.relay('us', { clusters: ['east'] }, ['root']);
  eu.dial(root, bed.net, identity('eu', { role: 'relay' }));
  us.dial(root, bed.net, identity('us', { role: 'relay' }));
  for (const cluster of ['west', 'north']) bed.publisher(identity(cluster)).export().link(eu);
  const east = bed
    .publisher(identity('east'))
    .export(store(['10.1.0.1']))
    .link(us);
  await bed.settle();
  const north = bed.consumer(identity('north'), storePort).link(eu);
  await bed.settle();
  return { eu, east, north };
}

/** A stream that asks for ports of these namespaces; `gone`: names that it was told do not exist. */
function asker({ hub }: TestHub, peer: PeerIdentity) {
  const view = hub.viewFor(peer) as View;
  const gone: string[] = [];
  const stream = new DeltaServerStream({
    log: view.log ?? hub.log,
    view,
    send: (message) => {
      gone.push(...decodeDeltaResponse(message).removals);
      return true;
    },
    fail: () => {},
  });
  const ask = (ports: readonly string[]): void =>
    stream.receive(
      encodeDeltaRequest({
        typeUrl: typeUrls.cluster,
        subscribe: ports.map((port) => contributionGlob('demo', 'cluster', port)),
        unsubscribe: [],
        initialVersions: new Map(),
        nonce: '',
      }),
    );
  return { stream, ask, gone };
}

const ports = (count: number, namespace: string, prefix = 'p'): string[] =>
  Array.from({ length: count }, (_, i) => `${namespace}/${prefix}${i}/tcp-80`);

const asked = ({ bytesToParents }: TestHub): number =>
  bytesToParents.reduce((sum, message) => sum + decodeDeltaRequest(message).subscribe.length, 0);

test('what a member asks for of foreign namespaces is not asked of relays above, and is answered as empty', async () => {
  const { eu, east, north } = await tree();
  const before = asked(eu);
  const hostile = identity('west', { namespaces: ['only-this'] });
  const streams = [0, 1, 2].map((i) => {
    const made = asker(eu, hostile);
    made.ask(ports(40_000, 'not-this', `s${i}-`));
    return made;
  });
  await bed.settle();
  expect(asked(eu)).toBe(before);
  for (const { gone } of streams) expect(gone).toHaveLength(40_000);
  streams[0]?.ask(['only-this/a/tcp-80']);
  await bed.settle();
  expect(asked(eu)).toBe(before + 3);
  expect(eu.isDialling('root')).toBe(true);
  east.export(store(['10.1.0.2']));
  await bed.settle();
  expect(north.get()).toEqual({ east: ['10.1.0.2'] });
}, 120_000);

test('a member that asks for more ports than one may has its stream ended, and its relay goes on', async () => {
  const { eu, east, north } = await tree();
  const before = asked(eu);
  const { perCluster, total } = interestLimits;
  const hostile = asker(eu, identity('west'));
  hostile.ask(ports(perCluster, 'a'));
  expect(() => hostile.ask(ports(perCluster, 'b'))).toThrow(`asks for ${perCluster} more ports`);
  hostile.stream.close();
  // It comes back with other ones, again and again.
  for (const namespace of ['c', 'd', 'e']) {
    const again = asker(eu, identity('west'));
    again.ask(ports(perCluster, namespace));
    again.stream.close();
    await bed.settle();
  }
  expect(asked(eu) - before).toBeGreaterThan(perCluster);
  for (const message of eu.bytesToParents) {
    expect(decodeDeltaRequest(message).subscribe.length).toBeLessThanOrEqual(total);
  }
  expect(eu.isDialling('root')).toBe(true);
  east.export(store(['10.1.0.2']));
  await bed.settle();
  expect(north.get()).toEqual({ east: ['10.1.0.2'] });
}, 120_000);
