import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Metadata } from '../../api/kind.ts';
import type { Change } from '../../model/inputs.ts';
import { formatProblem } from './file-problem.ts';
import { Folder } from './folder.ts';
import { Identities } from './identity.ts';
import { parseFile } from './parse-file.ts';

const T0 = Date.UTC(2026, 0, 1);

const namespace = (name: string, label = 'a'): string =>
  `apiVersion: v1\nkind: Namespace\nmetadata: {name: ${name}, labels: {label: ${label}}}\n`;
const gateway = (name: string, port: number | string = 80): string =>
  `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata:
  name: ${name}
spec:
  gatewayClassName: cluster-ip
  listeners:
  - {name: a, protocol: TCP, port: ${port}}
`;
const broken = (name: string): string => gateway(name, '"http"');

function folderOf() {
  const folder = new Folder(new Identities());
  let now = T0;
  const write = (files: Record<string, string | undefined>): Change[] => {
    now += 1000;
    for (const [file, text] of Object.entries(files)) {
      if (text === undefined) folder.remove(file);
      else folder.set(file, parseFile(file, text), now);
    }
    return folder.takeChanges(now);
  };
  const problems = () =>
    folder.problems().map((p) => formatProblem({ ...p, ...(p.keptFrom ? { keptFrom: 0 } : {}) }));
  return { folder, write, problems };
}

const keys = (changes: readonly Change[]) => changes.map((c) => `${c.value ? '+' : '-'}${c.kind}/${c.key}`);

