import type { Static, TObject, TSchema } from 'typebox';
import { labels } from './fields.ts';
import { type Immutable, integer, map, object, optional, rule, text, type Value } from './schema.ts';

/** Prefix of the annotations that are kept. */
export const ownAnnotation = 'causeway.dev/';

/**
 * What is kept of metadata. Fields that only an API server or the file source can know are empty or 0 when the
 * object does not carry them.
 */
export const metadata = object({
  name: text({ minLength: 1, maxLength: 253 }),
  /** Empty for cluster-scoped objects. */
  namespace: text({ maxLength: 63, default: '' }),
  uid: text({ maxLength: 256, default: '' }),
  generation: integer(0, Number.MAX_SAFE_INTEGER, { default: 0 }),
  /** RFC 3339. */
  creationTimestamp: text({ maxLength: 64, default: '' }),
  labels: labels({ default: {} }),
  /** Only those of ours. */
  annotations: map(text({ maxLength: 262144 }), { maxProperties: 1000, keys: rule(() => []), default: {} }),
  deletionTimestamp: optional(text({ maxLength: 64, expects: 'an RFC 3339 time' })),
});
export type Metadata = Value<typeof metadata>;

interface CrdDefinition {
  readonly plural: string;
  readonly shortNames: readonly string[];
  readonly description: string;
  readonly status: TSchema;
  readonly columns: readonly {
    readonly name: string;
    readonly type: 'string' | 'integer' | 'date';
    readonly jsonPath: string;
  }[];
}

/** A kind as we read it. `schema` has the fields beside metadata that are kept: `spec`, `status`, … */
export interface KindDefinition<S extends TObject = TObject> {
  readonly kind: string;
  readonly group: string;
  /** Served versions that are accepted; the first is the one we write. */
  readonly versions: readonly string[];
  readonly namespaced: boolean;
  /** What metadata.name must be. */
  readonly name: 'subdomain' | 'label';
  readonly schema: S;
  /** Fields that old writers give alone: `one` stands for the list `many` (of objects with `field`). */
  readonly singular?: readonly {
    readonly section: string;
    readonly one: string;
    readonly many: string;
    readonly field?: string;
  }[];
  /** Ours: the schema is the whole of `spec`, and we write the CRD. */
  readonly crd?: CrdDefinition;
}

export const defineKind = <S extends TObject>(definition: KindDefinition<S>): KindDefinition<S> => definition;

/** The projected record of a kind. */
export type RecordOf<D extends KindDefinition> = {
  readonly metadata: Metadata;
} & Immutable<Static<D['schema']>>;

/** The `apiVersion` that we write for a kind. */
export const apiVersionOf = ({ group, versions }: KindDefinition): string =>
  group === '' ? (versions[0] as string) : `${group}/${versions[0]}`;
