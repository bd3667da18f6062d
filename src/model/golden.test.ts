import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { yamlText } from '../wire/yaml-text.ts';
import { dumpCompiled } from './dump.ts';
import { Model } from './model.ts';
import { readInputs } from './read-inputs.ts';

const root = join(import.meta.dirname, '..', '..', 'testdata');

/** `kind: Step` starts another update; `at`: seconds since the first. */
function steps(documents: readonly unknown[]): { at: number; documents: unknown[] }[] {
  const found: { at: number; documents: unknown[] }[] = [{ at: 0, documents: [] }];
  for (const document of documents) {
    if (document !== null && (document as { kind?: unknown }).kind === 'Step') {
      found.push({ at: Number((document as { at?: unknown }).at ?? found.at(-1)?.at), documents: [] });
    } else found.at(-1)?.documents.push(document);
  }
  return found;
}

for (const name of readdirSync(root).sort()) {
  const text = readFileSync(join(root, name, 'in.yaml'), 'utf8');
  const title = /^# (.+)$/m.exec(text)?.[1] ?? name;
  test(`${title} (testdata/${name})`, async () => {
    const [first, ...later] = steps(parseAllDocuments(text).map((document) => document.toJS()));
    const read = readInputs(first?.documents ?? []);
    const model = new Model(read.config);
    const out: string[] = [];
    const errors = [...read.errors];
    model.update(read.changes, 0);
    out.push(yamlText(dumpCompiled(model.compiled)));
    for (const step of later) {
      const changes = readInputs(step.documents);
      errors.push(...changes.errors);
      model.update(changes.changes, step.at * 1000);
      out.push(yamlText(dumpCompiled(model.compiled)));
    }
    expect(errors).toEqual([]);
    await expect(out.join('---\n')).toMatchFileSnapshot(join(root, name, 'out.yaml'));
  });
}
