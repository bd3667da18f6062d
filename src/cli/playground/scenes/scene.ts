import type { SceneTitle } from '../scene-record.ts';
import type { Stage } from '../stage.ts';

export interface Scene extends SceneTitle {
  readonly run: (stage: Stage) => Promise<void>;
}
