import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { expect, test } from 'vitest';

const src = join(import.meta.dirname, '..', 'src');

/** Which top folders of src a folder may import from (beside itself). Only roles and cli know both ends. */
const allowed: Record<string, readonly string[]> = {
  api: ['wire'],
  wire: [],
  model: ['api', 'wire'],
  runtime: ['wire'],
  sources: ['model', 'api', 'wire', 'runtime'],
  outputs: ['model', 'api', 'wire', 'runtime'],
  roles: ['sources', 'outputs', 'model', 'api', 'wire', 'runtime'],
  cli: ['roles', 'sources', 'outputs', 'model', 'api', 'wire', 'runtime'],
  'main.ts': ['cli', 'roles', 'runtime'],
};

/** Packages and Node modules that the pure layers may use. */
const purePackages: Record<string, readonly string[]> = {
  model: ['ipaddr.js'],
  api: ['typebox', 'typebox/compile', 'typebox/value', 'ipaddr.js'],
};

const files = (readdirSync(src, { recursive: true }) as string[]).filter((f) => f.endsWith('.ts'));

function imports(file: string): string[] {
  const text = readFileSync(join(src, file), 'utf8');
  return [
    ...text.matchAll(
      /(?:^|\s)(?:import|export)\s[^'"]*?from\s+'([^']+)'|import\('([^']+)'\)|^import\s+'([^']+)'/gm,
    ),
  ].map((m) => (m[1] ?? m[2] ?? m[3]) as string);
}

const top = (path: string): string => path.split('/')[0] as string;

test('imports point one way: sources → model → outputs', () => {
  const wrong: string[] = [];
  for (const file of files) {
    const from = top(file);
    const isTest = file.endsWith('.test.ts');
    for (const target of imports(file)) {
      if (target.startsWith('.')) {
        const to = top(relative(src, normalize(join(src, dirname(file), target))));
        if (to === '..' || (to !== from && !allowed[from]?.includes(to) && !(isTest && from !== 'model'))) {
          wrong.push(`${file} imports ${target}`);
        }
      } else if (!isTest && purePackages[from] && !purePackages[from].includes(target)) {
        wrong.push(`${file} imports ${target}`);
      }
    }
  }
  expect(wrong).toEqual([]);
});

test('the model reads no clock, no randomness, no environment and does nothing asynchronous', () => {
  const wrong = files
    .filter((f) => top(f) === 'model' && !f.endsWith('.test.ts'))
    .filter((f) =>
      /\bDate\.now|new Date\(\)|Math\.random|process\.|\basync\b|\bawait\b|setTimeout/.test(
        readFileSync(join(src, f), 'utf8'),
      ),
    );
  expect(wrong).toEqual([]);
});

test('no file imports itself by way of others', () => {
  const targets = new Map(
    files.map((file) => {
      const local = imports(file).filter((target) => target.startsWith('.'));
      return [file, local.map((target) => normalize(join(dirname(file), target)))] as const;
    }),
  );
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (file: string, path: readonly string[]): void => {
    const at = path.indexOf(file);
    if (at >= 0) circles.push([...path.slice(at), file].join(' → '));
    if (at >= 0 || done.has(file)) return;
    for (const target of targets.get(file) ?? []) visit(target, [...path, file]);
    done.add(file);
  };
  for (const file of files) visit(file, []);
  expect(circles).toEqual([]);
});
