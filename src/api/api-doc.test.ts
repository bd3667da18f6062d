import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { apiVersionOf, type KindDefinition } from './kind.ts';
import { type Kind, kinds } from './kinds.ts';
import { expects, type Node } from './validate.ts';

const doc = join(import.meta.dirname, '..', '..', 'docs', 'api.md');

interface Row {
  readonly field: string;
  readonly type: string;
  readonly fallback: string;
  readonly about: string;
}

function rows(schema: Node, path: string): Row[] {
  const found: Row[] = [];
  for (const [name, child] of Object.entries(schema.properties ?? {})) {
    const field = path === '' ? name : `${path}.${name}`;
    const required = schema.required?.includes(name) && child.default === undefined;
    const fallback =
      child.default === undefined ? (required ? 'required' : '') : `\`${JSON.stringify(child.default)}\``;
    const nested = child.items ?? child;
    const suffix = child.items ? '[]' : '';
    if (child.type !== 'object' || child.additionalProperties || child.description) {
      found.push({ field, type: typeOf(child), fallback, about: child.description?.toString() ?? '' });
    }
    found.push(...rows(nested, field + suffix));
  }
  return found;
}

function typeOf(schema: Node): string {
  const items = schema.items && !schema.items.properties ? ` (each: ${expects(schema.items)})` : '';
  return (expects(schema) + items).replaceAll('|', '\\|');
}

function fieldTable(definition: KindDefinition): string {
  const found = rows(definition.schema as unknown as Node, '');
  if (found.length === 0) return 'Its name, labels and deletion are all that is read.';
  const lines = found.map((r) => `| \`${r.field}\` | ${r.type} | ${r.fallback} | ${r.about} |`);
  return ['| field | what it must be | default | |', '|---|---|---|---|', ...lines].join('\n');
}

function kindSection(definition: KindDefinition): string {
  const [, ...older] = definition.versions;
  const also = older.length > 0 ? `; ${older.map((v) => `\`${v}\``).join(', ')} as well` : '';
  return `### ${definition.kind}\n\n\`${apiVersionOf(definition)}\`${also}\n\n${fieldTable(definition)}`;
}

const definitionOf = (kind: string): KindDefinition => {
  const definition = kinds[kind as Kind];
  if (!definition) throw new Error(`docs/api.md names ${kind}, which is not read`);
  return definition;
};

test('docs/api.md has every field that is read, as the definitions say', async () => {
  const text = readFileSync(doc, 'utf8');
  const mentioned: string[] = [];
  const made = text.replace(
    /<!-- (fields|kinds): ([\w ]+) -->\n[\s\S]*?<!-- end -->/g,
    (_, what: string, names: string) => {
      const definitions = names.split(' ').map(definitionOf);
      mentioned.push(...names.split(' '));
      const body = definitions.map(what === 'fields' ? fieldTable : kindSection).join('\n\n');
      return `<!-- ${what}: ${names} -->\n${body}\n<!-- end -->`;
    },
  );
  expect(mentioned.sort()).toEqual(Object.keys(kinds).sort());
  await expect(made).toMatchFileSnapshot(doc);
});
