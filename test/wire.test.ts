import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { identity, RelayMemoryBed } from '../src/roles/relay/memory-bed.ts';
import { storePort } from '../src/roles/relay/test-bed.ts';
import { decodeDeltaResponse, encodeDeltaResponse } from '../src/wire/proto/discovery.ts';
import { describeMessage } from '../src/wire/proto/registry.ts';
import { typeUrls } from '../src/wire/proto/type-urls.ts';
import { type Fixture, fixtures } from './wire/fixture.ts';
import { withoutEachField, withUnknownFields } from './wire/message-mutation.ts';
import { type Reading, read, readings } from './wire/readings.ts';

/** What a version said once is understood by every later one, and what a later one adds by this one. */

const recorded = fixtures();
const messages = [...recorded].filter(
  (entry): entry is [string, Fixture & { message: string }] => entry[1].message !== undefined,
);
const get = (name: string): Fixture => {
  const found = recorded.get(name);
  if (!found) throw new Error(`there is no fixture ${name}`);
  return found;
};

/** Undefined: it is refused, with the reason in hand. */
function accepted(found: unknown): unknown {
  if (found === null || found === undefined) return undefined;
  const { refused, message, ...rest } = found as Record<string, unknown>;
  const reason = refused ?? (Object.keys(rest).length === 0 ? message : undefined);
  if (reason === undefined) return found;
  expect(reason).toMatch(/./);
  return undefined;
}

test('U1 there is a recording of every kind of message and file', () => {
  const kinds = new Set([...recorded.values()].map(({ reading }) => reading));
  expect([...kinds].sort()).toEqual((Object.keys(readings) as Reading[]).sort());
});

test.each([...recorded])(
  'U1 %s is read as it was meant',
  (_, { reading, name, means, message, view, bytes }) => {
    expect(read(reading, name, bytes)).toEqual(means);
    if (message !== undefined)
      expect(JSON.parse(JSON.stringify(describeMessage(message, bytes)))).toEqual(view);
  },
);

test.each(messages)(
  'U1 %s means the same with fields of a later version',
  (_, { reading, name, means, message, bytes }) => {
    const more = withUnknownFields(message, bytes);
    expect(more.length).toBeGreaterThan(bytes.length + 20);
    const found = read(reading, name, more);
    // What stands in a frame has grown with it.
    if (reading === 'DeltaDiscoveryResponse') {
      const count = (value: unknown) =>
        JSON.parse(JSON.stringify(value, (key, v) => (key === 'bytes' ? 0 : v)));
      expect(count(found)).toEqual(count(means));
    } else expect(found).toEqual(means);
  },
);

/** Facts in `causeway.dev` that may be absent, and what is then meant. Any other is needed: without it, refused. */
const optional: Readonly<Record<string, Readonly<Record<string, object>>>> = {
  'listener-tcp': { appProtocol: {}, protocol: {} },
  'listener-udp': {},
  cluster: {},
  'link-cluster': { appProtocol: {}, kinds: {}, network: {}, protocol: {}, selected: { selected: 2 } },
  'link-metadata-published': { export: {}, mark: { mark: 0 } },
  'link-metadata-relayed': { path: { path: [] }, mark: { mark: 0 } },
};

test.each(Object.entries(optional))(
  'U1 %s without a fact that is not needed is accepted, without another refused by name',
  (file, absent) => {
    const { reading, name, message = '', means, bytes } = get(file);
    const seen = new Set<string>();
    for (const { path, bytes: less } of withoutEachField(message, bytes)) {
      const [, fact] =
        /^\/(?:metadata\/)?filter_metadata causeway\.dev\/value\/fields (\w+)$/.exec(path) ?? [];
      if (fact === undefined) continue;
      seen.add(fact);
      const found = accepted(read(reading, name, less));
      const change = absent[fact];
      if (change === undefined) expect(found, fact).toBeUndefined();
      else expect(found, fact).toMatchObject(change);
      if (change === undefined || found === undefined) continue;
      const { [fact]: _, ...others } = means as Record<string, unknown>;
      if (reading !== 'Listener') expect(found).toMatchObject(others);
    }
    expect(seen.size).toBeGreaterThan(0);
    expect([...seen]).toEqual(expect.arrayContaining(Object.keys(absent)));
  },
);

test('U1 an assignment without what is not needed has the defaults of the protocol', () => {
  const { reading, name, message = '', bytes } = get('assignment');
  const groupOf = (wanted: RegExp): unknown => {
    for (const { path, bytes: less } of withoutEachField(message, bytes)) {
      if (wanted.test(path)) return (read(reading, name, less) as unknown[]).find(Boolean);
    }
    throw new Error(`nothing is at ${wanted}`);
  };
  expect(groupOf(/^\/endpoints\/metadata$/)).toMatchObject({ network: '', cluster: 'east' });
  expect(groupOf(/^\/endpoints\/load_balancing_weight$/)).toMatchObject({ weight: 0 });
  expect(groupOf(/^\/endpoints\/locality\/region$/)).toMatchObject({ region: '', zone: 'eu-1' });
  const first = (group: unknown) => (group as { endpoints: Record<string, unknown>[] }).endpoints;
  expect(first(groupOf(/lb_endpoints\/metadata$/))[1]).not.toHaveProperty('snat');
  expect(first(groupOf(/lb_endpoints\/load_balancing_weight$/))[1]).toMatchObject({ weight: 1 });
  expect(first(groupOf(/endpoint\/additional_addresses$/))[0]).toMatchObject({ addresses: ['10.10.1.4'] });
});

