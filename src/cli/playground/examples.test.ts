import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { project } from '../../api/kinds.ts';

const folder = join(import.meta.dirname, '..', '..', '..', 'examples');
const files = (readdirSync(folder, { recursive: true }) as string[]).filter((f) => f.endsWith('.yaml'));

test.each(files)('examples/%s is valid', (file) => {
  const documents = parseAllDocuments(readFileSync(join(folder, file), 'utf8'));
  expect(documents.length).toBeGreaterThan(0);
  for (const document of documents) {
    expect(document.errors).toEqual([]);
    const projected = project(document.toJS());
    expect('errors' in projected ? projected.errors : []).toEqual([]);
  }
});

test('the README names every example', () => {
  const readme = readFileSync(join(folder, 'README.md'), 'utf8');
  expect(files.filter((f) => !readme.includes(f) && !readme.includes(`](${f.split('/')[0]})`))).toEqual([]);
});
