import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { explain } from '../model/explain/explain.ts';
import { Model } from '../model/model.ts';
import { readInputs } from '../model/read-inputs.ts';
import type { NodeHolding } from '../outputs/xds/acks.ts';
import { explainAnswer } from '../roles/controller/api.ts';
import { explainText } from './explain-text.ts';
import { type Paint, plainPaint } from './paint.ts';

const testdata = join(import.meta.dirname, '..', '..', 'testdata');

function modelOf(name: string): Model {
  const text = readFileSync(join(testdata, name, 'in.yaml'), 'utf8').split(/^kind: Step$/m)[0] ?? '';
  const { config, changes } = readInputs(parseAllDocuments(text).map((d) => d.toJS()));
  const model = new Model(config);
  model.update(changes, 0);
  return model;
}

const held = (node: string): NodeHolding => ({
  node,
  connected: true,
  holds: 'Yes',
  reason: 'Held',
  message: 'it holds this generation',
});
const down: NodeHolding = {
  node: 'e2',
  connected: false,
  holds: 'Unknown',
  reason: 'AgentNotConnected',
  message: 'its agent is not connected: what it held last stays in force, and no change arrives',
};

function answerOf(name: string, asked: string, node?: string) {
  return explainAnswer(explain(modelOf(name), asked), {
    acks: { holding: () => [held('e1'), down] },
    relays: [{ relay: '172.18.0.10:18100', connected: false }],
    node,
  });
}

const cases: Readonly<Record<string, readonly string[]>> = {
  clusterip: ['shop/store'],
  composite: ['store.shop.gw.cluster.local', 'shop/stroe'],
  'port-conflict': ['shop/store'],
  'reference-grant': ['shop/store'],
  'allowed-routes': ['infra/edge'],
  'stale-keeps': ['shop/store'],
  canary: ['shop/store'],
  'silent-mistakes': ['shop/store', 'shop/misspelt'],
};

for (const [name, asked] of Object.entries(cases)) {
  test(`as people read it (testdata/${name}/explain.txt)`, async () => {
    const texts = asked.map((a) => `$ causeway explain ${a}\n${explainText(answerOf(name, a), plainPaint)}`);
    await expect(texts.join('\n')).toMatchFileSnapshot(join(testdata, name, 'explain.txt'));
  });
}

test('as scripts read it (testdata/composite/explain.json)', async () => {
  const answer = answerOf('composite', 'store.shop.gw.cluster.local', 'e2');
  await expect(`${JSON.stringify(answer, null, 2)}\n`).toMatchFileSnapshot(
    join(testdata, 'composite', 'explain.json'),
  );
});

test('agent down on the client’s node stops the path for that client only', () => {
  expect(answerOf('composite', 'shop/store').works).toBe(true);
  expect(answerOf('composite', 'shop/store', 'e1').works).toBe(true);
  const answer = answerOf('composite', 'shop/store', 'e2');
  expect(answer.works).toBe(false);
  expect(answer.causes[0]).toMatchObject({ reason: 'AgentNotConnected', ref: { kind: 'Node', name: 'e2' } });
  expect(answerOf('composite', 'shop/store', 'e9').causes[0]).toMatchObject({ reason: 'NotFound' });
});

test('a terminal’s width is kept, and colour is where it may be', () => {
  const mark = (text: string): string => `<${text}>`;
  const paint: Paint = { dim: mark, bad: mark, note: mark, good: mark, width: 60 };
  const lines = explainText(answerOf('allowed-routes', 'infra/edge'), paint).split('\n');
  expect(lines.some((line) => line.includes('<✖>'))).toBe(true);
  expect(lines.some((line) => /^<.*…/.test(line) || line.includes('…'))).toBe(true);
});
