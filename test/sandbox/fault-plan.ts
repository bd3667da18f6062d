import { seededRandom } from '../../src/runtime/seeded-random.ts';

/** Which faults come, in which order: decided by a seed before anything happens. */

export type FaultKind = 'kill' | 'stop' | 'clock' | 'disk' | 'control' | 'data' | 'all';

export interface Fault {
  readonly number: number;
  readonly kind: FaultKind;
  /** A process, a link or a cluster, as the kind has them. */
  readonly target: string;
  /** How long it lasts, milliseconds. */
  readonly holdMs: number;
}

/** What there is to be hit. */
export interface FaultTargets {
  readonly processes: readonly string[];
  /** Connections of the control plane that can be cut. */
  readonly controlLinks: readonly string[];
  /** Pairs of clusters. */
  readonly pairs: readonly string[];
  /** Clusters whose state is on a small disk. */
  readonly disks: readonly string[];
}

/** Of each kind as many parts of 200. Some cuts last longer than it takes to be called Stale and probed (6 s + 5 s). */
const kinds: Readonly<
  Record<FaultKind, { share: number; holdMs: readonly [number, number]; long?: readonly [number, number] }>
> = {
  kill: { share: 60, holdMs: [0, 800] },
  stop: { share: 46, holdMs: [100, 2_500] },
  clock: { share: 22, holdMs: [0, 500] },
  disk: { share: 20, holdMs: [500, 4_000] },
  control: { share: 34, holdMs: [200, 3_000], long: [8_000, 12_000] },
  data: { share: 12, holdMs: [200, 2_500] },
  all: { share: 6, holdMs: [1_000, 3_000], long: [11_000, 14_000] },
};

/** Exactly `count`. Every process is hit by every fault that a process can have, before chance decides. */
export function planFaults(seed: number, count: number, targets: FaultTargets): readonly Fault[] {
  const random = seededRandom(seed);
  const candidates: Readonly<Record<FaultKind, readonly string[]>> = {
    kill: targets.processes,
    stop: targets.processes,
    clock: targets.processes,
    disk: targets.disks,
    control: targets.controlLinks,
    data: targets.pairs,
    all: targets.pairs,
  };
  const total = Object.values(kinds).reduce((sum, { share }) => sum + share, 0);
  const drawn = (Object.keys(kinds) as FaultKind[]).flatMap((kind) => {
    const { share, holdMs, long } = kinds[kind];
    const faults = Math.ceil((share * count) / total);
    return Array.from({ length: faults }, (_, i) => {
      const list = candidates[kind];
      const [least, most] = long && i % 6 === 5 ? long : holdMs;
      const target = i < list.length ? (list[i] as string) : random.pick(list);
      return { kind, target, holdMs: Math.round(least + random.next() * (most - least)) };
    });
  });
  for (let i = drawn.length - 1; i > 0; i -= 1) {
    const j = random.below(i + 1);
    [drawn[i], drawn[j]] = [drawn[j] as (typeof drawn)[0], drawn[i] as (typeof drawn)[0]];
  }
  return drawn.slice(0, count).map((fault, number) => ({ number, ...fault }));
}
