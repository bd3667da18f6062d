import { expect, test } from 'vitest';
import { cutMiddle, type LineOptions, milliseconds, noPaint, sceneLines, titleLine } from './scene-lines.ts';
import { SceneRecord } from './scene-record.ts';

const options: LineOptions = {
  width: 100,
  paint: noPaint,
  nodeOf: (who) => (who.startsWith('east') ? 'e1' : 'w1'),
};

function record(): SceneRecord {
  const scene = new SceneRecord({
    letter: 'b',
    name: 'one name, two clusters',
    subject: 'store.shop.gw.cluster.local:80 → :8080',
  });
  const tally = scene.addTraffic('client east/client', 'connections');
  for (let i = 0; i < 3; i++) tally.answer('east/store-0', 0.4);
  tally.answer('west/store-0', 1.1);
  return scene;
}

test('a scene shows who answered, how fast, and what was expected', () => {
  const scene = record();
  scene.notes.push('the relay is killed');
  scene.expect('no connection fails', true);
  expect([titleLine(scene, options), ...sceneLines(scene, options)]).toEqual([
    ' b  one name, two clusters          store.shop.gw.cluster.local:80 → :8080',
    '    client east/client              4 connections · 0 failed · p50 0.4 ms · p99 1.1 ms',
    '      east   store-0  e1  ████████████████████████  75.0 %       3',
    '      west   store-0  w1  ████████                  25.0 %       1',
    '    the relay is killed',
    '    ✔ no connection fails',
  ]);
});

test('a failed expectation says what was found, and failures why', () => {
  const scene = record();
  scene.traffic[0]?.tally.fail('timeout');
  scene.expect('no connection fails', false, '1 failed');
  const lines = sceneLines(scene, options);
  expect(lines[0]).toContain('5 connections · 1 failed (1 timeout)');
  expect(lines.at(-1)).toBe('    ✖ no connection fails; found: 1 failed');
});

test('what is being done shows only while the scene runs', () => {
  const scene = record();
  scene.doing = 'waiting for west';
  expect(sceneLines(scene, options).at(-1)).toBe('    … waiting for west');
  scene.took = 10;
  expect(sceneLines(scene, options).join()).not.toContain('waiting');
});

test('no line is wider than the terminal', () => {
  const scene = record();
  scene.traffic[0]?.tally.answer(`west/${'long-name-'.repeat(12)}0`, 1);
  scene.notes.push('x'.repeat(300));
  const narrow = { ...options, width: 80 };
  for (const line of [titleLine(scene, narrow), ...sceneLines(scene, narrow)]) {
    expect(line.length, line).toBeLessThanOrEqual(80);
  }
});

test('a scene that expects nothing is not ok', () => {
  const scene = record();
  expect(scene.ok).toBe(false);
  scene.expect('one', true);
  expect(scene.ok).toBe(true);
  scene.expect('two', false, 'three');
  expect(scene.ok).toBe(false);
});

test('the outcome sums every table of the scene', () => {
  const scene = record();
  scene.addTraffic('client west/client', 'connections').answer('east/store-0', 1);
  scene.expect('one', true);
  expect(scene.outcome()).toMatchObject({
    scene: 'b',
    name: 'one name, two clusters',
    ok: true,
    requests: 5,
    failed: 0,
    answers: { 'east/store-0': 4, 'west/store-0': 1 },
  });
});

test('texts are cut in the middle and times carry units', () => {
  expect(cutMiddle('abcdefghij', 5)).toBe('ab…ij');
  expect(cutMiddle('abc', 5)).toBe('abc');
  expect([null, 0.42, 12.34, 123.4, 2345].map(milliseconds)).toEqual([
    '–',
    '0.4 ms',
    '12.3 ms',
    '123 ms',
    '2.3 s',
  ]);
});
