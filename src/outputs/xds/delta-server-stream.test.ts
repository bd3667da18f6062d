import { expect, test } from 'vitest';
import { acknowledgement, type DeltaRequest, encodeDeltaRequest } from '../../wire/proto/discovery.ts';
import { typeUrls } from '../../wire/proto/type-urls.ts';
import { DeltaServerStream } from './delta-server-stream.ts';
import type { Entry } from './log-entry.ts';
import { ResourceLog } from './resource-log.ts';
import { connect, everything, put, setUp } from './server-stream-bed.ts';
import type { View } from './view.ts';

const { cluster, assignment, listener, originStatus } = typeUrls;
test('a stream that is held is told nothing until it is let go, then everything', () => {
  const { log, stream, receive, taken } = setUp({ held: true });
  put(log, cluster, 'c');
  receive({ typeUrl: cluster, subscribe: ['*'] });
  put(log, cluster, 'd');
  log.flush();
  expect(taken()).toEqual([]);
  stream.drained();
  expect(taken()).toEqual(['Cluster +c +d']);
});

test('what is used comes before what uses it and goes after it; the marker comes last', () => {
  const { log, receive, taken } = setUp({ open: false });
  put(log, originStatus, 'east');
  put(log, listener, 'l');
  put(log, assignment, 'c');
  put(log, cluster, 'c');
  for (const typeUrl of [originStatus, listener, cluster, assignment]) receive({ typeUrl, subscribe: ['*'] });
  expect(taken()).toEqual([]);
  log.open();
  expect(taken()).toEqual(['Cluster +c', 'ClusterLoadAssignment +c', 'Listener +l', 'OriginStatus +east']);
  put(log, listener, 'l2');
  put(log, assignment, 'd');
  put(log, cluster, 'd');
  for (const typeUrl of [cluster, assignment]) log.remove(typeUrl, 'c');
  log.remove(listener, 'l');
  log.flush();
  expect(taken()).toEqual([
    'Cluster +d',
    'ClusterLoadAssignment +d',
    'Listener +l2',
    'Listener -l',
    'ClusterLoadAssignment -c',
    'Cluster -c',
  ]);
});

test('an empty type is answered', () => {
  const { receive, taken } = setUp();
  receive({ typeUrl: cluster, subscribe: ['*'] });
  receive({ typeUrl: listener });
  expect(taken()).toEqual(['Cluster', 'Listener']);
});

test('a log that is not complete answers nothing, not even removals', () => {
  const { log, receive, taken } = setUp({ open: false });
  receive({ typeUrl: cluster, subscribe: ['*', 'x'], initialVersions: new Map([['old', '1']]) });
  log.flush();
  expect(taken()).toEqual([]);
  log.open();
  expect(taken()).toEqual(['Cluster -old -x']);
});

test('after a reconnect only differences and removals are told, by any replica', () => {
  const first = setUp();
  const body = (text: string) => ({ body: Buffer.from(text) });
  for (const name of ['same', 'changed']) first.log.set(cluster, { name, ...body(`${name} 1`) });
  first.receive({ typeUrl: cluster, subscribe: ['*'] });
  const initialVersions = new Map(first.raw().flatMap((r) => r.resources.map((x) => [x.name, x.version])));
  initialVersions.set('gone', 'x');
  const second = setUp();
  second.log.set(cluster, { name: 'new', ...body('new') });
  second.log.set(cluster, { name: 'changed', ...body('changed 2') });
  second.log.set(cluster, { name: 'same', ...body('same 1') });
  second.receive({ typeUrl: cluster, subscribe: ['*'], initialVersions });
  expect(second.taken()).toEqual(['Cluster +changed', 'Cluster +new', 'Cluster -gone']);
  expect(second.stream.acked(cluster)).toBe(-1);
});

test('a client that already holds everything is at the head at once', () => {
  const { log, receive, stream, taken } = setUp();
  put(log, cluster, 'a');
  const version = log.get(cluster, 'a')?.version ?? '';
  receive({ typeUrl: cluster, subscribe: ['a'], initialVersions: new Map([['a', version]]) });
  expect(taken()).toEqual([]);
  expect(stream.acked(cluster)).toBe(log.position);
});

test('a known name that is subscribed again is answered, a missing one removed at once', () => {
  const { log, receive, taken } = setUp();
  put(log, cluster, 'a');
  receive({ typeUrl: cluster, subscribe: ['a', 'missing'] });
  expect(taken()).toEqual(['Cluster +a', 'Cluster -missing']);
  receive({ typeUrl: cluster, subscribe: ['a'] });
  expect(taken()).toEqual(['Cluster +a']);
  put(log, cluster, 'missing');
  log.flush();
  expect(taken()).toEqual(['Cluster +missing']);
});

