import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { yamlText } from '../wire/yaml-text.ts';
import type { Touched } from './compiled.ts';
import { dumpCompiled, dumpInputs } from './dump.ts';
import { isGoldenCase } from './golden-cases.ts';
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

/** What an update touched: rows as they are now, null for those that are gone. Problems in full. */
function dumpTouched(model: Model, touched: Touched): unknown {
  const full = dumpCompiled(model.compiled);
  const rows = Object.entries(touched).flatMap(([table, keys]) => {
    const now = full[table] as Readonly<Record<string, unknown>> | readonly string[] | undefined;
    if (keys.size === 0) return [];
    if (Array.isArray(now) || table === 'imports') return [[table, now ?? []]];
    const values = [...keys].sort().map((key) => [key, (now as Record<string, unknown>)?.[key] ?? null]);
    return [[table, Object.fromEntries(values)]];
  });
  return { ...Object.fromEntries(rows), problems: full.problems ?? [] };
}

/** What /debug/inputs shows, read back and compiled anew. */
function reopened(model: Model): string {
  const text = dumpInputs(model.config, model.inputs, model.now).map(yamlText).join('---\n');
  const { config, now, changes, errors } = readInputs(
    parseAllDocuments(text).map((document) => document.toJS()),
  );
  expect(errors).toEqual([]);
  const again = new Model(config);
  again.update(changes, now);
  return yamlText(dumpCompiled(again.compiled));
}

for (const name of readdirSync(root).filter(isGoldenCase).sort()) {
  const text = readFileSync(join(root, name, 'in.yaml'), 'utf8');
  const title = /^# (.+)$/m.exec(text)?.[1] ?? name;
  test(`${title} (testdata/${name})`, async () => {
    const [first, ...later] = steps(parseAllDocuments(text).map((document) => document.toJS()));
    const read = readInputs(first?.documents ?? []);
    const errors = [...read.errors];
    const model = new Model(read.config);
    model.update(read.changes, read.now);
    const out = [yamlText(dumpCompiled(model.compiled))];
    expect(reopened(model)).toBe(out[0]);
    for (const step of later) {
      const changes = readInputs(step.documents);
      errors.push(...changes.errors);
      const touched = model.update(changes.changes, read.now + step.at * 1000);
      out.push(`# after ${step.at} s\n${yamlText(dumpTouched(model, touched))}`);
    }
    expect(errors).toEqual([]);
    expect(model.compiled.problems.filter(({ code }) => code === 'Internal')).toEqual([]);
    await expect(out.join('---\n')).toMatchFileSnapshot(join(root, name, 'out.yaml'));
  });
}
