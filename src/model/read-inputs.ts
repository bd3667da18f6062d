import { type Kind, kinds, project } from '../api/kinds.ts';
import type { Change } from './inputs.ts';
import { compositePortKey, contributionSource } from './keys.ts';
import { defaultModelConfig, type ModelConfig } from './model-config.ts';

/** Documents as `dumpInputs` writes them, read back. */
export interface ReadInputs {
  readonly config: ModelConfig;
  /** Epoch milliseconds at which `dumpInputs` was made; 0: it does not say. */
  readonly now: number;
  readonly changes: readonly Change[];
  /** `document <n>: …`, for those that could not be read. */
  readonly errors: readonly string[];
}

type Fields = Readonly<Record<string, unknown>>;

/** Keys of records of our own, where the record says it. */
const keyOfOwn: Readonly<Record<string, (record: Fields) => unknown>> = {
  Claim: ({ address }) => address,
  Contribution: ({ namespace, composite, protocol, port, cluster, from }) => {
    const key = compositePortKey(
      `${namespace}/${composite}`,
      protocol === 'UDP' ? 'UDP' : 'TCP',
      Number(port),
    );
    return `${key}/${contributionSource(String(cluster), typeof from === 'string' ? from : undefined)}`;
  },
  Origin: ({ cluster }) => cluster,
  Import: () => undefined,
  Probe: () => undefined,
  Programming: () => undefined,
  ClaimFailure: () => undefined,
};

/**
 * Objects and records of our own; `kind: Config` overrides the defaults; `{kind, key, deleted: true}` removes.
 * For tests and bug reports: own records are taken as they are.
 */
export function readInputs(documents: readonly unknown[]): ReadInputs {
  let config = defaultModelConfig;
  let now = 0;
  const changes: Change[] = [];
  const errors: string[] = [];
  for (const [i, document] of documents.entries()) {
    if (typeof document !== 'object' || document === null) continue;
    const { kind, key, deleted, ...rest } = document as Fields;
    const own = keyOfOwn[String(kind)];
    if (kind === 'Config') {
      const { now: at, ...fields } = rest;
      config = { ...config, ...fields };
      if (typeof at === 'number') now = at;
    } else if (deleted === true && (own || String(kind) in kinds)) {
      changes.push({ kind: kind as Kind, key: String(key), value: undefined });
    } else if (own) {
      changes.push({ kind, key: String(key ?? own(rest)), value: rest } as unknown as Change);
    } else {
      const projection = project(document);
      if ('errors' in projection) {
        errors.push(...projection.errors.map(({ path, message }) => `document ${i + 1}: ${path} ${message}`));
        if (projection.errors.length === 0) errors.push(`document ${i + 1}: unknown kind ${String(kind)}`);
      } else changes.push(projection);
    }
  }
  return { config, now, changes, errors };
}
