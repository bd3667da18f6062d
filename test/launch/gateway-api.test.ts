import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import type { KindDefinition } from '../../src/api/kind.ts';
import { kinds, project } from '../../src/api/kinds.ts';
import type { Node } from '../../src/api/validate.ts';
import { gatewayApiModule } from '../gateway-api/module.ts';

let module: string;
beforeAll(() => {
  module = gatewayApiModule();
});

const ours = new Set(['CompositeBackend', 'XEndpointSelector']);
const upstream = (Object.values(kinds) as readonly KindDefinition[]).filter(
  ({ group, kind }) => group.startsWith('gateway.networking.') && !ours.has(kind),
);

interface Crd {
  readonly spec: {
    readonly versions: readonly {
      readonly name: string;
      readonly schema: { readonly openAPIV3Schema: Node };
    }[];
  };
}

function crdOf({ group, kind }: KindDefinition): Crd {
  const plural = `${kind.toLowerCase()}${kind.endsWith('s') ? 'es' : 's'}`;
  const file = join(module, 'config', 'crd', 'experimental', `${group}_${plural}.yaml`);
  return parse(readFileSync(file, 'utf8')) as Crd;
}

const compared = [
  'type',
  'enum',
  'default',
  'format',
  'pattern',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
] as const;

/** Where a definition of ours says something else than the CRD, of the fields that are read. */
function differences(own: Node, theirs: Node | undefined, path: string): string[] {
  if (!theirs) return [`${path}: the CRD has no such field`];
  const found = compared
    .filter((key) => JSON.stringify(sorted(own[key])) !== JSON.stringify(sorted(theirs[key])))
    .map((key) => `${path}: ${key} ${show(own[key])}, in the CRD ${show(theirs[key])}`);
  const demands = (node: Node) =>
    (node.required ?? [])
      .filter((f) => own.properties?.[f] && node.properties?.[f]?.default === undefined)
      .sort();
  if (own.properties && demands(own).join() !== demands(theirs).join()) {
    found.push(
      `${path}: requires ${demands(own).join() || 'nothing'}, in the CRD ${demands(theirs).join() || 'nothing'}`,
    );
  }
  for (const [field, child] of Object.entries(own.properties ?? {})) {
    found.push(...differences(child, theirs.properties?.[field], `${path}.${field}`));
  }
  if (own.items) found.push(...differences(own.items, theirs.items, `${path}[]`));
  if (own.additionalProperties)
    found.push(...differences(own.additionalProperties, theirs.additionalProperties, `${path}{}`));
  return found;
}

/** Without what makes no difference: the order of values, a least length of 0, an absent list that is empty. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? undefined : [...value].sort();
  return value === 0 ? undefined : value;
}
const show = (value: unknown): string => JSON.stringify(value) ?? 'none';

test('definitions say what the CRDs say, but for what docs/api.md lists', () => {
  const found = upstream.flatMap((definition) => {
    const { versions } = crdOf(definition).spec;
    const own = (definition.schema as unknown as Node).properties?.spec as Node;
    const byVersion = definition.versions.map((name) => {
      const theirs = versions.find((v) => v.name === name)?.schema.openAPIV3Schema;
      return { name, lines: differences(own, theirs?.properties?.spec, 'spec') };
    });
    const always =
      byVersion[0]?.lines.filter((line) => byVersion.every(({ lines }) => lines.includes(line))) ?? [];
    return [
      ...always.map((line) => `${definition.kind} ${line}`),
      ...byVersion.flatMap(({ name, lines }) =>
        lines.filter((line) => !always.includes(line)).map((line) => `${definition.kind} ${name} ${line}`),
      ),
    ];
  });
  const doc = readFileSync(join(import.meta.dirname, '../../docs/api.md'), 'utf8');
  const listed = /<!-- differences -->\n+```\n([\s\S]*?)```/.exec(doc)?.[1] ?? '';
  expect(found.join('\n')).toBe(listed.trimEnd());
});

test('every version of ours is one of the CRD’s', () => {
  for (const definition of upstream) {
    const served = crdOf(definition).spec.versions.map((v) => v.name);
    expect(definition.versions.filter((name) => !served.includes(name))).toEqual([]);
  }
});

function documents(folder: string): { file: string; object: { kind: string; metadata: { name: string } } }[] {
  return (readdirSync(join(module, folder), { recursive: true }) as string[])
    .filter((file) => file.endsWith('.yaml'))
    .sort()
    .flatMap((file) =>
      parseAllDocuments(readFileSync(join(module, folder, file), 'utf8'))
        .map((document) => document.toJS())
        .filter((object) => upstream.some(({ kind }) => kind === object?.kind))
        .map((object) => ({ file: join(folder, file), object })),
    );
}

describe('the Gateway API’s own manifests', () => {
  test('the examples are valid', () => {
    const examples = documents('examples');
    expect(new Set(examples.map(({ object }) => object.kind)).size).toBeGreaterThanOrEqual(5);
    const refused = examples.flatMap(({ file, object }) => {
      const result = project(object);
      return 'errors' in result ? [`${file} ${object.metadata.name}: ${JSON.stringify(result.errors)}`] : [];
    });
    expect(refused).toEqual([]);
  });

  test('the invalid examples are not', () => {
    const invalid = documents('hack/invalid-examples');
    expect(invalid.length).toBeGreaterThanOrEqual(12);
    const accepted = invalid.filter(({ object }) => !('errors' in project(object))).map(({ file }) => file);
    expect(accepted).toEqual([]);
  });
});
