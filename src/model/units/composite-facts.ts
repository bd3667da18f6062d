import type { ClusterSelector, CompositePeer } from '../../api/composite-backend.ts';
import type { Inputs } from '../inputs.ts';
import type { Backend } from '../ir.ts';
import type { BackendKind } from '../keys.ts';
import type { Problem } from '../problem.ts';
import type { Reader, Unit } from '../reader.ts';
import { backendKindOf, backendObjectKinds, refusalOf } from './backend-object.ts';
import { keyOf, refOf } from './object-key.ts';

type Spec = Inputs['CompositeBackend']['spec'];

export interface CompositeMember {
  readonly as: Exclude<BackendKind, 'composite'>;
  readonly kind: string;
  readonly key: string;
  /** Field of the composite. */
  readonly path: string;
}

/** Composites of other clusters, at the other end of an import or export. */
export interface CompositeSide {
  readonly clusters: ClusterSelector;
  /** `<namespace>/<name>` of the other composite, where it is not ours. */
  readonly composite?: string;
}

/** What a composite says, apart from endpoints. */
export interface CompositeFacts {
  readonly accepted: boolean;
  readonly ports: Spec['ports'];
  /** Own back ends that exist and can be used, in the order of the spec. */
  readonly members: readonly CompositeMember[];
  /** It has back ends of its own, found or not. */
  readonly contributes: boolean;
  /** Whose composites are merged. */
  readonly importFrom: readonly CompositeSide[];
  /** Whose composites may take ours. */
  readonly exportTo: readonly CompositeSide[];
  readonly policy: Backend['policy'];
  readonly order: readonly ClusterSelector[];
  readonly localThresholdPercent: number;
  /** Milliseconds; Infinity: never. */
  readonly expireAfter: number;
  readonly problems: readonly Problem[];
}

/** By the composite's key. Undefined: there is none. */
export const compositeFacts: Unit<CompositeFacts | undefined> = {
  name: 'compositeFacts',
  compute: (reader, key) => {
    const record = reader.get('CompositeBackend', key);
    if (!record) return undefined;
    const { spec, metadata } = record;
    const ref = refOf('CompositeBackend', metadata);
    const problems: Problem[] = [];
    const add = (code: Problem['code'], path: string, message: string) =>
      problems.push({ code, ref, path, message });
    const { policy } = spec.distribution;
    if (policy === 'CapacityAware') {
      const message = 'expected Even, PreferLocal or Ordered, found CapacityAware, which is not served yet';
      add('PolicyUnsupported', 'spec.distribution.policy', message);
    }
    const side = ({ clusters = {}, namespace, name }: CompositePeer): CompositeSide => {
      const composite = `${namespace ?? metadata.namespace}/${name ?? metadata.name}`;
      return { clusters, ...(composite === key ? {} : { composite }) };
    };
    return {
      accepted: policy !== 'CapacityAware',
      ports: spec.ports,
      members: membersOf(reader, record, add),
      contributes: spec.backends.length > 0,
      importFrom: spec.import.from.map(side),
      exportTo: spec.export.to.map(side),
      policy: policy === 'CapacityAware' ? 'Even' : policy,
      order: spec.distribution.order ?? [],
      localThresholdPercent: spec.distribution.localThresholdPercent,
      expireAfter: parseDuration(spec.disconnect.expireAfter),
      problems,
    };
  },
};

const memberKinds = backendObjectKinds.filter(({ as }) => as !== 'composite');

function membersOf(
  reader: Reader,
  { metadata, spec }: Inputs['CompositeBackend'],
  add: (code: Problem['code'], path: string, message: string) => void,
): readonly CompositeMember[] {
  return spec.backends.flatMap(({ group, kind, name }, i) => {
    const path = `spec.backends[${i}]`;
    const object = { group, kind, namespace: metadata.namespace, name };
    const as = backendKindOf(object, memberKinds);
    if (typeof as !== 'string') {
      add(
        as.code,
        `${path}.kind`,
        kind === 'CompositeBackend' ? `${as.message}: composites do not nest` : as.message,
      );
      return [];
    }
    if (as === 'composite') return [];
    const key = keyOf(object);
    const refused = refusalOf(reader, as, kind, key);
    if (refused) {
      add(refused.code, path, refused.message);
      return [];
    }
    return [{ as, kind, key, path }];
  });
}

const unitMilliseconds: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

/** A Gateway API duration as `1h30m`, or `Never`. */
function parseDuration(text: string): number {
  if (text === 'Never') return Number.POSITIVE_INFINITY;
  return [...text.matchAll(/(\d+)(ms|h|m|s)/g)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * (unitMilliseconds[unit ?? ''] ?? 0),
    0,
  );
}