describe('what is in force', () => {
  test('objects come, change and go with their file', () => {
    const { write } = folderOf();
    expect(
      keys(write({ 'a.yaml': `${namespace('x')}---\n${namespace('y')}`, 'b/c.yaml': namespace('z') })),
    ).toEqual(['+Namespace/x', '+Namespace/y', '+Namespace/z']);
    expect(keys(write({ 'a.yaml': `${namespace('x', 'b')}---\n${namespace('y')}` }))).toEqual([
      '+Namespace/x',
    ]);
    expect(keys(write({ 'a.yaml': namespace('x', 'b') }))).toEqual(['-Namespace/y']);
    expect(keys(write({ 'a.yaml': undefined }))).toEqual(['-Namespace/x']);
    expect(write({ 'b/c.yaml': `# the same\n${namespace('z')}` })).toEqual([]);
  });

  test('lists are their items', () => {
    const { write, problems } = folderOf();
    const list = `apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Namespace, metadata: {name: x}}\n`;
    const typed = `apiVersion: v1\nkind: NamespaceList\nitems:\n- metadata: {name: y}\n- metadata: {name: Z}\n`;
    expect(keys(write({ 'a.yaml': list, 'b.yaml': typed }))).toEqual(['+Namespace/x', '+Namespace/y']);
    expect(problems()).toEqual([
      '✖ b.yaml:5  Namespace Z\n  items[1].metadata.name: expected a DNS label (a-z, 0-9 and "-", at most 63), found "Z"',
    ]);
  });

  test('an object that is broken keeps its last good version; its neighbours in the file change and go', () => {
    const { write, problems } = folderOf();
    write({ 'a.yaml': `${gateway('x')}---\n${namespace('y')}---\n${namespace('z')}` });
    const changes = write({ 'a.yaml': `${broken('x')}---\n${namespace('y', 'b')}` });
    expect(keys(changes)).toEqual(['+Namespace/y', '-Namespace/z']);
    expect(problems()).toEqual([
      expect.stringMatching(
        /^✖ a.yaml:8 {2}Gateway x\n {2}spec.listeners\[0\].port: expected an integer from 1 to 65535, found "http"\n {2}kept: the last good version \(\d\d:\d\d:\d\d\)$/,
      ),
    ]);
    expect(keys(write({ 'a.yaml': gateway('x', 81) }))).toEqual(['+Gateway/default/x', '-Namespace/y']);
    expect(problems()).toEqual([]);
  });

  test('an object that never was good is not there, and nothing is said to be kept', () => {
    const { write, problems } = folderOf();
    expect(keys(write({ 'a.yaml': `${broken('x')}---\n${namespace('y')}` }))).toEqual(['+Namespace/y']);
    expect(problems()[0]).not.toContain('kept');
  });

  test('a file that is not YAML keeps all its objects, and takes what can be read', () => {
    const { write, problems } = folderOf();
    write({ 'a.yaml': `${namespace('x')}---\n${namespace('y')}`, 'b.yaml': namespace('z') });
    expect(write({ 'a.yaml': '{{{ not yaml' })).toEqual([]);
    expect(problems()[0]).toMatch(/^✖ a.yaml:1\n {2}not YAML: .*\n {2}kept: the last good version/);
    expect(
      keys(write({ 'a.yaml': `${namespace('x', 'new')}---\n"`, 'b.yaml': namespace('z', 'new') })),
    ).toEqual(['+Namespace/x', '+Namespace/z']);
    expect(keys(write({ 'a.yaml': undefined }))).toEqual(['-Namespace/x', '-Namespace/y']);
    expect(problems()).toEqual([]);
  });

  test('a misspelt kind keeps the object that it was', () => {
    const { write } = folderOf();
    write({ 'a.yaml': gateway('x') });
    expect(write({ 'a.yaml': gateway('x').replace('kind: Gateway', 'kind: Gatway') })).toEqual([]);
  });

  test('an object in two files: the first path counts, and both places are named', () => {
    const { write, problems } = folderOf();
    write({ 'b.yaml': `${namespace('w')}---\n${namespace('x', 'b')}` });
    const changes = write({ 'a.yaml': namespace('x', 'a') });
    expect(changes[0]).toMatchObject({ key: 'x', value: { metadata: { labels: { label: 'a' } } } });
    expect(problems()).toEqual([
      '✖ b.yaml:6  Namespace x\n  expected each object in one file, found it at a.yaml:2 as well; that one is taken',
    ]);
    expect(write({ 'a.yaml': undefined })[0]).toMatchObject({
      key: 'x',
      value: { metadata: { labels: { label: 'b' } } },
    });
    expect(problems()).toEqual([]);
  });

  test('an object twice in one file: the first counts', () => {
    const { write, problems } = folderOf();
    const changes = write({ 'a.yaml': `${namespace('x', 'a')}---\n${namespace('x', 'b')}` });
    expect(changes).toHaveLength(1);
    expect(changes[0]).toMatchObject({ value: { metadata: { labels: { label: 'a' } } } });
    expect(problems()).toEqual([
      '✖ a.yaml:6  Namespace x\n  expected each object once, found it at line 2 as well; that one is taken',
    ]);
  });

  test('an object that moves to another file does not go in between', () => {
    const { write } = folderOf();
    write({ 'a.yaml': gateway('x') });
    expect(write({ 'a.yaml': undefined, 'b.yaml': gateway('x') })).toEqual([]);
  });

  test('kinds of others are a note', () => {
    const { write, problems } = folderOf();
    const foreign = 'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n';
    expect(keys(write({ 'a.yaml': `${foreign}---\n${namespace('x')}` }))).toEqual(['+Namespace/x']);
    expect(problems()).toEqual([
      '● a.yaml:2  Deployment d\n  kind: "Deployment" in "apps/v1" is not a kind that Causeway reads',
    ]);
  });
});

