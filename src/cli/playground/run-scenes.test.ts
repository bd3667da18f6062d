import { expect, test } from 'vitest';
import { runScenes, type SceneRunner } from './run-scenes.ts';
import type { SceneRecord } from './scene-record.ts';
import type { Scene } from './scenes/scene.ts';
import type { Stage } from './stage.ts';

const scene = (name: string, run: (record: SceneRecord, signal: AbortSignal) => unknown): Scene => ({
  letter: name[0] as string,
  name,
  subject: '',
  run: async (stage) => {
    const { record, signal } = stage as unknown as { record: SceneRecord; signal: AbortSignal };
    await run(record, signal);
  },
});

function runner(options: Partial<SceneRunner> = {}): SceneRunner {
  return {
    stage: (record, signal) => ({ record, signal }) as unknown as Stage,
    onStart: () => {},
    onEnd: () => {},
    signal: new AbortController().signal,
    deaths: () => [],
    now: () => 0,
    limitMs: 60_000,
    ...options,
  };
}

test('a scene that throws fails and the next is played', async () => {
  const outcomes = await runScenes(
    [
      scene('broken', () => {
        throw new Error('no such pod');
      }),
      scene('well', (record) => record.expect('it works', true)),
    ],
    runner(),
  );
  expect(outcomes.map((o) => [o.name, o.ok])).toEqual([
    ['broken', false],
    ['well', true],
  ]);
  expect(outcomes[0]?.expectations).toEqual([
    { text: 'the scene can be played to its end', holds: false, found: 'no such pod' },
  ]);
});

test('a scene without an end is ended and fails', async () => {
  const endless = scene(
    'endless',
    (_, signal) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  );
  const [outcome] = await runScenes([endless], runner({ limitMs: 5 }));
  expect(outcome).toMatchObject({ ok: false, expectations: [{ found: 'no end after 0.005 s' }] });
});

test('a process that died by itself fails the scene in which it died', async () => {
  const deaths = [['east dns: exit code 1']];
  const fine = (name: string): Scene => scene(name, (record) => record.expect('it works', true));
  const outcomes = await runScenes([fine('one'), fine('two')], runner({ deaths: () => deaths.pop() ?? [] }));
  expect(outcomes.map((o) => o.ok)).toEqual([false, true]);
});

test('Ctrl-C ends the scene and no other is played', async () => {
  const stop = new AbortController();
  const ended: string[] = [];
  const outcomes = await runScenes(
    [scene('one', () => stop.abort()), scene('two', () => {})],
    runner({ signal: stop.signal, onEnd: (record) => ended.push(record.title.name) }),
  );
  expect(outcomes).toEqual([]);
  expect(ended).toEqual([]);
});
