import { messageOf } from '../../runtime/errors.ts';
import { type SceneOutcome, SceneRecord } from './scene-record.ts';
import type { Scene } from './scenes/scene.ts';
import type { Stage } from './stage.ts';

export interface SceneRunner {
  /** What the scene is played on; `signal` ends it. */
  readonly stage: (record: SceneRecord, signal: AbortSignal) => Stage;
  readonly onStart: (record: SceneRecord) => void;
  readonly onEnd: (record: SceneRecord) => void;
  /** Everything is over (Ctrl-C). */
  readonly signal: AbortSignal;
  /** Processes of the control plane that died by themselves since the last call, as texts. */
  readonly deaths: () => readonly string[];
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  readonly limitMs: number;
}

/**
 * Plays scenes one after the other. What goes wrong in one (an exception, no end in time, a process that died) is
 * its failure and does not keep the next from being played.
 */
export async function runScenes(scenes: readonly Scene[], runner: SceneRunner): Promise<SceneOutcome[]> {
  const outcomes: SceneOutcome[] = [];
  for (const scene of scenes) {
    if (runner.signal.aborted) break;
    const record = new SceneRecord(scene);
    const started = runner.now();
    const over = new AbortController();
    const limit = setTimeout(
      () => over.abort(new Error(`no end after ${runner.limitMs / 1_000} s`)),
      runner.limitMs,
    );
    runner.onStart(record);
    try {
      await scene.run(runner.stage(record, AbortSignal.any([over.signal, runner.signal])));
    } catch (error) {
      const why = over.signal.aborted ? messageOf(over.signal.reason) : messageOf(error);
      record.expect('the scene can be played to its end', false, why);
    } finally {
      clearTimeout(limit);
      // Clients that the scene left running end with it.
      over.abort(new Error('the scene is over'));
    }
    if (runner.signal.aborted) break;
    for (const death of runner.deaths()) record.expect('every process lives', false, death);
    record.took = runner.now() - started;
    record.doing = '';
    runner.onEnd(record);
    outcomes.push(record.outcome());
  }
  return outcomes;
}
