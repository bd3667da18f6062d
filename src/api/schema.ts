import { type Static, type TProperties, type TSchema, Type } from 'typebox';

/**
 * The vocabulary that kinds are defined with: TypeBox schemas that are structural OpenAPI v3 as they stand, so
 * that one definition gives the type, the validation, the defaults and the CRD. A field with a default is not
 * optional in the type: it is there after projection.
 */

/** What is wrong with one field. */
export interface FieldError {
  /** As `spec.listeners[0].port`; empty: the whole object. */
  readonly path: string;
  /** What was expected and what was found; no trailing period. */
  readonly message: string;
  /** The next step, as `did you mean "TCP"?`. */
  readonly hint?: string;
}

/** What a schema cannot say. `check` runs only on a value that is valid by itself; its paths are relative to it. */
export interface Rule {
  check(value: unknown): readonly FieldError[];
  /** The same as a CEL rule, for the CRD. */
  readonly cel?: { readonly rule: string; readonly message: string };
}

/** Keys of ours in a schema; they never reach a CRD. */
export const rulesKey = '~rules';
export const expectsKey = '~expects';

interface Options {
  readonly description?: string;
  readonly default?: unknown;
  /** What a valid value is, in words, for messages. */
  readonly expects?: string;
}

function annotations({ expects, ...rest }: Options): Record<string, unknown> {
  return expects === undefined ? rest : { ...rest, [expectsKey]: expects };
}

interface TextOptions extends Options {
  readonly minLength?: number;
  readonly maxLength: number;
  readonly pattern?: string;
}

export const text = (options: TextOptions) => Type.String(annotations(options));

export const integer = (minimum: number, maximum: number, options: Options = {}) =>
  Type.Integer({
    format: maximum > 0x7fffffff ? 'int64' : 'int32',
    minimum,
    maximum,
    ...annotations(options),
  });

export const flag = (options: Options = {}) => Type.Boolean(annotations(options));

export const choice = <const V extends readonly string[]>(values: V, options: Options = {}) =>
  Type.Unsafe<V[number]>({ type: 'string', enum: values, ...annotations(options) });

interface ListOptions extends Options {
  readonly minItems?: number;
  readonly maxItems: number;
  /** Items are told apart by these fields; two with the same values are an error. */
  readonly mapKeys?: readonly string[];
  /** No value occurs twice. */
  readonly set?: boolean;
}

export function list<T extends TSchema>(items: T, { mapKeys, set, ...options }: ListOptions) {
  const type = mapKeys
    ? { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': mapKeys }
    : { 'x-kubernetes-list-type': set ? 'set' : 'atomic' };
  return Type.Array(items, { ...annotations(options), ...type });
}

interface MapOptions extends Options {
  readonly minProperties?: number;
  readonly maxProperties: number;
  /** What a key must look like. */
  readonly keys: Rule;
}

/** A map has no prototype after projection, so that a key as `constructor` is absent unless it was given. */
export const map = <T extends TSchema>(values: T, { keys, ...options }: MapOptions) =>
  withRules(
    Type.Unsafe<Record<string, Static<T>>>({
      type: 'object',
      additionalProperties: values,
      ...annotations(options),
    }),
    keys,
  );

export const object = <P extends TProperties>(properties: P, options: Options = {}) =>
  Type.Object(properties, annotations(options));

export const optional = <T extends TSchema>(schema: T) => Type.Optional(schema);

/** A port's number, or a name. */
export const portOrName = (options: Options = {}) =>
  Type.Unsafe<number | string>({
    'x-kubernetes-int-or-string': true,
    anyOf: [{ type: 'integer' }, { type: 'string' }],
    minimum: 1,
    maximum: 65535,
    maxLength: 63,
    pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$',
    ...annotations({
      expects: 'a port from 1 to 65535, or the name of one (lower case, at most 63)',
      ...options,
    }),
  });

export function withRules<T extends TSchema>(schema: T, ...rules: readonly Rule[]): T {
  const before = (schema as Record<string, unknown>)[rulesKey];
  return { ...schema, [rulesKey]: [...(Array.isArray(before) ? before : []), ...rules] };
}

/** A rule over a value of a known type. */
export function rule<T>(
  check: (value: T) => readonly FieldError[],
  cel?: { readonly rule: string; readonly message: string },
): Rule {
  const untyped = (value: unknown) => check(value as T);
  return cel ? { check: untyped, cel } : { check: untyped };
}

/** What a schema's value is in the program: read-only all the way down. */
export type Value<T extends TSchema> = Immutable<Static<T>>;

export type Immutable<T> = T extends readonly (infer U)[]
  ? readonly Immutable<U>[]
  : T extends object
    ? { readonly [K in keyof T]: Immutable<T[K]> }
    : T;