test('U1 an OriginStatus without any one of its fields is an OriginStatus', () => {
  for (const file of ['origin-status-own', 'origin-status-published', 'origin-status-relayed']) {
    const { reading, name, message = '', means, bytes } = get(file);
    const nothing = { epoch: 0, sequence: 0, synced: false, sentAt: 0, labels: {}, region: '', network: '' };
    for (const { path, bytes: less } of withoutEachField(message, bytes)) {
      const field = path.split(/[/ ]/)[1]?.replace('sent_at', 'sentAt') ?? '';
      const found = read(reading, name, less) as Record<string, unknown>;
      expect({ ...found, [field]: null }, path).toEqual({ ...(means as object), [field]: null });
      if (/^\/\w+$/.test(path) && field in nothing) {
        expect(found[field], path).toEqual(nothing[field as keyof typeof nothing]);
      }
    }
  }
});

test.each(messages)(
  'U1 %s without any one field is accepted or refused, and nothing is thrown',
  (_, { reading, name, message, bytes }) => {
    let count = 0;
    for (const { path, bytes: less } of withoutEachField(message, bytes)) {
      count += 1;
      expect(() => read(reading, name, less), path).not.toThrow();
    }
    expect(count).toBeGreaterThan(0);
  },
);

test('U1 files of an earlier version are read, also with what a later one adds', () => {
  const peers = get('peers');
  const [, text = ''] = peers.bytes.toString().split('\n');
  const more = JSON.stringify({ ...(JSON.parse(text) as object), later: { a: 1 } });
  const summed = `${createHash('sha256').update(more).digest('hex')}\n${more}\n`;
  expect(read('peers.json', '', Buffer.from(summed))).toEqual(peers.means);
  const claims = get('claims');
  const later = claims.bytes.toString().replace('version: 1\n', 'version: 1\nlater: {a: 1}\n');
  const inside = later
    .replaceAll('{"name":"e1"', '{"later":true,"name":"e1"')
    .replaceAll('{"address"', '{"later":1,"address"');
  expect(inside.length).toBeGreaterThan(later.length);
  expect(read('claims.yaml', '', Buffer.from(inside))).toEqual(claims.means);
});

/** A relay that west publishes to in the words of the recordings, and what it tells east. */
async function relayed(change: (message: string, bytes: Uint8Array) => Uint8Array) {
  const bed = new RelayMemoryBed();
  const hub = bed.hub('east', 'west');
  const peer = identity('west', { labels: { env: 'prod' }, region: 'us' });
  const connection = { send: () => {}, fail: (error: Error) => expect.fail(error.message) };
  const origin = hub.hub.link(peer, 1_790_000_000_000, connection);
  const sent = new Map<string, Uint8Array>();
  const tell = (typeUrl: string, name: string, body: Uint8Array, metadata?: Uint8Array) => {
    sent.set(name, body);
    const resource = { name, version: '1', typeUrl, body, metadata };
    origin.receive(
      connection,
      encodeDeltaResponse({ typeUrl, nonce: '1', resources: [resource], removals: [] }),
    );
  };
  const metadata = get('link-metadata-published');
  for (const [file, typeUrl] of [
    ['link-cluster', typeUrls.cluster],
    ['link-assignment', typeUrls.assignment],
    ['origin-status-published', typeUrls.originStatus],
  ] as const) {
    const { message = '', name, bytes } = get(file);
    const beside =
      typeUrl === typeUrls.originStatus ? undefined : change(metadata.message ?? '', metadata.bytes);
    tell(typeUrl, name, change(message, bytes), beside);
  }
  await bed.settle();
  bed.publisher(identity('east')).export().link(hub);
  const east = bed.consumer(identity('east'), storePort).link(hub);
  await bed.settle();
  return { hub, sent, east, told: hub.wire(identity('east', { labels: { env: 'prod' } })) };
}

test('U1 a relay passes on what it does not know, byte for byte, and a controller does not mind it', async () => {
  const { told, sent, east } = await relayed(withUnknownFields);
  for (const file of ['link-cluster', 'link-assignment']) {
    const { name } = get(file);
    const got = told.find((resource) => resource.name === name);
    expect(Buffer.from(got?.body ?? []).equals(sent.get(name) ?? Buffer.of()), file).toBe(true);
  }
  const status = get('origin-status-published');
  const got = told.find((resource) => resource.name === status.name);
  const text = Buffer.from(got?.body ?? []).toString('latin1');
  expect(text).toContain('from a later version');
  expect(read('OriginStatus', status.name, got?.body ?? Buffer.of())).toMatchObject({
    ...(status.means as object),
    ...{ labels: { env: 'prod' }, region: 'us', network: 'n1' },
  });
  expect(east.get()).toEqual({ west: ['10.20.1.4', '10.20.2.4'] });
});

test('U1 a relay takes frames of an earlier version as they were', async () => {
  const { told, east } = await relayed((_, bytes) => bytes);
  for (const file of ['publish-cluster', 'publish-assignment']) {
    const [resource] = decodeDeltaResponse(get(file).bytes).resources;
    const got = told.find(({ name }) => name === resource?.name);
    expect(Buffer.from(got?.body ?? []).equals(resource?.body ?? Buffer.of()), file).toBe(true);
    // The policy is for the relay alone.
    expect(read('link metadata', '', got?.metadata ?? Buffer.of())).toEqual({
      path: [],
      mark: 1_790_000_000_005,
    });
  }
  expect(Object.keys(east.get())).toEqual(['west']);
});
