import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, normalize } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runCompile } from '../src/cli/compile.ts';
import { SceneRecord } from '../src/cli/playground/scene-record.ts';
import { failureOf, summaryOf } from '../src/cli/playground/summary.ts';
import { documentedFields, fieldsIn } from './field-table.ts';
import { metricsMade } from './metrics-made.ts';

const root = join(import.meta.dirname, '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const markdown = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md']
  .concat((readdirSync(join(root, 'docs'), { recursive: true }) as string[]).map((f) => `docs/${f}`))
  .concat((readdirSync(join(root, 'examples'), { recursive: true }) as string[]).map((f) => `examples/${f}`))
  .filter((f) => f.endsWith('.md'));

test('docs/metrics.md lists exactly the metrics there are, each with the same labels in all roles', () => {
  const rows = read('docs/metrics.md').matchAll(/^\| `causeway_([a-z_]+)` \| ([^|]*)\|/gm);
  const documented = [...rows].map(([, name, labels]) => `${name} ${labels?.replaceAll('`', '').trim()}`);
  const made = metricsMade().map(({ name, labels }) => `${name} ${labels.join(', ')}`);
  expect(documented.sort()).toEqual(made);
});

test('links between documents lead somewhere', () => {
  const broken = markdown.flatMap((file) =>
    [...read(file).matchAll(/\]\((?!https?:|#)([^)#\s]+)(?:#[^)]*)?\)/g)]
      .map((m) => normalize(join(dirname(file), m[1] as string)))
      .filter((target) => !existsSync(join(root, target)))
      .map((target) => `${file}: ${target}`),
  );
  expect(broken).toEqual([]);
});

/** The ids that titles of tests begin with: `P2`, `dataplane 6`, `design VIP`. */
function idsOfTests(): string[] {
  const files = ['src', 'test'].flatMap((folder) =>
    (readdirSync(join(root, folder), { recursive: true }) as string[])
      .filter((f) => f.endsWith('.test.ts'))
      .map((f) => read(`${folder}/${f}`)),
  );
  const titles = files.flatMap((text) => [
    ...text.matchAll(/\(\s*['"`](dataplane \d+|design \w+|[A-Z]\d+) /g),
  ]);
  return [...new Set(titles.map((m) => m[1] as string))].sort();
}

test('docs/tests.md explains exactly the ids that titles of tests begin with', () => {
  const explained = [...read('docs/tests.md').matchAll(/^\| `([^`]+)` \| .{20,} \|$/gm)].map((m) => m[1]);
  expect(idsOfTests().length).toBeGreaterThan(40);
  expect(explained.sort()).toEqual(idsOfTests());
});

test('docs/playground.md lists exactly the fields of --json', () => {
  const record = new SceneRecord({ letter: 'a', name: 'name', subject: 'subject' });
  record.expect('something', true);
  record.expect('something else', false, 'nothing');
  const listed = documentedFields(join(root, 'docs/playground.md'), 'summary');
  const found = [summaryOf(false, [record.outcome()]), failureOf(new Error('broken'))];
  expect(new Set(found.flatMap((each) => fieldsIn(each, listed)))).toEqual(new Set(listed));
});

/** As its flags have them. */
const compileDefaults = {
  cluster: 'local',
  region: '',
  network: '',
  serviceCidrs: ['10.96.0.0/16'],
  zone: 'gw.cluster.local',
  controllerName: 'causeway.dev/gateway-controller',
  output: 'table',
} as const;

test('docs/running.md lists exactly the fields of compile -o json', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'causeway-documents-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  cpSync(join(root, 'examples/store/store.yaml'), join(folder, 'store.yaml'));
  // A VIP in a node's pod range is refused by the node; the composite is of a kind that is nearly one of ours.
  const node = '{apiVersion: v1, kind: Node, metadata: {name: e1}, spec: {podCIDR: 10.96.0.0/16}}';
  const composite = `apiVersion: causeway.dev/v1alpha1
kind: CompositeBackends
metadata: {name: other, namespace: shop}`;
  writeFileSync(join(folder, 'more.yaml'), `${node}\n---\n${composite}\n`);
  let text = '';
  await runCompile({ ...compileDefaults, dir: folder, output: 'json' }, (part) => {
    text += part;
  });
  const listed = documentedFields(join(root, 'docs/running.md'), 'compile');
  expect(new Set(fieldsIn(JSON.parse(text), listed))).toEqual(new Set(listed));
});

test('README.md shows what compile prints of an example', async () => {
  const shown = /```\n\$ bin\/causeway compile --dir examples\/store\n([\s\S]*?)```/.exec(
    read('README.md'),
  )?.[1];
  let text = '';
  await runCompile({ ...compileDefaults, dir: join(root, 'examples/store') }, (part) => {
    text += part;
  });
  expect(text.replaceAll(`${root}/`, '')).toBe(shown);
});

test('every variable that is read is documented', () => {
  const sources = (readdirSync(join(root, 'src'), { recursive: true }) as string[])
    .filter((f) => f.endsWith('.ts') && !f.endsWith('.test.ts'))
    .map((f) => read(`src/${f}`))
    .join('\n');
  const names = new Set(
    [...sources.matchAll(/process\.env\.(CAUSEWAY_[A-Z_]+)/g)].map((m) => m[1] as string),
  );
  expect(names.size).toBeGreaterThan(2);
  const documents = markdown.map(read).join('\n');
  expect([...names].filter((name) => !documents.includes(`\`${name}`))).toEqual([]);
});
