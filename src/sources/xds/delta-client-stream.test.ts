import { expect, test } from 'vitest';
import type { AppError } from '../../runtime/errors.ts';
import {
  type DeltaRequest,
  type DeltaResponse,
  decodeDeltaRequest,
  encodeDeltaResponse,
  type Refusal,
} from '../../wire/proto/discovery.ts';
import { typeUrls } from '../../wire/proto/type-urls.ts';
import { type ClientUpdate, DeltaClientStream } from './delta-client-stream.ts';

const { cluster, listener, originStatus } = typeUrls;

interface Apply {
  readonly update: ClientUpdate;
  resolve(refusals?: Refusal[]): void;
  reject(error: Error): void;
}

function setUp(options: { auto?: boolean } = {}) {
  const sent: DeltaRequest[] = [];
  const applies: Apply[] = [];
  const passed: number[] = [];
  const failures: AppError[] = [];
  const client = new DeltaClientStream({
    node: () => Buffer.from('me'),
    passed: (token) => passed.push(token),
    apply: (update) => {
      if (options.auto !== false) return [];
      return new Promise((resolve, reject) => {
        applies.push({ update, resolve: (refusals = []) => resolve(refusals), reject });
      });
    },
  });
  let nonce = 0;
  const taken = async (): Promise<DeltaRequest[]> => {
    for (let i = 0; i < 10; i += 1) await Promise.resolve();
    return sent.splice(0);
  };
  return {
    client,
    applies,
    passed,
    failures,
    taken,
    open: () =>
      client.opened({ send: (m) => sent.push(decodeDeltaRequest(m)), fail: (error) => failures.push(error) }),
    receive: (
      typeUrl: string,
      names: readonly string[],
      removals: readonly string[] = [],
      version = 'v1',
    ) => {
      nonce += 1;
      const resources: DeltaResponse['resources'] = names.map((name) => ({
        name,
        version,
        typeUrl,
        body: Buffer.from(name),
      }));
      client.receive(encodeDeltaResponse({ typeUrl, nonce: String(nonce), resources, removals }));
    },
  };
}

test('the first request says who asks, OriginStatus is asked last', async () => {
  const { client, open, taken } = setUp();
  client.subscribe(originStatus, ['*']);
  client.subscribe(listener, ['*']);
  client.subscribe(cluster, ['a']);
  open();
  const requests = await taken();
  expect(requests.map((r) => [r.typeUrl, r.subscribe, r.node && Buffer.from(r.node).toString()])).toEqual([
    [listener, ['*'], 'me'],
    [cluster, ['a'], undefined],
    [originStatus, ['*'], undefined],
  ]);
  client.subscribe(cluster, ['b']);
  client.unsubscribe(cluster, ['a']);
  client.announce();
  expect((await taken()).map((r) => [r.subscribe, r.unsubscribe, r.node !== undefined])).toEqual([
    [['b'], [], false],
    [[], ['a'], false],
    [[], [], true],
  ]);
});

test('what was accepted is claimed to the next server, what was refused in no version', async () => {
  const { client, open, receive, taken, applies } = setUp({ auto: false });
  client.subscribe(cluster, ['*']);
  open();
  receive(cluster, ['a', 'b', 'c'], [], 'v1');
  applies.shift()?.resolve();
  receive(cluster, ['a', 'b'], ['c'], 'v2');
  applies.shift()?.resolve([{ name: 'b', message: 'no' }]);
  await taken();
  client.closed();
  open();
  expect((await taken())[0]?.initialVersions).toEqual(
    new Map([
      ['a', 'v2'],
      ['b', '?'],
    ]),
  );
});

test('what was refused and never taken is not remembered, what was taken meanwhile is', async () => {
  const { client, open, receive, taken, applies } = setUp({ auto: false });
  const no = (...names: string[]) => names.map((name) => ({ name, message: 'no' }));
  client.subscribe(cluster, ['*']);
  open();
  receive(cluster, ['a', 'b'], [], 'v1');
  receive(cluster, ['a', 'b', 'c'], [], 'v2');
  applies.shift()?.resolve(no('b'));
  applies.shift()?.resolve(no('a', 'b', 'c'));
  await taken();
  client.closed();
  open();
  expect((await taken())[0]?.initialVersions).toEqual(new Map([['a', '?']]));
  // Refused after the connection was lost: no different.
  receive(cluster, ['d'], [], 'v3');
  client.closed();
  open();
  expect((await taken())[0]?.initialVersions.get('d')).toBe('?');
  applies.shift()?.resolve(no('d'));
  await taken();
  client.closed();
  open();
  expect((await taken())[0]?.initialVersions).toEqual(new Map([['a', '?']]));
});

