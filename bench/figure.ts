import type { Spread } from './spread.ts';

export type Unit = 'µs' | 'ms' | 's' | 'MiB' | 'B' | '×' | 'failed';

/** What is aimed at. `limit` is in the figure's unit; a ratio is ours ÷ peer of the same run. */
export type Target =
  | { readonly atMost: number; readonly because?: string }
  | { readonly ratioAtMost: number; readonly because?: string }
  | { readonly overPeerAtMost: number; readonly because?: string }
  | { readonly none: string };

/** One line of the table. */
export interface Figure {
  /** Names it for `--only`, in JSON and in docs/benchmarks.md: lower case, digits and dashes. */
  readonly name: string;
  /** For people. */
  readonly what: string;
  readonly unit: Unit;
  /** What ours is compared with, in the same run. Absent: nothing. */
  readonly peer?: string;
  readonly target: Target;
}

export interface Measurement {
  readonly ours: Spread;
  /** In the same run, by the same client. */
  readonly peer?: Spread;
}

/** Nothing was measured, and why. */
export interface NotRun {
  readonly notRun: string;
}

/** Figure's name → what came of it. */
export type Results = Readonly<Record<string, Measurement | NotRun>>;

export interface Row extends Figure {
  readonly bench: string;
  readonly result: Measurement | NotRun;
  /** ours ÷ peer. */
  readonly ratio?: number;
  /** Absent: there is no target, or it was not run. */
  readonly met?: boolean;
}

/** Puts a figure and its measurement together; one that the bench does not give is not run. */
export function toRow(bench: string, figure: Figure, results: Results): Row {
  const result = results[figure.name] ?? { notRun: 'the bench gave no such figure' };
  if ('notRun' in result) return { bench, ...figure, result };
  const { ours, peer } = result;
  const ratio = peer ? ours.value / peer.value : undefined;
  const met = isMet(figure.target, ours.value, peer?.value);
  return {
    bench,
    ...figure,
    result,
    ...(ratio === undefined ? {} : { ratio }),
    ...(met === undefined ? {} : { met }),
  };
}

function isMet(target: Target, ours: number, peer: number | undefined): boolean | undefined {
  if ('none' in target) return undefined;
  if ('atMost' in target) return ours <= target.atMost;
  if (peer === undefined) return undefined;
  return 'ratioAtMost' in target ? ours / peer <= target.ratioAtMost : ours - peer <= target.overPeerAtMost;
}
