import { conntrackTool } from '../outputs/conntrack/tool.ts';
import { cleanup } from '../outputs/nft/cleanup.ts';
import { spawnRunner } from '../outputs/nft/runner.ts';
import { systemClock } from '../runtime/clock.ts';

/** How long connections may take to finish. */
const waitMs = 300_000;

/**
 * `causeway agent cleanup`; resolves with the exit code: 1 where connections are left. Throws E_NFT_UNUSABLE,
 * E_NFT_APPLY or E_CONNTRACK.
 */
export async function runCleanup(): Promise<number> {
  const done = await cleanup({
    runner: spawnRunner(),
    conntrack: conntrackTool(),
    clock: systemClock,
    waitMs,
    say: (line) => console.log(line),
  });
  return done ? 0 : 1;
}