describe('identities', () => {
  const metadata = (changes: readonly Change[]) =>
    (changes[0] as Change & { value: { metadata: Metadata } }).value.metadata;

  test('a generation grows with the spec alone; age and uid stay until the object goes', () => {
    const { write } = folderOf();
    const first = metadata(write({ 'a.yaml': gateway('x') }));
    expect(first).toMatchObject({ generation: 1, creationTimestamp: '2026-01-01T00:00:01Z' });
    const labelled = metadata(
      write({ 'a.yaml': gateway('x').replace('name: x', 'name: x\n  labels: {a: b}') }),
    );
    expect(labelled).toEqual({ ...first, labels: { a: 'b' } });
    const second = metadata(write({ 'a.yaml': gateway('x', 81) }));
    expect(second).toMatchObject({ ...first, generation: 2 });
    write({ 'a.yaml': undefined });
    const again = metadata(write({ 'a.yaml': gateway('x', 81) }));
    expect(again).toMatchObject({ generation: 1, creationTimestamp: '2026-01-01T00:00:05Z' });
    expect(again.uid).not.toBe(first.uid);
  });

  test('what the file says counts, yet a generation never stands still when the spec changes', () => {
    const { write } = folderOf();
    const exported = (port: number) =>
      gateway('x', port).replace(
        'name: x',
        'name: x\n  uid: u1\n  generation: 7\n  creationTimestamp: "2020-01-01T00:00:00Z"',
      );
    expect(metadata(write({ 'a.yaml': exported(80) }))).toMatchObject({
      uid: 'u1',
      generation: 7,
      creationTimestamp: '2020-01-01T00:00:00Z',
    });
    expect(metadata(write({ 'a.yaml': exported(81) })).generation).toBe(8);
    expect(metadata(write({ 'a.yaml': exported(80) })).generation).toBe(9);
  });

  test('a process that remembers the entries gives the same answers', () => {
    const identities = new Identities();
    const folder = new Folder(identities);
    folder.set('a.yaml', parseFile('a.yaml', `${gateway('x')}---\n${gateway('y')}`), T0);
    folder.takeChanges(T0);
    folder.set('a.yaml', parseFile('a.yaml', gateway('x', 81)), T0);
    const before = folder.takeChanges(T0);
    const entries = JSON.parse(JSON.stringify(identities.takeChanged()));
    expect(identities.takeChanged()).toBeUndefined();

    const restarted = new Folder(new Identities(entries));
    restarted.set('a.yaml', parseFile('a.yaml', gateway('x', 81)), T0 + 1e6);
    expect(restarted.takeChanges(T0 + 1e6)).toEqual(before.filter((c) => c.value));
    restarted.set('b.yaml', parseFile('b.yaml', gateway('y')), T0 + 1e6);
    const fresh = new Folder(new Identities());
    fresh.set('b.yaml', parseFile('b.yaml', gateway('y')), T0 + 1e6);
    expect(metadata(restarted.takeChanges(T0 + 1e6)).uid).not.toBe(metadata(fresh.takeChanges(T0 + 1e6)).uid);
  });
});

