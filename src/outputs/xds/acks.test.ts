import { expect, test } from 'vitest';
import type { Backend, Frontend, Ir } from '../../model/ir.ts';
import { typeUrls } from '../../wire/proto/type-urls.ts';
import { type AckSession, AckTracker } from './acks.ts';
import type { Entry } from './log-entry.ts';
import { ResourceLog } from './resource-log.ts';
import { XdsOutput } from './xds-output.ts';

const { cluster, assignment, listener } = typeUrls;
const backend = (name: string, endpoints = 1): Backend => ({
  key: `selector/shop/${name}/tcp-80`,
  policy: 'Even',
  groups: [
    {
      cluster: 'east',
      network: 'n1',
      region: 'eu',
      zone: 'a',
      priority: 0,
      weight: 1,
      endpoints: Array.from({ length: endpoints }, (_, i) => ({
        addresses: [`10.0.0.${i + 1}`],
        port: 80,
        health: 'Healthy' as const,
        weight: 1,
      })),
    },
  ],
});
const frontend = (name: string, generation = 1, vips = ['10.96.0.1']): Frontend => ({
  key: `gateway/shop/${name}`,
  generation,
  names: [],
  ttl: 5,
  vips,
  ports: [
    { protocol: 'TCP', port: 80, listeners: ['a'], targets: [{ backend: backend(name).key, weight: 1 }] },
  ],
});
const irOf = (
  frontends: Frontend[],
  backends: Backend[] = frontends.map((f) => backend(f.key.split('/')[2] ?? '')),
): Ir => ({
  frontends: new Map(frontends.map((f) => [f.key, f])),
  backends: new Map(backends.map((b) => [b.key, b])),
  nodes: new Map(),
});

function setUp() {
  const log = new ResourceLog();
  let changes = 0;
  const progress: (readonly [number, number])[] = [];
  const acks = new AckTracker({
    head: () => log.position,
    onChange: () => {
      changes += 1;
    },
    onProgress: (before, after) => progress.push([before, after]),
  });
  const output = new XdsOutput({ log, acks, origin: { set: 's', cluster: 'east', epoch: 1 } });
  return {
    log,
    acks,
    output,
    progress,
    changed: () => {
      const seen = changes;
      changes = 0;
      return seen > 0;
    },
    programmed: (name: string) => acks.programming().get(`shop/${name}`)?.programmed,
    message: (name: string) => acks.programming().get(`shop/${name}`)?.message,
    /** The node acknowledges everything up to the log's head. */
    catchUp: (session: AckSession) => {
      for (const typeUrl of [cluster, assignment, listener]) session.progress(typeUrl, log.position);
    },
    refuse: (session: AckSession, typeUrl: string, name: string) => {
      const entry = log.get(typeUrl, name) as Entry;
      session.answered(typeUrl, { upserts: [entry], removals: [] }, [
        { name, version: entry.version, message: 'the kernel said no' },
      ]);
    },
  };
}

test('a Gateway is programmed once every connected agent holds it, of every type', () => {
  const { acks, output, log, programmed, message, catchUp } = setUp();
  output.update(irOf([frontend('store')]));
  expect(programmed('store')).toBe(false);
  expect(message('store')).toBe('no agent is connected on a Ready node');
  const a = acks.connect('a');
  const b = acks.connect('b');
  catchUp(a);
  expect(message('store')).toBe('1 of 2 nodes hold it; not yet b');
  b.progress(listener, log.position);
  b.progress(cluster, log.position);
  expect(programmed('store')).toBe(false);
  b.progress(assignment, log.position);
  expect(programmed('store')).toBe(true);
  expect(message('store')).toBe('every node whose agent was connected then held it');
});

test('nodes that join, leave or restart never flip a generation that was programmed', () => {
  const { acks, output, programmed, catchUp, refuse } = setUp();
  output.update(irOf([frontend('store')]));
  const a = acks.connect('a');
  catchUp(a);
  expect(programmed('store')).toBe(true);
  const late = acks.connect('late');
  expect(programmed('store')).toBe(true);
  refuse(late, listener, 'gateway/shop/store/tcp-80');
  expect(programmed('store')).toBe(true);
  a.close();
  late.close();
  expect(programmed('store')).toBe(true);
  output.update(irOf([frontend('store', 1, ['10.96.0.2'])]));
  expect(programmed('store')).toBe(true);
  output.update(irOf([frontend('store', 2, ['10.96.0.2'])]));
  expect(programmed('store')).toBe(false);
});

