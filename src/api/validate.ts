import { nearest } from './nearest.ts';
import { expectsKey, type FieldError, type Rule, rulesKey } from './schema.ts';

/** A schema as the vocabulary of `schema.ts` makes it. */
export interface Node {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Node;
  readonly items?: Node;
  readonly enum?: readonly string[];
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly [key: string]: unknown;
}

const maxErrors = 20;

/**
 * Checks `raw` against a schema and gives the value reduced to the schema's fields, defaults applied as the API
 * server applies them (null counts as absent). Its work is bounded by the schema, whatever `raw` is; it throws
 * only what a getter of `raw` throws.
 */
export function validate(schema: Node, raw: unknown, path = ''): { value: unknown; errors: FieldError[] } {
  const errors: FieldError[] = [];
  const value = check(schema, raw, path, errors);
  return { value, errors: errors.slice(0, maxErrors) };
}

function check(schema: Node, raw: unknown, path: string, errors: FieldError[]): unknown {
  if (errors.length >= maxErrors) return undefined;
  const before = errors.length;
  const value = checkType(schema, raw, path, errors);
  if (errors.length > before) return undefined;
  for (const rule of (schema[rulesKey] as readonly Rule[] | undefined) ?? []) {
    for (const error of rule.check(value)) errors.push({ ...error, path: join(path, error.path) });
  }
  return value;
}

function checkType(schema: Node, raw: unknown, path: string, errors: FieldError[]): unknown {
  if (schema['x-kubernetes-int-or-string']) {
    return typeof raw === 'string'
      ? checkText(schema, raw, path, errors)
      : checkInteger(schema, raw, path, errors);
  }
  switch (schema.type) {
    case 'object':
      return schema.additionalProperties
        ? checkMap(schema, schema.additionalProperties, raw, path, errors)
        : checkObject(schema, raw, path, errors);
    case 'array':
      return checkList(schema, raw, path, errors);
    case 'integer':
      return checkInteger(schema, raw, path, errors);
    case 'boolean':
      return typeof raw === 'boolean' ? raw : mismatch(schema, raw, path, errors);
    default:
      return checkText(schema, raw, path, errors);
  }
}

function checkObject(schema: Node, raw: unknown, path: string, errors: FieldError[]): unknown {
  if (!isObject(raw)) return mismatch(schema, raw, path, errors);
  const value: Record<string, unknown> = {};
  for (const [field, child] of Object.entries(schema.properties ?? {})) {
    const given = Object.hasOwn(raw, field) ? raw[field] : undefined;
    const present = given !== undefined && given !== null;
    if (!present && child.default === undefined) {
      if (schema.required?.includes(field)) {
        const hint = misspelled(raw, field, schema);
        errors.push({
          path: join(path, field),
          message: `expected ${expects(child)}, found none`,
          ...(hint === undefined ? {} : { hint: `did you mean "${field}" where it says ${quote(hint)}?` }),
        });
      }
      continue;
    }
    value[field] = check(child, present ? given : child.default, join(path, field), errors);
  }
  return value;
}

function checkMap(schema: Node, values: Node, raw: unknown, path: string, errors: FieldError[]): unknown {
  if (!isObject(raw)) return mismatch(schema, raw, path, errors);
  const keys = Object.keys(raw);
  if (!inRange(keys.length, schema.minProperties, schema.maxProperties)) {
    return mismatch(schema, `${keys.length} entries`, path, errors, true);
  }
  const value: Record<string, unknown> = Object.create(null);
  for (const key of keys) {
    const entry = raw[key];
    value[key] = check(values, entry, `${path}[${quote(key)}]`, errors);
  }
  return value;
}

function checkList(schema: Node, raw: unknown, path: string, errors: FieldError[]): unknown {
  if (!Array.isArray(raw)) return mismatch(schema, raw, path, errors);
  if (!inRange(raw.length, schema.minItems, schema.maxItems)) {
    return mismatch(schema, `${raw.length} items`, path, errors, true);
  }
  const value: unknown[] = [];
  for (let i = 0; i < raw.length && errors.length < maxErrors; i += 1) {
    value.push(check(schema.items ?? {}, raw[i], `${path}[${i}]`, errors));
  }
  const listKeys = schema['x-kubernetes-list-map-keys'] as readonly string[] | undefined;
  if (listKeys || schema['x-kubernetes-list-type'] === 'set') repeated(value, listKeys, path, errors);
  return value;
}