test('the legacy wildcard ends with the first name, an explicit one when it is unsubscribed', () => {
  const legacy = setUp();
  legacy.receive({ typeUrl: cluster });
  legacy.taken();
  legacy.receive({ typeUrl: cluster, subscribe: ['a'] });
  put(legacy.log, cluster, 'a', 'b');
  legacy.log.flush();
  expect(legacy.taken()).toEqual(['Cluster -a', 'Cluster +a']);

  const explicit = setUp();
  explicit.receive({ typeUrl: cluster, subscribe: ['*'] });
  explicit.receive({ typeUrl: cluster, subscribe: ['a'] });
  explicit.taken();
  put(explicit.log, cluster, 'a', 'b');
  explicit.log.flush();
  expect(explicit.taken()).toEqual(['Cluster +a +b']);
  explicit.receive({ typeUrl: cluster, unsubscribe: ['*'] });
  put(explicit.log, cluster, 'a', 'b');
  explicit.log.flush();
  expect(explicit.taken()).toEqual(['Cluster +a']);
});

test('a name that is unsubscribed under a wildcard is told again, as it is', () => {
  const { log, receive, taken } = setUp();
  put(log, cluster, 'a');
  receive({ typeUrl: cluster, subscribe: ['*', 'a', 'b'] });
  taken();
  receive({ typeUrl: cluster, unsubscribe: ['a', 'b'] });
  expect(taken()).toEqual(['Cluster +a', 'Cluster -b']);
});

test('a glob covers one more segment, and says when it is empty', () => {
  const { log, receive, taken } = setUp();
  const name = (rest: string) => `xdstp://demo/t/v1/${rest}`;
  put(
    log,
    cluster,
    name('shop/store/tcp-80/east'),
    name('shop/store/tcp-80'),
    name('shop/store/tcp-80/east/x'),
  );
  receive({ typeUrl: cluster, subscribe: [name('shop/store/tcp-80/*'), name('shop/none/tcp-80/*')] });
  expect(taken()).toEqual([
    `Cluster +${name('shop/store/tcp-80/east')}`,
    `Cluster -${name('shop/none/tcp-80/*')}`,
  ]);
  put(log, cluster, name('shop/none/tcp-80/west'), name('shop/other/tcp-80/west'));
  log.flush();
  expect(taken()).toEqual([`Cluster +${name('shop/none/tcp-80/west')}`]);
});

test('what was on its way when a glob was dropped is told as gone when the glob comes back', () => {
  const { log, receive, taken } = setUp();
  const glob = 'xdstp://demo/t/v1/shop/store/tcp-80/*';
  const name = glob.replace('*', 'east');
  put(log, cluster, name);
  receive({ typeUrl: cluster, subscribe: [glob] });
  receive({ typeUrl: cluster, unsubscribe: [glob] });
  log.remove(cluster, name);
  log.flush();
  expect(taken()).toEqual([`Cluster +${name}`]);
  receive({ typeUrl: cluster, subscribe: [glob] });
  expect(taken()).toEqual([`Cluster -${glob} -${name}`]);
});

test('a withheld name is answered neither with a body nor with a removal, and kept where it is held', () => {
  const { log, receive, taken } = setUp();
  put(log, assignment, 'held');
  log.withhold(assignment, 'never');
  receive({
    typeUrl: assignment,
    subscribe: ['*', 'held', 'never'],
    initialVersions: new Map([['never', '1']]),
  });
  expect(taken()).toEqual(['ClusterLoadAssignment +held']);
  log.withhold(assignment, 'held');
  log.flush();
  expect(taken()).toEqual([]);
  const late = connect(log);
  late.receive({ typeUrl: assignment, subscribe: ['*', 'held'] });
  expect(late.taken()).toEqual(['ClusterLoadAssignment']);
  put(log, assignment, 'held');
  log.remove(assignment, 'never');
  log.flush();
  expect(taken()).toEqual(['ClusterLoadAssignment +held', 'ClusterLoadAssignment -never']);
});

test('what is claimed in the version that a withheld name turns out to have is not sent again', () => {
  const { log, receive, taken } = setUp();
  log.withhold(assignment, 'a');
  const body = Buffer.from('as before');
  const copy = new ResourceLog();
  copy.set(assignment, { name: 'a', body });
  const version = copy.get(assignment, 'a')?.version ?? '';
  receive({ typeUrl: assignment, subscribe: ['*'], initialVersions: new Map([['a', version]]) });
  taken();
  log.set(assignment, { name: 'a', body });
  log.flush();
  expect(taken()).toEqual([]);
  log.set(assignment, { name: 'a', body: Buffer.from('other') });
  log.flush();
  expect(taken()).toEqual(['ClusterLoadAssignment +a']);
});