test('what is decided is not decided again: the same record comes back', () => {
  const { acks, output, catchUp } = setUp();
  output.update(irOf([frontend('store'), frontend('other')]));
  const a = acks.connect('a');
  catchUp(a);
  const before = acks.programming().get('shop/store');
  acks.connect('b');
  output.update(irOf([frontend('store'), frontend('other', 2)]));
  expect(acks.programming().get('shop/store')).toBe(before);
  expect([...acks.programming().keys()]).toEqual(['shop/other', 'shop/store']);
});

test('a node that is not Ready is not waited for', () => {
  const { acks, output, programmed, message, catchUp } = setUp();
  output.update(irOf([frontend('store')]));
  const a = acks.connect('a');
  acks.connect('stuck');
  catchUp(a);
  acks.setReadyNodes(new Set(['stuck']));
  expect(programmed('store')).toBe(false);
  acks.setReadyNodes(new Set());
  expect(message('store')).toBe('no agent is connected on a Ready node');
  acks.setReadyNodes(new Set(['a']));
  expect(programmed('store')).toBe(true);
});

test('one refused Listener holds back its own Gateway only, until it is taken or changed', () => {
  const { acks, output, log, programmed, message, catchUp, refuse } = setUp();
  output.update(irOf([frontend('good'), frontend('bad')]));
  const a = acks.connect('a');
  const name = 'gateway/shop/bad/tcp-80';
  refuse(a, listener, name);
  catchUp(a);
  expect(programmed('good')).toBe(true);
  expect(programmed('bad')).toBe(false);
  expect(message('bad')).toBe(`node a refuses ${name}: the kernel said no`);
  expect(acks.snapshot()).toMatchObject([{ node: 'a', refused: [{ name, message: 'the kernel said no' }] }]);
  a.answered(listener, { upserts: [log.get(listener, name) as Entry], removals: [] }, []);
  expect(programmed('bad')).toBe(true);
});

test('a refused removal of a Listener counts as one that the node still has', () => {
  const { acks, output, log, catchUp } = setUp();
  output.update(irOf([frontend('gone')]));
  const a = acks.connect('a');
  catchUp(a);
  const name = 'gateway/shop/gone/tcp-80';
  output.update(irOf([]));
  catchUp(a);
  const told = { upserts: [], removals: [name] };
  a.answered(listener, told, [{ name, version: '', message: 'busy' }]);
  expect(acks.acknowledged('a', log.position)).toBe(true);
  expect(acks.refusesListener('a', 'gateway/shop/gone/')).toBe(true);
  a.answered(listener, told, []);
  expect(acks.refusesListener('a', 'gateway/shop/gone/')).toBe(false);
});

test('a refused back end holds back every Gateway that sends to it', () => {
  const { acks, output, programmed, catchUp, refuse } = setUp();
  const shared = { ...frontend('other'), ports: frontend('bad').ports };
  output.update(
    irOf(
      [frontend('bad'), shared, frontend('good')],
      ['bad', 'good'].map((n) => backend(n)),
    ),
  );
  const a = acks.connect('a');
  refuse(a, assignment, backend('bad').key);
  catchUp(a);
  expect(['bad', 'other', 'good'].map(programmed)).toEqual([false, false, true]);
});

test('endpoints that keep changing do not hold back a Gateway, its own change does', () => {
  const { acks, output, log, programmed } = setUp();
  output.update(irOf([frontend('store')]));
  const first = log.position;
  const a = acks.connect('a');
  output.update(irOf([frontend('store')], [backend('store', 2)]));
  for (const typeUrl of [cluster, assignment, listener]) a.progress(typeUrl, first);
  expect(programmed('store')).toBe(true);

  output.update(irOf([frontend('next')]));
  const second = log.position;
  output.update(irOf([frontend('next', 1, ['10.96.0.7'])]));
  for (const typeUrl of [cluster, assignment, listener]) a.progress(typeUrl, second);
  expect(programmed('next')).toBe(false);
});

test('a Gateway without an address, or gone, says nothing', () => {
  const { acks, output } = setUp();
  output.update(irOf([frontend('store', 1, [])]));
  expect(acks.programming().size).toBe(0);
  output.update(irOf([frontend('store')]));
  expect(acks.programming().size).toBe(1);
  output.update(irOf([]));
  expect(acks.programming().size).toBe(0);
});