test('what the handler was not done with when the stream ended is claimed in a version no server has', async () => {
  const { client, open, receive, taken, applies } = setUp({ auto: false });
  client.subscribe(cluster, ['*']);
  open();
  receive(cluster, ['a', 'b'], [], 'v1');
  applies.shift()?.resolve();
  await taken();
  receive(cluster, ['a'], ['b'], 'v2');
  client.closed();
  open();
  expect((await taken())[0]?.initialVersions).toEqual(
    new Map([
      ['a', '?'],
      ['b', '?'],
    ]),
  );
  applies.shift()?.resolve();
  expect(await taken()).toEqual([]);
});

test('an update is acknowledged when the handler is done, in order, whatever ends first', async () => {
  const { client, open, receive, taken, applies } = setUp({ auto: false });
  client.subscribe(cluster, ['*']);
  client.subscribe(listener, ['*']);
  open();
  await taken();
  receive(cluster, ['a']);
  receive(cluster, ['b']);
  receive(listener, ['l']);
  const [first, second, third] = applies;
  second?.resolve([{ name: 'b', message: 'bad port' }]);
  third?.resolve();
  expect((await taken()).map((r) => r.nonce)).toEqual(['3']);
  first?.resolve();
  const [a, b] = await taken();
  expect([a?.nonce, a?.error]).toEqual(['1', undefined]);
  expect(b?.nonce).toBe('2');
  expect(b?.error?.refusals).toEqual([{ name: 'b', message: 'bad port' }]);
  expect(b?.error?.message).toBe('1 refused, first b: bad port');
});

test('a state is complete with the marker of this connection', async () => {
  const { client, open, receive, applies } = setUp({ auto: false });
  client.subscribe(cluster, ['*']);
  client.subscribe(originStatus, ['*']);
  open();
  receive(cluster, ['a']);
  receive(originStatus, ['east']);
  receive(cluster, ['b']);
  expect(applies.map((a) => a.update.complete)).toEqual([false, true, true]);
  expect(client.isComplete).toBe(true);
  client.closed();
  open();
  expect(client.isComplete).toBe(false);
});

test('a barrier passes when its answer comes, and is asked again after a loss', async () => {
  const { client, open, receive, taken, passed } = setUp();
  client.subscribe(cluster, ['*']);
  open();
  await taken();
  const first = client.barrier();
  expect((await taken()).map((r) => [r.typeUrl, r.subscribe])).toEqual([[originStatus, ['barrier/1']]]);
  const second = client.barrier();
  expect((await taken()).map((r) => [r.subscribe, r.unsubscribe])).toEqual([[['barrier/2'], ['barrier/1']]]);
  receive(originStatus, [], ['barrier/1']);
  await taken();
  expect(passed).toEqual([]);
  client.closed();
  open();
  expect((await taken()).map((r) => r.subscribe)).toEqual([['*'], ['barrier/2']]);
  receive(originStatus, [], ['barrier/2']);
  await taken();
  expect(passed).toEqual([second]);
  expect(second).toBeGreaterThan(first);
});

test('a resource of another type than its response, or not wanted any more, does not reach the handler', async () => {
  const { client, open, applies, taken, receive } = setUp({ auto: false });
  client.subscribe(cluster, ['*']);
  open();
  await taken();
  const resources = [
    { name: 'a', version: '1', typeUrl: cluster, body: Buffer.alloc(0) },
    { name: 'odd', version: '1', typeUrl: listener, body: Buffer.alloc(0) },
  ];
  client.receive(encodeDeltaResponse({ typeUrl: cluster, nonce: 'n', resources, removals: [] }));
  const odd = applies.shift();
  expect(odd?.update.upserts.map((u) => u.name)).toEqual(['a']);
  odd?.resolve();
  const [answer] = await taken();
  expect(answer?.error?.refusals).toEqual([
    { name: 'odd', message: `expected type ${cluster}, found ${listener}` },
  ]);
  client.unsubscribe(cluster, ['*']);
  receive(cluster, ['b'], ['c']);
  expect(applies[0]?.update).toMatchObject({ upserts: [], removals: [] });
});

test('a handler that fails, or a server that breaks the protocol, ends the stream', async () => {
  const { client, open, receive, applies, taken, failures } = setUp({ auto: false });
  client.subscribe(cluster, ['*']);
  open();
  receive(cluster, ['a']);
  receive(cluster, ['b']);
  applies[0]?.reject(new Error('disk is gone'));
  applies[1]?.reject(new Error('later'));
  await taken();
  expect(failures[0]).toMatchObject({
    code: 'E_XDS_STREAM',
    message: 'the update could not be applied: disk is gone',
  });
  expect(() => receive(listener, ['x'])).toThrow(/not asked for/);
  expect(() => client.receive(Buffer.from([0xff]))).toThrow(/DeltaDiscoveryResponse/);
});

test('without a connection nothing is lost: it is asked on the next', async () => {
  const { client, open, taken } = setUp();
  client.subscribe(cluster, ['a']);
  client.unsubscribe(cluster, ['a']);
  client.barrier();
  client.announce();
  client.subscribe(cluster, ['b']);
  expect(await taken()).toEqual([]);
  open();
  expect((await taken()).map((r) => r.subscribe)).toEqual([['b'], ['barrier/1']]);
});