test('a name whose absence is no fact yet is waited for', () => {
  const synced = new Set<string>();
  const glob = 'xdstp://demo/t/v1/shop/store/tcp-80/*';
  const { log, receive, taken } = setUp({ log: { absent: (_t, name) => synced.has(name) } });
  receive({ typeUrl: cluster, subscribe: ['a', 'b', glob], initialVersions: new Map([['a', '1']]) });
  expect(taken()).toEqual([]);
  synced.add('a');
  synced.add(glob);
  log.settle();
  expect(taken()).toEqual([`Cluster -a -${glob}`]);
  put(log, cluster, 'b');
  log.flush();
  expect(taken()).toEqual(['Cluster +b']);
});

test('a response is cut at its limit; a bigger resource goes alone', () => {
  const { log, receive, taken } = setUp({ limits: { responseBytes: 300 } });
  for (const [name, size] of [
    ['a', 50],
    ['b', 50],
    ['c', 1000],
    ['d', 50],
  ] as const) {
    log.set(cluster, { name, body: Buffer.alloc(size) });
  }
  receive({ typeUrl: cluster, subscribe: ['*'] });
  expect(taken()).toEqual(['Cluster +a +b', 'Cluster +c', 'Cluster +d']);
});

test('a client that does not read costs a cursor: it gets the newest, once', () => {
  const { log, receive, stream, taken, setRoom } = setUp();
  receive({ typeUrl: cluster, subscribe: ['*'] });
  taken();
  setRoom(1);
  put(log, cluster, 'a');
  log.flush();
  expect(taken()).toEqual(['Cluster +a']);
  for (let i = 0; i < 100; i += 1) {
    put(log, cluster, 'a', 'b');
    log.flush();
  }
  log.remove(cluster, 'b');
  log.flush();
  expect(taken()).toEqual([]);
  setRoom(10);
  stream.drained();
  expect(taken()).toEqual(['Cluster +a', 'Cluster -b']);
});

test('a client that never acknowledges is not sent more than it can hold', () => {
  const { log, receive, raw } = setUp();
  receive({ typeUrl: cluster, subscribe: ['*'] });
  for (let i = 0; i < 1000; i += 1) {
    put(log, cluster, 'a');
    log.flush();
  }
  const unanswered = raw();
  expect(unanswered.length).toBeLessThan(300);
  for (const r of unanswered) receive(acknowledgement(cluster, r.nonce, []));
  const [last] = raw();
  expect(last?.resources[0]?.version).toBe(log.get(cluster, 'a')?.version);
});

test('positions move with acknowledgements in order, over all that was sent', () => {
  const { log, receive, stream, raw } = setUp({ limits: { responseBytes: 1 } });
  put(log, cluster, 'a', 'b');
  receive({ typeUrl: cluster, subscribe: ['*'] });
  const [a, b] = raw();
  receive(acknowledgement(cluster, b?.nonce ?? '', []));
  expect(stream.acked(cluster)).toBe(-1);
  receive(acknowledgement(cluster, 'unknown', []));
  expect(stream.acked(cluster)).toBe(-1);
  receive(acknowledgement(cluster, a?.nonce ?? '', []));
  expect(stream.acked(cluster)).toBe(log.position);
  put(log, listener, 'elsewhere');
  log.flush();
  expect(stream.acked(cluster)).toBe(log.position);
  put(log, cluster, 'a');
  log.flush();
  expect(stream.acked(cluster)).toBe(log.position - 1);
});

test('a NACK names what it refuses; without details it counts for what its message mentions, or for all', () => {
  const { log, receive, refusals, raw, taken, stream } = setUp();
  put(log, cluster, 'a', 'b');
  receive({ typeUrl: cluster, subscribe: ['*'] });
  const [first] = raw();
  receive(acknowledgement(cluster, first?.nonce ?? '', [{ name: 'b', message: 'too odd' }]));
  expect(refusals.splice(0)).toEqual(['b: too odd']);
  expect(stream.acked(cluster)).toBe(log.position);
  expect(taken()).toEqual([]);
  put(log, cluster, 'a', 'b');
  log.flush();
  const [second] = raw();
  receive({
    ...acknowledgement(cluster, second?.nonce ?? '', []),
    error: { code: 3, message: 'no idea', refusals: [] },
  });
  expect(refusals.splice(0)).toEqual(['a: no idea', 'b: no idea']);
  put(log, cluster, 'a', 'b');
  log.flush();
  const [third] = raw();
  // Envoy 1.40, after it took all others of the response.
  const message = 'Error adding/updating listener(s) b: listener b: not supported\n';
  receive({
    ...acknowledgement(cluster, third?.nonce ?? '', []),
    error: { code: 13, message, refusals: [] },
  });
  expect(refusals).toEqual([`b: ${message}`]);
});