describe('Any YAML gives an error with place or a condition; every neighbour keeps working', () => {
  const neighbour = `${namespace('neighbour')}---\n`;
  const deep = (n: number): string => `${'{a: '.repeat(n)}1${'}'.repeat(n)}`;
  const bomb = Array.from({ length: 20 }, (_, i) =>
    i === 0
      ? 'a0: &a0 {x: y}'
      : `a${i}: &a${i} [${Array(9)
          .fill(`*a${i - 1}`)
          .join(', ')}]`,
  ).join('\n');

  test.each([
    ['huge', `x: ${'y'.repeat(9_000_000)}`],
    [
      'wide',
      gateway('x').replace(
        '- {name: a',
        `${'- {name: a, protocol: TCP, port: 80}\n  '.repeat(70)}- {name: a`,
      ),
    ],
    ['deep', gateway('x').replace('{name: a', deep(5000))],
    ['deep in an unknown field', gateway('x').replace('spec:', `spec:\n  whatever: ${deep(500)}`)],
    ['duplicate keys', gateway('x').replace('spec:', 'spec:\n  gatewayClassName: other')],
    ['wrong types', gateway('x').replace('cluster-ip', '[cluster-ip]')],
    ['an alias bomb', `${bomb}\nkind: Gateway\n`],
    ['an alias bomb inside an object', gateway('x').replace('spec:', `${bomb}\nspec:`)],
    ['a cycle', gateway('x').replace('spec:', 'loop: &loop {a: *loop}\nspec:')],
    ['a merge key', gateway('x').replace('spec:', 'base: &b {a: b}\nspec:\n  <<: *b')],
    ['no object', '[1, 2]'],
    ['a number', '42'],
    ['binary', '\u0000\u0001\u0002'],
    ['a tab', 'a:\n\t- b'],
    ['prototype keys', '__proto__: {kind: Namespace}\nconstructor: x\n'],
  ])('%s', (_, text) => {
    const { write, problems, folder } = folderOf();
    expect(keys(write({ 'good.yaml': neighbour, 'bad.yaml': text }))).toEqual(['+Namespace/neighbour']);
    const errors = folder.problems().filter((p) => p.file === 'bad.yaml' && p.severity === 'error');
    expect(errors.length).toBeGreaterThan(0);
    for (const { line, column } of errors) expect(Math.min(line, column)).toBeGreaterThan(0);
    for (const text of problems()) expect(text).toMatch(/^✖ bad.yaml:\d+( {2}\S.*)?\n {2}\S/);
    expect(keys(write({ 'good.yaml': `${neighbour}${namespace('next')}` }))).toEqual(['+Namespace/next']);
  });

  test('of a file with very many mistakes the first hundred are told, and how many more there are', () => {
    const many = (n: number, text: string): string =>
      Array.from({ length: n }, () => `---\n${text}\n`).join('');
    const { write, folder } = folderOf();
    write({
      'bad.yaml': many(500, 'kind: Unknown\napiVersion: v1') + many(300, '{a: 1}') + many(30_000, 'a'),
    });
    const told = folder.problems();
    expect(told).toHaveLength(101);
    expect(told.every(({ severity }) => severity === 'error')).toBe(true);
    const messages = told.map(({ message }) => message);
    expect(messages).toContainEqual(expect.stringMatching(/^\d{5} more problems in this file are not shown/));
    expect(messages).toContainEqual(expect.stringContaining('nothing after this was read'));
  });

  test('aliases that grow too far are told once in a document', () => {
    const { write, folder } = folderOf();
    write({ 'bad.yaml': bomb });
    expect(folder.problems().map(({ message }) => message)).toEqual([
      'expected aliases for at most 10000 values, found more',
    ]);
  });

  test('unknown fields are dropped, and are no error', () => {
    const { write, problems } = folderOf();
    const [change] = write({ 'a.yaml': gateway('x').replace('spec:', 'spec:\n  unknown: {deep: [1, 2]}') });
    expect(change?.value).not.toHaveProperty('spec.unknown');
    expect(problems()).toEqual([]);
  });

  test('files made of pieces of good and bad YAML, in any order of edits', () => {
    const piece = fc.constantFrom(
      namespace('x'),
      namespace('y', 'b'),
      gateway('x'),
      broken('x'),
      gateway('x', 99),
      '---\n',
      '\n---\n',
      '"',
      '{{{',
      'kind: List\napiVersion: v1\nitems: [1]\n',
      '- ',
      '&a *a',
      'spec: [',
      '# comment\n',
    );
    const text = fc.oneof(
      fc.array(piece, { maxLength: 8 }).map((p) => p.join('---\n')),
      fc.array(piece, { maxLength: 4 }).map((p) => p.join('')),
      fc.string({ unit: 'binary' }),
    );
    const edit = fc.record({
      file: fc.constantFrom('a.yaml', 'b.yaml', 'c/d.yaml'),
      text: fc.option(text, { nil: undefined }),
    });
    fc.assert(
      fc.property(fc.array(edit, { maxLength: 12 }), (edits) => {
        const { write, problems } = folderOf();
        const inForce = new Map<string, unknown>();
        const apply = (changes: readonly Change[]): void => {
          for (const { kind, key, value } of changes) {
            if (value) inForce.set(`${kind}/${key}`, value);
            else expect(inForce.delete(`${kind}/${key}`)).toBe(true);
          }
        };
        apply(write({ 'good.yaml': namespace('neighbour') }));
        for (const { file, text } of edits) apply(write({ [file]: text }));
        problems();
        expect(inForce.has('Namespace/neighbour')).toBe(true);
        // Whatever went before, good files at the end say exactly what is in force.
        apply(write({ 'a.yaml': gateway('x', 1), 'b.yaml': namespace('x', 'z'), 'c/d.yaml': undefined }));
        expect([...inForce.keys()].sort()).toEqual([
          'Gateway/default/x',
          'Namespace/neighbour',
          'Namespace/x',
        ]);
        expect(problems()).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });
});
