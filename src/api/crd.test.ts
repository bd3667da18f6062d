import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { customResourceDefinition } from './crd.ts';
import type { KindDefinition } from './kind.ts';
import { kinds } from './kinds.ts';
import { type Node, validate } from './validate.ts';

const ours: readonly KindDefinition[] = [kinds.CompositeBackend, kinds.XEndpointSelector];
const docs = join(import.meta.dirname, '..', '..', 'docs', 'crds');

const schemaOf = (definition: KindDefinition): Node => {
  const { spec } = customResourceDefinition(definition) as {
    spec: { versions: { schema: { openAPIV3Schema: Node } }[] };
  };
  return spec.versions[0]?.schema.openAPIV3Schema as Node;
};

test.each(ours)('the CRD of $kind is the one in docs/crds', async (definition) => {
  const crd = customResourceDefinition(definition);
  const yaml = stringify(crd, { lineWidth: 110, aliasDuplicateObjects: false });
  await expect(yaml).toMatchFileSnapshot(join(docs, `${definition.group}_${definition.crd?.plural}.yaml`));
});

/** The rules of structural schemas (Kubernetes documentation, "Specifying a structural schema"). */
function faults(schema: Node, path: string): string[] {
  const found: string[] = [];
  const intOrString = schema['x-kubernetes-int-or-string'] === true;
  if (!intOrString && schema.type === undefined) found.push(`${path}: no type`);
  if (intOrString && schema.type !== undefined) found.push(`${path}: type beside int-or-string`);
  for (const key of Object.keys(schema)) {
    const known =
      /^(type|properties|additionalProperties|items|required|enum|default|description|format|pattern|minimum|maximum|minLength|maxLength|minItems|maxItems|minProperties|maxProperties|x-kubernetes-(int-or-string|list-type|list-map-keys|validations))$/;
    if (!known.test(key) && !(intOrString && key === 'anyOf')) found.push(`${path}: ${key} is forbidden`);
  }
  if (schema.properties && schema.additionalProperties) found.push(`${path}: both properties and a map`);
  if (schema.type === 'array') {
    const { items } = schema;
    if (!items) found.push(`${path}: no items`);
    if (schema.maxItems === undefined) found.push(`${path}: unbounded`);
    for (const key of (schema['x-kubernetes-list-map-keys'] as string[] | undefined) ?? []) {
      const demanded = items?.required?.includes(key) || items?.properties?.[key]?.default !== undefined;
      if (!demanded) found.push(`${path}: list key ${key} may be absent`);
    }
    if (schema['x-kubernetes-list-type'] === 'set' && items?.type === 'object')
      found.push(`${path}: a set of objects`);
  }
  for (const field of schema.required ?? []) {
    if (!schema.properties?.[field]) found.push(`${path}: requires ${field}, which it does not have`);
  }
  // A default is judged by the rules before the defaults inside it are filled in.
  for (const { rule } of (schema['x-kubernetes-validations'] as { rule: string }[] | undefined) ?? []) {
    for (const [, field = ''] of rule.matchAll(/\bself\.(\w+)(?!\w*\()/g)) {
      if (!schema.required?.includes(field) && !rule.includes(`has(self.${field})`)) {
        found.push(`${path}: a rule reads ${field}, which may be absent`);
      }
    }
  }
  if (schema.default !== undefined) {
    for (const error of validate(schema, schema.default, path).errors)
      found.push(`default of ${error.path}: ${error.message}`);
  }
  for (const [name, child] of Object.entries(schema.properties ?? {})) {
    if (path !== '' || !['apiVersion', 'kind', 'metadata'].includes(name))
      found.push(...faults(child, `${path}.${name}`));
  }
  if (schema.items) found.push(...faults(schema.items, `${path}[]`));
  if (schema.additionalProperties) found.push(...faults(schema.additionalProperties, `${path}{}`));
  return found;
}

test.each(ours)('the schema of $kind is structural', (definition) => {
  expect(faults(schemaOf(definition), '')).toEqual([]);
});

test('the check of structural schemas finds what is wrong', () => {
  expect(faults({ properties: { a: {} } }, '')).toEqual([': no type', '.a: no type']);
  expect(faults({ type: 'object', patternProperties: {} }, 'x')).toEqual([
    'x: patternProperties is forbidden',
  ]);
  const rule = { type: 'object', properties: {}, 'x-kubernetes-validations': [{ rule: 'self.a == 1' }] };
  expect(faults(rule, 'x')).toEqual(['x: a rule reads a, which may be absent']);
  expect(faults({ type: 'integer', minimum: 1, maximum: 2, default: 3 }, 'x')).toHaveLength(1);
});

test.each(ours)('every field of $kind says what it is for', (definition) => {
  const silent: string[] = [];
  const walk = (schema: Node, path: string, depth: number): void => {
    for (const [name, child] of Object.entries(schema.properties ?? {})) {
      if (depth === 1 && !child.description && child.type !== 'object') silent.push(`${path}.${name}`);
      walk(child, `${path}.${name}`, depth + 1);
    }
  };
  walk(definition.schema as unknown as Node, '', 0);
  expect(silent).toEqual([]);
});
