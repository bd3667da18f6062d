import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { dumpCompiled, dumpInputs } from '../model/dump.ts';
import { dumpIr } from '../model/dump-ir.ts';
import { isGoldenCase } from '../model/golden-cases.ts';
import { Model } from '../model/model.ts';
import { readInputs } from '../model/read-inputs.ts';
import { type Admin, startAdmin } from '../runtime/admin.ts';
import { Metrics } from '../runtime/metrics.ts';
import { yamlText } from '../wire/yaml-text.ts';
import { runBugReport } from './bugreport.ts';
import { redactDocuments, redactText } from './redact.ts';

const testdata = join(import.meta.dirname, '..', '..', 'testdata');
const folder = mkdtempSync(join(tmpdir(), 'causeway-bugreport-'));
const admins: Admin[] = [];

afterEach(async () => {
  for (const admin of admins.splice(0)) await admin.close();
  rmSync(folder, { recursive: true, force: true });
});

async function serve(debug: Readonly<Record<string, () => string>>): Promise<string> {
  const admin = await startAdmin({
    listen: '127.0.0.1:0',
    metrics: new Metrics(),
    ready: () => 'waiting for the complete state',
    debug: () => debug,
  });
  admins.push(admin);
  return `127.0.0.1:${admin.port}`;
}

function modelOf(text: string): Model {
  const { config, changes, errors } = readInputs(parseAllDocuments(text).map((d) => d.toJS()));
  expect(errors).toEqual([]);
  const model = new Model(config);
  model.update(changes, 0);
  return model;
}

const compiledText = (model: Model): string => yamlText(dumpCompiled(model.compiled));
const read = (...path: string[]): string => readFileSync(join(folder, 'report', ...path), 'utf8');

const pem = '-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIBXJ\n-----END EC PRIVATE KEY-----';

test('a bundle is a golden case: in.yaml compiles to out.yaml, and no secret is in it', async () => {
  const original = readFileSync(join(testdata, 'composite', 'in.yaml'), 'utf8').replace(
    'metadata: {name: store, namespace: shop, generation: 1}',
    'metadata: {name: store, namespace: shop, generation: 1, annotations: {note: "password is hunter2"}}',
  );
  const model = modelOf(original);
  const controller = await serve({
    inputs: () => dumpInputs(model.config, model.inputs).map(yamlText).join('---\n'),
    ir: () => yamlText(dumpIr(model.compiled)),
    wanted: () => compiledText(model),
  });
  const agent = await serve({ inputs: () => `key: |\n${pem}\n`, wanted: () => 'token=abcdefgh12345\n' });
  const printed: string[] = [];
  const code = await runBugReport(
    { admins: [controller, agent, '127.0.0.1:1'], out: join(folder, 'report') },
    (text) => printed.push(text),
  );
  expect(code).toBe(1);
  const [first, second] = [controller, agent].map((admin) => admin.replace(':', '-')) as [string, string];
  expect(readdirSync(join(folder, 'report')).sort()).toEqual(['127.0.0.1-1', first, second].sort());
  expect(compiledText(modelOf(read(first, 'in.yaml')))).toBe(read(first, 'out.yaml'));
  expect(read(first, 'out.yaml')).toBe(compiledText(model));
  expect(read(first, 'readyz.txt')).toContain('waiting for the complete state');
  expect(read('127.0.0.1-1', 'unreachable.txt')).toContain('no answer from 127.0.0.1:1');
  const everything = [first, second].flatMap((role) =>
    readdirSync(join(folder, 'report', role)).map((file) => read(role, file)),
  );
  for (const secret of ['hunter2', 'MHcCAQEEIBXJ', 'abcdefgh12345']) {
    expect(everything.join('\n')).not.toContain(secret);
  }
  expect(statSync(join(folder, 'report', first, 'in.yaml')).mode & 0o077).toBe(0);
});

test('every golden case, with its annotations redacted, compiles to the same', async () => {
  for (const name of readdirSync(testdata).filter(isGoldenCase)) {
    const text = readFileSync(join(testdata, name, 'in.yaml'), 'utf8').split(/^kind: Step$/m)[0] ?? '';
    const model = modelOf(text);
    const inputs = dumpInputs(model.config, model.inputs).map(yamlText).join('---\n');
    expect(compiledText(modelOf(redactDocuments(inputs))), name).toBe(compiledText(model));
    expect(redactDocuments(compiledText(model)), name).toBe(compiledText(model));
  }
});

test('secrets in places where none should be: labels, messages, addresses; selectors still select', () => {
  const text = `kind: Pod
metadata:
  name: a
  labels: {app: store, api-key: k1234567, note: eyJhbGciOiJI.eyJzdWIi.sig}
  annotations: {anything: at all}
spec:
  selector: {matchLabels: {api-key: k1234567}}
  message: "password=hunter2, then Bearer abcdefghijkl"
  url: https://user:hunter3@example.com/
  key: |
    ${pem.replaceAll('\n', '\n    ')}
---
kind: Gateway
metadata: {name: token, namespace: secret}
shop/token: {families: [IPv4]}
`;
  const redacted = redactDocuments(text);
  for (const secret of [
    'k1234567',
    'eyJhbGci',
    'hunter2',
    'hunter3',
    'abcdefghijkl',
    'MHcCAQEEIBXJ',
    'at all',
  ]) {
    expect(redacted).not.toContain(secret);
  }
  const [pod, gateway] = parseAllDocuments(redacted).map((d) => d.toJS());
  expect(pod.metadata.labels['api-key']).toBe(pod.spec.selector.matchLabels['api-key']);
  expect(gateway).toEqual({
    kind: 'Gateway',
    metadata: { name: 'token', namespace: 'secret' },
    'shop/token': { families: ['IPv4'] },
  });
});

test('agents that told the controller where they are come with it, and what is too big is left out and said', async () => {
  const agent = await serve({ wanted: () => 'table inet causeway {}\n' });
  const admin = await startAdmin({
    listen: '127.0.0.1:0',
    metrics: new Metrics(),
    ready: () => undefined,
    debug: () => ({ small: () => 'small\n', big: () => 'x'.repeat(200_000) }),
    api: () => ({
      nodes: () => [
        { node: 'e1', admin: agent },
        { node: 'e2', admin: '' },
      ],
    }),
  });
  admins.push(admin);
  const controller = `127.0.0.1:${admin.port}`;
  const report = { admins: [controller], out: join(folder, 'report') };
  expect(await runBugReport(report, () => {}, 100_000)).toBe(0);
  const [first, second] = [controller, agent].map((a) => a.replace(':', '-')) as [string, string];
  expect(read(first, 'small.txt')).toBe('small\n');
  expect(read(first, 'left-out.txt')).toContain('/debug/big');
  expect(readdirSync(join(folder, 'report', first))).not.toContain('big.txt');
  expect(readdirSync(join(folder, 'report'))).toContain(second);
});

test('nobody answers: no report', async () => {
  const report = runBugReport({ admins: ['127.0.0.1:1'], out: join(folder, 'report') }, () => {});
  await expect(report).rejects.toMatchObject({ code: 'E_UNREACHABLE' });
});

test.each([
  ['Authorization: Bearer abcdefghijkl', 'Authorization: Bearer <redacted>'],
  ['jwt eyJhbGciOiJI.eyJzdWIi.sig', 'jwt <redacted token>'],
  ['password: hunter2', 'password: <redacted>'],
  ['gateway/shop/token 10.96.0.1', 'gateway/shop/token 10.96.0.1'],
])('%s', (text, expected) => {
  expect(redactText(text)).toBe(expected);
});
