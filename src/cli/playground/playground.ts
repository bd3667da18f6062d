import { join } from 'node:path';
import { AppError } from '../../runtime/errors.ts';
import { reportError } from '../report-error.ts';
import type { PlaygroundOptions } from './inside.ts';
import { checkSandbox, runInSandbox, type Sandbox, sandboxFailed } from './sandbox.ts';
import { claimSession } from './session.ts';
import { failureOf } from './summary.ts';

/** Set for the process that runs inside the playground's own sandbox. */
const insideVariable = 'CAUSEWAY_PLAYGROUND_INSIDE';

const causeway = join(import.meta.dirname, '..', '..', '..', 'bin', 'causeway.mjs');

/**
 * `npm start`: runs itself in a sandbox and resolves with the exit code: 0 if every scene went as expected, 1 if
 * not. Throws E_SANDBOX if no sandbox can be made, E_USAGE if one runs already; with `json` that is told here, so that
 * the object is the last line all the same.
 */
export async function runPlayground(options: PlaygroundOptions): Promise<number> {
  if (process.env[insideVariable]) {
    const { runInside } = await import('./inside.ts');
    return await runInside(options);
  }
  try {
    return await launch(options);
  } catch (error) {
    if (!options.json) throw error;
    const code = reportError(error);
    process.stdout.write(`${JSON.stringify(failureOf(error))}\n`);
    return code;
  }
}

async function launch(options: PlaygroundOptions): Promise<number> {
  let sandbox: Sandbox | undefined;
  const session = await claimSession(() => sandbox?.init());
  if (!session) {
    throw new AppError(
      'E_USAGE',
      'a playground of yours is running already; stop it with Ctrl-C, or try it from here:\n' +
        '  causeway playground exec east -- curl http://store.shop.gw.cluster.local',
    );
  }
  try {
    checkSandbox();
    const flags = [...(options.once ? ['--once'] : []), ...(options.json ? ['--json'] : [])];
    const code = await runInSandbox({
      command: [process.execPath, causeway, 'playground', ...flags],
      env: { ...process.env, [insideVariable]: '1' },
      onStart: (started) => {
        sandbox = started;
      },
    });
    // It has said itself which step failed.
    if (code === sandboxFailed)
      throw new AppError('E_SANDBOX', 'the sandbox ended before the playground began');
    return code;
  } finally {
    // Whoever drew on the terminal may have been killed before giving the cursor back.
    if (process.stdout.isTTY) process.stdout.write('\x1b[?25h');
    session.close();
  }
}
