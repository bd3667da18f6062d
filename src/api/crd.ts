import type { KindDefinition } from './kind.ts';
import { type Rule, rulesKey } from './schema.ts';
import type { Node } from './validate.ts';

/** The CustomResourceDefinition of a kind of ours, as data. Its schema is the definition's own, structural. */
export function customResourceDefinition(definition: KindDefinition): Record<string, unknown> {
  const { crd, kind, group, versions, schema, namespaced } = definition;
  if (!crd) throw new TypeError(`${kind} is not a kind of ours`);
  const properties = (schema as unknown as Node).properties ?? {};
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${crd.plural}.${group}` },
    spec: {
      group,
      scope: namespaced ? 'Namespaced' : 'Cluster',
      names: {
        kind,
        listKind: `${kind}List`,
        plural: crd.plural,
        singular: kind.toLowerCase(),
        shortNames: crd.shortNames,
        categories: ['gateway-api'],
      },
      versions: versions.map((name, i) => ({
        name,
        served: true,
        storage: i === 0,
        additionalPrinterColumns: crd.columns,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            description: crd.description,
            ...demands(schema as unknown as Node),
            properties: {
              apiVersion: { type: 'string' },
              kind: { type: 'string' },
              metadata: { type: 'object' },
              ...mapValues(properties, structural),
              status: structural(crd.status as unknown as Node),
            },
          },
        },
        subresources: { status: {} },
      })),
    },
  };
}

/** A schema of ours without our own keys; rules become CEL. */
function structural(schema: Node): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(schema)) {
    if (key.startsWith('~')) continue;
    if (key === 'properties') out.properties = mapValues(value as Record<string, Node>, structural);
    else if (key === 'items' || key === 'additionalProperties') out[key] = structural(value as Node);
    else if (key !== 'required') out[key] = value;
  }
  Object.assign(out, demands(schema));
  const cel = ((schema[rulesKey] as readonly Rule[] | undefined) ?? []).flatMap((r) => r.cel ?? []);
  if (cel.length > 0) out['x-kubernetes-validations'] = cel;
  return out;
}

/** What a user must write: a field with a default is always there, yet never demanded. */
const demands = (schema: Node): { required?: string[] } => {
  const required = (schema.required ?? []).filter(
    (field) => schema.properties?.[field]?.default === undefined,
  );
  return required.length > 0 ? { required } : {};
};

const mapValues = <T, U>(record: Readonly<Record<string, T>>, fn: (value: T) => U): Record<string, U> =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, fn(value)]));
