import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..', '..');
const read = (...path: string[]): string => readFileSync(join(root, ...path), 'utf8');
const doc = read('docs', 'seeing-why.md');

/** Words in backticks of the table rows that begin with `start`. */
function documented(start: string): readonly string[] {
  const row = doc.split('\n').find((line) => line.startsWith(`| ${start}`)) ?? '';
  return [...row.matchAll(/`(\w+)`/g)].map((m) => m[1] as string);
}

/** Every key of an object, those of objects in it included. */
function keysOf(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(keysOf);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, field]) => [key, ...keysOf(field)]);
}

test('the fields of explain are documented, and those that are documented are there', () => {
  const answer = JSON.parse(read('testdata', 'composite', 'explain.json')) as Record<string, unknown>;
  const rows = [
    '`/api/explain`',
    '`causes`',
    '`frontend`',
    '`ports`',
    '`backends`',
    '`clusters`',
    '`nodes`',
    '`client`',
  ];
  const relays = ['relay', 'connected', 'error'];
  const promised = [...rows.flatMap(documented), ...relays];
  expect([...new Set(keysOf(answer))].filter((key) => !promised.includes(key))).toEqual([]);
  // What this case has none of.
  const elsewhere = ['explain', 'offer', 'notUsed', 'why'];
  const absent = promised.filter((key) => !keysOf(answer).includes(key) && !elsewhere.includes(key));
  expect(absent).toEqual([]);
});

test('every reason that explain and verify give is documented', () => {
  const folders = [
    ['src', 'model', 'explain'],
    ['src', 'cli'],
    ['src', 'cli', 'verify'],
    ['src', 'roles', 'controller'],
  ];
  const sources = folders.flatMap((folder) =>
    readdirSync(join(root, ...folder))
      .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
      .map((file) => read(...folder, file)),
  );
  const text = [...sources, read('src', 'outputs', 'xds', 'acks.ts')].join('\n');
  const given = [...text.matchAll(/reason: '([A-Z]\w+)'|\bcause\(\s*'([A-Z]\w+)'/g)].map((m) => m[1] ?? m[2]);
  const known = `${doc}\n${read('docs', 'errors.md')}`;
  const quiet = ['Held'];
  const missing = [...new Set(given)].filter(
    (reason) => !known.includes(`\`${reason}\``) && !quiet.includes(reason ?? ''),
  );
  expect(given.length).toBeGreaterThan(20);
  expect(missing).toEqual([]);
});
