import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { clientPlace } from '../model/explain/client-place.ts';
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

function answerOf(name: string, asked: string, node?: string, from?: string) {
  const model = modelOf(name);
  return explainAnswer(explain(model, asked), {
    ...(from === undefined ? {} : { client: clientPlace(model, from) }),
    acks: { holding: () => [held('e1'), down], adminOf: (n) => (n === 'e1' ? '172.18.1.1:9103' : '') },
    broken: [],
    relays: [
      {
        relay: '172.18.0.10:18100',
        connected: false,
        error: 'E_UNREACHABLE: connection refused',
      },
    ],
    refused: [],
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
  'prefer-local': ['shop/store'],
  ordered: ['shop/store'],
  unexported: ['shop/some', 'shop/store', 'shop/undeclared'],
  'silent-mistakes': ['shop/store', 'shop/misspelt'],
};

for (const [name, asked] of Object.entries(cases)) {
  test(`as people read it (testdata/${name}/explain.txt)`, async () => {
    const texts = asked.map((a) => `$ causeway explain ${a}\n${explainText(answerOf(name, a), plainPaint)}`);
    await expect(texts.join('\n')).toMatchFileSnapshot(join(testdata, name, 'explain.txt'));
  });
}

test('as scripts read it (testdata/composite/explain.json)', async () => {
  const answer = answerOf('composite', 'store.shop.gw.cluster.local', undefined, 'node/e2');
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

test('C6 the exporter is told who asks in vain, as a note on the composite that has it', () => {
  const refused = ['shop/store', 'shop/other'].map((composite) => ({
    cluster: 'north',
    port: `${composite}/tcp-80`,
    composite,
  }));
  const model = modelOf('composite');
  const acks = { holding: () => [held('e1')], adminOf: () => '' };
  const around = { acks, relays: [], broken: [], refused, node: undefined };
  const answer = explainAnswer(explain(model, 'shop/store'), around);
  expect(answer.works).toBe(true);
  expect(answer.causes.filter(({ reason }) => reason === 'SubscriberRefused')).toMatchObject([
    {
      stops: false,
      ref: { kind: 'CompositeBackend', namespace: 'shop', name: 'store' },
      field: 'spec.export',
      message: 'north asks for shop/store/tcp-80, and is not offered it',
    },
  ]);
});

test('a terminal’s width is kept, and colour is where it may be', () => {
  const mark = (text: string): string => `<${text}>`;
  const paint: Paint = { dim: mark, bad: mark, note: mark, good: mark, width: 60 };
  const lines = explainText(answerOf('allowed-routes', 'infra/edge'), paint).split('\n');
  expect(lines.some((line) => line.includes('<✖>'))).toBe(true);
  expect(lines.some((line) => /^<.*…/.test(line) || line.includes('…'))).toBe(true);
});

test('for one client: who it is, what its connections meet, and as whom it is seen', () => {
  const answer = answerOf('composite', 'shop/store', undefined, 'pod/shop/store-0');
  expect(answer.client).toMatchObject({ node: 'e1', hostNetwork: false, agent: '172.18.1.1:9103' });
  const [address = ''] = answer.client?.addresses ?? [];
  const [own = ''] = answer.frontend?.ports[0]?.backends[0]?.clusters[0]?.endpoints ?? [];
  const path = {
    node: 'e1',
    address: '10.96.214.7',
    port: 80,
    protocol: 'tcp' as const,
    wanted: [own],
    listed: [own],
  };
  const reached = [
    { end: own, share: 0.25, source: 'masqueraded' as const },
    { end: '10.9.9.9:8080', share: 0.75, source: 'kept' as const },
  ];
  const text = explainText({ ...answer, paths: [{ ...path, missing: [], extra: [], reached }] }, plainPaint);
  expect(text).toContain(`\nfrom pod shop/store-0 on node e1   ${address}\n`);
  expect(text).toContain(`\n    ${own}   east   25 %   seen as node e1\n`);
  expect(text).toContain(`\n    10.9.9.9:8080      75 %   seen as ${address}\n`);
});

test('a client that nobody knows, or that is on no node yet, stops there', () => {
  const first = (from: string) => answerOf('composite', 'shop/store', undefined, from).causes[0];
  expect(first('pod/shop/nobody')).toMatchObject({
    reason: 'NotFound',
    ref: { kind: 'Pod', name: 'nobody' },
  });
  expect(first('node/e9')).toMatchObject({ reason: 'NotFound', ref: { kind: 'Node', name: 'e9' } });
  const down = answerOf('composite', 'shop/store', undefined, 'node/e2');
  expect(down.causes[0]).toMatchObject({ stops: true, reason: 'AgentNotConnected', ref: { name: 'e2' } });
});