/** Items with the same keys (or, in a set, the same items). */
function repeated(
  items: readonly unknown[],
  keys: readonly string[] | undefined,
  path: string,
  errors: FieldError[],
): void {
  const seen = new Map<string, number>();
  for (const [i, item] of items.entries()) {
    if (item === undefined) continue;
    const id = keys
      ? keys.map((k) => `${k} ${quote((item as Record<string, unknown>)[k])}`).join(', ')
      : quote(item);
    const first = seen.get(id);
    if (first === undefined) seen.set(id, i);
    else
      errors.push({ path: `${path}[${i}]`, message: `expected ${id} once, found it in [${first}] as well` });
  }
}

function checkInteger(schema: Node, raw: unknown, path: string, errors: FieldError[]): unknown {
  if (typeof raw === 'number' && Number.isSafeInteger(raw) && inRange(raw, schema.minimum, schema.maximum)) {
    return raw;
  }
  return mismatch(schema, raw, path, errors);
}

const patterns = new Map<string, RegExp>();

function checkText(schema: Node, raw: unknown, path: string, errors: FieldError[]): unknown {
  if (typeof raw !== 'string') return mismatch(schema, raw, path, errors);
  if (schema.enum) {
    if (schema.enum.includes(raw)) return raw;
    const near = nearest(raw, schema.enum);
    errors.push({
      path,
      message: `expected ${expects(schema)}, found ${quote(raw)}`,
      ...(near === undefined ? {} : { hint: `did you mean "${near}"?` }),
    });
    return undefined;
  }
  // The length first: it bounds what a pattern may cost.
  if (!inRange(raw.length, schema.minLength, schema.maxLength)) {
    return mismatch(
      schema,
      raw.length > 80 ? `${raw.length} characters` : raw,
      path,
      errors,
      raw.length > 80,
    );
  }
  if (schema.pattern !== undefined) {
    let pattern = patterns.get(schema.pattern);
    if (!pattern) {
      pattern = new RegExp(schema.pattern, 'u');
      patterns.set(schema.pattern, pattern);
    }
    if (!pattern.test(raw)) return mismatch(schema, raw, path, errors);
  }
  return raw;
}

function mismatch(
  schema: Node,
  raw: unknown,
  path: string,
  errors: FieldError[],
  verbatim = false,
): undefined {
  const found = verbatim ? String(raw) : quote(raw);
  const text = typeof raw === 'number' || typeof raw === 'boolean';
  errors.push({
    path,
    message: `expected ${expects(schema)}, found ${found}`,
    ...(text && schema.type === 'string' ? { hint: `quote it: "${String(raw)}"` } : {}),
  });
  return undefined;
}

/** What a value must be, in words. */
export function expects(schema: Node): string {
  const own = schema[expectsKey];
  if (typeof own === 'string') return own;
  if (schema.enum) return schema.enum.map((v) => `"${v}"`).join(' or ');
  switch (schema.type) {
    case 'object':
      return schema.additionalProperties
        ? `a map${range(schema.minProperties, schema.maxProperties, ' with', 'entries')}`
        : 'an object';
    case 'array':
      return `a list${range(schema.minItems, schema.maxItems, ' of', 'items')}`;
    case 'integer':
      return `an integer from ${schema.minimum} to ${schema.maximum}`;
    case 'boolean':
      return 'true or false';
    default:
      return `a string${range(schema.minLength, schema.maxLength, ' of', 'characters')}`;
  }
}

function range(min: number | undefined, max: number | undefined, of: string, unit: string): string {
  if (max === undefined) return min === undefined ? '' : `${of} at least ${min} ${unit}`;
  if (min === max) return `${of} exactly ${max} ${max === 1 ? unit.replace(/s$/, '') : unit}`;
  return min === undefined || min === 0 ? `${of} at most ${max} ${unit}` : `${of} ${min} to ${max} ${unit}`;
}

/** A value for a message: short, on one line, whatever it is. */
export function quote(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value);
    case 'object':
      if (value === null) return 'null';
      return Array.isArray(value) ? `a list of ${value.length}` : 'an object';
    case 'undefined':
      return 'none';
    case 'number':
    case 'boolean':
      return String(value);
    default:
      return `a ${typeof value}`;
  }
}

/** A field that is given, unknown, and looks like `field`. */
function misspelled(raw: Readonly<Record<string, unknown>>, field: string, schema: Node): string | undefined {
  const unknown = Object.keys(raw)
    .slice(0, 100)
    .filter((key) => !Object.hasOwn(schema.properties ?? {}, key));
  return nearest(field, unknown);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const inRange = (n: number, min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY) =>
  n >= min && n <= max;

function join(path: string, field: string): string {
  if (path === '' || field === '') return path + field;
  return field.startsWith('[') ? path + field : `${path}.${field}`;
}
