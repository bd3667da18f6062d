import { createInterface } from 'node:readline';
import { AppError } from '../../runtime/errors.ts';
import { besideThis } from './beside.ts';
import type { FailedRequest, LoadLine, LoadPlan } from './load-plan.ts';
import type { Namespace } from './namespace.ts';
import { type LoadResult, Tally } from './tally.ts';

export interface Load {
  /** Resolves when the client has ended. */
  readonly done: Promise<LoadResult>;
  /** Ends it after the requests in flight. */
  stop(): Promise<LoadResult>;
}

/**
 * Starts a client in a namespace. `onDelta` is called each `plan.everyMs` with what happened since, `onFailure` with
 * `plan.tellFailures`.
 */
export function startLoad(
  host: Namespace,
  plan: LoadPlan,
  onDelta?: (delta: Tally) => void,
  onFailure?: (failed: FailedRequest) => void,
): Load {
  const child = host.start([process.execPath, besideThis('load'), JSON.stringify(plan)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let total: LoadResult | undefined;
  let said = '';
  if (child.stdout) {
    createInterface({ input: child.stdout }).on('line', (text) => {
      const line = JSON.parse(text) as LoadLine;
      if ('total' in line) total = Tally.from(line.total).result;
      else if ('failed' in line) onFailure?.(line.failed);
      else onDelta?.(Tally.from(line.delta));
    });
  }
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-2_000);
  });
  const done = new Promise<LoadResult>((resolve, reject) => {
    const fail = (why: string): void =>
      reject(new AppError('E_SANDBOX', `the client in ${host.name} ended without a result: ${why}`));
    child.once('error', (error) => fail(error.message));
    child.once('close', (code) => (total ? resolve(total) : fail(said.trim() || `exit code ${code}`)));
  });
  // Whoever calls stop() later still gets the rejection; it must not end the process before.
  done.catch(() => {});
  return {
    done,
    stop() {
      child.kill('SIGTERM');
      return done;
    },
  };
}
