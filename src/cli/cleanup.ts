import { conntrackTool } from '../outputs/conntrack/tool.ts';
import { cleanup } from '../outputs/nft/cleanup.ts';
import { spawnRunner } from '../outputs/nft/runner.ts';
import { systemClock } from '../runtime/clock.ts';
import { messageOf } from '../runtime/errors.ts';

/** `causeway agent cleanup`; resolves with the exit code: 1 where connections are left after `waitMs`. */
export async function runCleanup(options: { readonly waitMs?: number } = {}): Promise<number> {
  try {
    const done = await cleanup({
      runner: spawnRunner(),
      conntrack: conntrackTool(),
      clock: systemClock,
      waitMs: options.waitMs ?? 300_000,
      say: (line) => console.log(line),
    });
    return done ? 0 : 1;
  } catch (error) {
    console.error(messageOf(error));
    return 1;
  }
}