test('what was programmed before a restart stays so, for that generation', () => {
  const { acks, output, programmed } = setUp();
  acks.restore(
    new Map([
      ['shop/store', 4],
      ['shop/newer', 1],
    ]),
  );
  output.update(irOf([frontend('store', 4), frontend('newer', 2)]));
  expect(programmed('store')).toBe(true);
  expect(programmed('newer')).toBe(false);
});

test('an address may be given out again once each node that held it acknowledged its removal', () => {
  const { acks, output, catchUp, refuse } = setUp();
  const held = acks.connect('holds');
  const down = acks.connect('down');
  output.update(irOf([frontend('store'), frontend('other')]));
  catchUp(held);
  catchUp(down);
  down.close();
  const removed = output.update(irOf([frontend('other')]));
  expect(acks.acknowledged('holds', removed)).toBe(false);
  catchUp(held);
  expect(acks.acknowledged('holds', removed)).toBe(true);
  held.close();
  expect(acks.acknowledged('holds', removed)).toBe(true);
  expect(acks.acknowledged('down', removed)).toBe(false);
  expect(acks.acknowledged('never seen', removed)).toBe(false);
  const back = acks.connect('down');
  expect(acks.acknowledged('down', removed)).toBe(false);
  refuse(back, listener, 'gateway/shop/other/tcp-80');
  catchUp(back);
  expect(acks.acknowledged('down', removed)).toBe(true);
  expect(acks.refusesListener('down', 'gateway/shop/store/')).toBe(false);
  expect(acks.refusesListener('down', 'gateway/shop/other/')).toBe(true);
  expect(acks.refusesListener('down', '')).toBe(true);
  expect(acks.refusesListener('never seen', '')).toBe(false);
  expect([...acks.connected]).toEqual(['down']);
});

test('a refusal stands over a new stream until that has acknowledged its initial state', () => {
  const { acks, output, catchUp, refuse } = setUp();
  output.update(irOf([frontend('store')]));
  const first = acks.connect('a');
  refuse(first, listener, 'gateway/shop/store/tcp-80');
  catchUp(first);
  first.close();
  const refuses = () => acks.refusesListener('a', 'gateway/shop/store/');
  expect(refuses()).toBe(true);
  acks.connect('a');
  const third = acks.connect('a');
  expect(refuses()).toBe(true);
  refuse(third, listener, 'gateway/shop/store/tcp-80');
  catchUp(third);
  expect(refuses()).toBe(true);
  const fourth = acks.connect('a');
  catchUp(fourth);
  expect(refuses()).toBe(false);
});

test('an older stream of a node counts no more once a newer one is there', () => {
  const { acks, output, programmed, catchUp } = setUp();
  output.update(irOf([frontend('store')]));
  const old = acks.connect('a');
  const next = acks.connect('a');
  catchUp(old);
  expect(programmed('store')).toBe(false);
  old.close();
  expect([...acks.connected]).toEqual(['a']);
  catchUp(next);
  expect(programmed('store')).toBe(true);
});

test('a bypassed node is told', () => {
  const { acks, output, changed } = setUp();
  output.update(irOf([frontend('store')]));
  const a = acks.connect('a');
  changed();
  a.setBypassed(true);
  expect(changed()).toBe(true);
  expect(acks.programming().get('shop/store')?.bypassed).toBe(true);
  a.setBypassed(false);
  expect(acks.programming().get('shop/store')?.bypassed).toBeUndefined();
});

test('a Ready node whose agent never connected is listed, and one that is not Ready says so', () => {
  const { acks } = setUp();
  acks.connect('b');
  acks.setReadyNodes(new Set(['c']));
  expect(acks.snapshot()).toMatchObject([
    { node: 'b', ready: false, connected: true },
    { node: 'c', ready: true, connected: false, position: -1, refused: [] },
  ]);
});

test('what was there before a stream began is no progress; what comes after it is, once all types hold it', () => {
  const { acks, output, log, progress, catchUp } = setUp();
  output.update(irOf([frontend('store')]));
  const a = acks.connect('a');
  const before = log.position;
  catchUp(a);
  expect(progress).toEqual([]);
  output.update(irOf([frontend('store')], [backend('store', 2)]));
  a.progress(assignment, log.position);
  expect(progress).toEqual([]);
  catchUp(a);
  catchUp(a);
  expect(progress).toEqual([[before, log.position]]);
});
