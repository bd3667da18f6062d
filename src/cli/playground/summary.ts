import { errorText } from '../report-error.ts';
import type { SceneOutcome } from './scene-record.ts';

/** What `--json` prints last, in one line. */
export interface Summary {
  readonly ok: boolean;
  readonly scenes: readonly SceneOutcome[];
  /** Why there are no scenes. */
  readonly error?: string;
}

export const summaryOf = (ok: boolean, scenes: readonly SceneOutcome[]): Summary => ({ ok, scenes });

/** Of a playground that did not get as far as its scenes. */
export const failureOf = (error: unknown): Summary => ({ ok: false, scenes: [], error: errorText(error) });