test('a NACK of a removal counts for that name, and for nothing that came as a body', () => {
  const { log, receive, raw, refusals } = setUp();
  put(log, listener, 'a', 'b', 'c');
  receive({ typeUrl: listener, subscribe: ['*'] });
  const nack = (refused: string[], text = '') => {
    const [response] = raw();
    const error = { code: 3, message: text, refusals: refused.map((name) => ({ name, message: 'kept' })) };
    receive({ ...acknowledgement(listener, response?.nonce ?? '', []), error });
    return refusals.splice(0);
  };
  nack([]);
  log.remove(listener, 'a');
  log.remove(listener, 'b');
  log.flush();
  expect(nack(['a'])).toEqual(['a: kept']);
  log.remove(listener, 'c');
  log.flush();
  expect(nack([], 'no idea')).toEqual(['c: no idea']);
});

test('two streams in the same state are sent the same bytes', () => {
  const { log } = setUp();
  put(log, cluster, 'a', 'b');
  const messages: Buffer[] = [];
  for (let i = 0; i < 2; i += 1) {
    const stream = new DeltaServerStream({
      log,
      view: everything,
      send: (m) => messages.push(m) > 0,
      fail: () => {},
    });
    stream.receive(
      encodeDeltaRequest({
        typeUrl: cluster,
        subscribe: ['*'],
        unsubscribe: [],
        initialVersions: new Map(),
        nonce: '',
      }),
    );
  }
  expect(messages).toHaveLength(2);
  expect(messages[0]).toBe(messages[1]);
});

test('what a view does not see looks absent, and its removal is not told', () => {
  const view: View = {
    key: 'some',
    stable: true,
    sees: (_t: string, e: Entry) => !e.name.startsWith('secret'),
  };
  const { log, receive, taken } = setUp({ view });
  put(log, cluster, 'secret', 'open');
  receive({ typeUrl: cluster, subscribe: ['*', 'secret'] });
  expect(taken()).toEqual(['Cluster +open', 'Cluster -secret']);
  put(log, cluster, 'secret2');
  log.flush();
  log.remove(cluster, 'secret2');
  log.flush();
  expect(taken()).toEqual([]);
});

test('a view that changes is told by refresh: what appears and what goes', () => {
  let allowed = new Set(['a', 'b']);
  const view: View = { key: 'policy', stable: false, sees: (_t: string, e: Entry) => allowed.has(e.name) };
  const { log, receive, stream, taken } = setUp({ view });
  put(log, cluster, 'a', 'b', 'c');
  receive({ typeUrl: cluster, subscribe: ['*'] });
  expect(taken()).toEqual(['Cluster +a +b']);
  allowed = new Set(['b', 'c']);
  stream.refresh();
  expect(taken()).toEqual(['Cluster +c', 'Cluster -a']);
  put(log, cluster, 'a');
  log.flush();
  log.remove(cluster, 'a');
  log.flush();
  expect(taken()).toEqual([]);
});

test('a peer over its limits is refused, malformed bytes too', () => {
  const { receive, stream } = setUp({ limits: { names: 3, nameBytes: 5, types: 2 } });
  const wrong = (request: Partial<DeltaRequest> & { typeUrl: string }): string => {
    try {
      receive(request);
    } catch (error) {
      expect(error).toMatchObject({ code: 'E_XDS_STREAM' });
      return (error as Error).message;
    }
    return 'accepted';
  };
  expect(wrong({ typeUrl: '' })).toMatch(/type_url/);
  expect(wrong({ typeUrl: cluster, subscribe: ['toolong'] })).toMatch(/at most 5 bytes/);
  expect(wrong({ typeUrl: cluster, subscribe: ['a', 'b', 'c', 'd'] })).toMatch(/at most 3 names, found 4/);
  expect(wrong({ typeUrl: cluster, subscribe: ['a', 'b', 'c'] })).toBe('accepted');
  expect(wrong({ typeUrl: listener, subscribe: ['a'] })).toMatch(/at most 3 names, found 4/);
  expect(wrong({ typeUrl: 'third' })).toMatch(/at most 2 types/);
  expect(() => stream.receive(Buffer.from([0xff, 0xff]))).toThrow(/DeltaDiscoveryRequest/);
});

test('a client that is too far behind is cut off, and what it missed is cleared away', () => {
  const { log, receive, taken, setRoom, failure } = setUp({ log: { slack: 10, maxTombstones: 50 } });
  receive({ typeUrl: cluster, subscribe: ['*'] });
  taken();
  setRoom(1);
  for (let i = 0; i < 200; i += 1) {
    put(log, cluster, `n${i}`);
    log.flush();
    log.remove(cluster, `n${i}`);
    log.flush();
  }
  expect(failure()).toMatchObject({ code: 'E_XDS_STREAM', message: expect.stringMatching(/too far behind/) });
  expect([...log.since(cluster, 0)].length).toBeLessThan(100);
});
