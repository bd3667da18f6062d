import type { TObject } from 'typebox';
import { dnsLabel, dnsSubdomain } from './fields.ts';
import { type KindDefinition, metadata, ownAnnotation } from './kind.ts';
import { nearest } from './nearest.ts';
import { type FieldError, object, text } from './schema.ts';
import { type Node, quote, validate } from './validate.ts';

export interface ProjectionFailure {
  /** A kind of somebody else's, which is not read: no mistake. */
  readonly unknownKind: boolean;
  /** As far as they are known; empty otherwise. */
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** At least one. */
  readonly errors: readonly FieldError[];
}

type Definitions = ReadonlyMap<string, KindDefinition>;
type Fields = Readonly<Record<string, unknown>>;

/** `project` of `kinds.ts` over any set of kinds. */
export function projectObject(
  definitions: Definitions,
  raw: unknown,
): { kind: string; key: string; value: unknown } | ProjectionFailure {
  try {
    return projectFields(definitions, raw);
  } catch (error) {
    const message = `expected plain data, found a value that cannot be read (${describeThrown(error)})`;
    return { unknownKind: false, kind: '', namespace: '', name: '', errors: [{ path: '', message }] };
  }
}

function projectFields(
  definitions: Definitions,
  raw: unknown,
): { kind: string; key: string; value: unknown } | ProjectionFailure {
  const top = fieldsOf(raw);
  if (!top) return failure({}, [{ path: '', message: `expected an object, found ${quote(raw)}` }]);
  const missing = ['apiVersion', 'kind'].filter((f) => typeof top[f] !== 'string' || top[f] === '');
  if (missing.length > 0) {
    return failure(
      top,
      missing.map((f) => ({ path: f, message: `expected a string, found ${quote(top[f])}` })),
    );
  }
  const kind = String(top.kind);
  const definition = definitions.get(kind);
  const foreign = notRead(definitions, kind, String(top.apiVersion));
  if (!definition || foreign) {
    return { ...failure(top, foreign ? [foreign.error] : []), unknownKind: foreign?.unknownKind ?? true };
  }
  const { value, errors } = validate(recordSchema(definition), prepare(definition, top));
  if (errors.length > 0) return failure(top, errors);
  const { metadata: meta } = value as { metadata: { namespace: string; name: string } };
  return { kind, key: definition.namespaced ? `${meta.namespace}/${meta.name}` : meta.name, value };
}

const schemas = new WeakMap<KindDefinition, Node>();

function recordSchema(definition: KindDefinition): Node {
  let schema = schemas.get(definition);
  if (!schema) {
    const name = definition.name === 'label' ? dnsLabel() : dnsSubdomain();
    const namespace = definition.namespaced
      ? dnsLabel({ default: 'default' })
      : text({ maxLength: 0, default: '' });
    const record: TObject = object({
      metadata: object({ ...metadata.properties, name, namespace }),
      ...definition.schema.properties,
    });
    schema = record as unknown as Node;
    schemas.set(definition, schema);
  }
  return schema;
}

/** Leaves out what is not kept and must not be checked, and turns old singular fields into their lists. */
function prepare(definition: KindDefinition, top: Fields): Fields {
  const prepared: Record<string, unknown> = { ...top };
  const meta = fieldsOf(top.metadata);
  if (meta) {
    const { annotations, namespace, ...rest } = meta;
    const given = fieldsOf(annotations);
    const kept =
      given && Object.fromEntries(Object.entries(given).filter(([key]) => key.startsWith(ownAnnotation)));
    prepared.metadata = { ...rest, annotations: kept, ...(definition.namespaced ? { namespace } : {}) };
  }
  for (const { section, one, many, field } of definition.singular ?? []) {
    const part = fieldsOf(top[section]);
    const value = part?.[one];
    const listed = part?.[many];
    if (!part || typeof value !== 'string' || value === '' || (Array.isArray(listed) && listed.length > 0))
      continue;
    prepared[section] = { ...part, [many]: [field === undefined ? value : { [field]: value }] };
  }
  return prepared;
}

/** A kind or version that is not read: a mistake when the group is one we know the kinds of, else a note. */
function notRead(
  definitions: Definitions,
  kind: string,
  apiVersion: string,
): { unknownKind: boolean; error: FieldError } | undefined {
  const slash = apiVersion.indexOf('/');
  const group = apiVersion.slice(0, Math.max(0, slash));
  const version = apiVersion.slice(slash + 1);
  const definition = definitions.get(kind);
  if (definition?.group === group) {
    if (definition.versions.includes(version)) return undefined;
    const versions = definition.versions.map((v) => `"${group === '' ? v : `${group}/${v}`}"`).join(' or ');
    const message = `expected ${versions} for kind ${kind}, found ${quote(apiVersion)}`;
    return { unknownKind: false, error: { path: 'apiVersion', message } };
  }
  const near = definition ?? misspeltKind(definitions, kind, group);
  const hint = near && {
    hint: `did you mean apiVersion "${near.group === '' ? '' : `${near.group}/`}${near.versions[0]}", kind "${near.kind}"?`,
  };
  // In a group that is ours alone nobody else can mean anything by an unknown kind.
  const mistake = group === 'causeway.dev' || (near !== undefined && near !== definition);
  const message = `${quote(kind)} in ${quote(apiVersion)} is not a kind that Causeway reads`;
  return { unknownKind: !mistake, error: { path: 'kind', message, ...hint } };
}

/** Kinds of the Gateway API's groups that exist, look like one that is read, and are not. */
const notOurs = new Set(['HTTPRoute', 'GRPCRoute', 'TLSRoute', 'ListenerSet', 'BackendTLSPolicy', 'XMesh']);

function misspeltKind(definitions: Definitions, kind: string, group: string): KindDefinition | undefined {
  if (notOurs.has(kind)) return undefined;
  const ofGroup = [...definitions.values()].filter(
    (d) => group === 'causeway.dev' || (d.group === group && group.startsWith('gateway.networking.')),
  );
  const near = nearest(
    kind,
    ofGroup.map((d) => d.kind),
  );
  return near === undefined ? undefined : definitions.get(near);
}

function failure(top: Fields, errors: readonly FieldError[]): ProjectionFailure {
  const meta = fieldsOf(top.metadata);
  const word = (value: unknown) => (typeof value === 'string' ? value.slice(0, 253) : '');
  return {
    unknownKind: false,
    kind: word(top.kind),
    namespace: word(meta?.namespace),
    name: word(meta?.name),
    errors,
  };
}

function fieldsOf(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
}

function describeThrown(error: unknown): string {
  try {
    return quote(error instanceof Error ? error.message : String(error));
  } catch {
    return 'reading it fails';
  }
}
