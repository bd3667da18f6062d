import { Mirror } from './mirror.ts';
import type { Wanted, WantedPort } from './render.ts';
import { NftError, type NftRunner } from './runner.ts';
import { rehearsal } from './transaction.ts';

/** Transactions tried before the search is given up: a kernel that refuses everything is not a VIP's fault. */
const maxTries = 256;

/**
 * Which ports the kernel refuses and why, found in a table of another name that nothing is sent through. Empty:
 * none of them alone, or too many to name.
 */
export async function refusedPorts(
  runner: NftRunner,
  wanted: Wanted,
): Promise<ReadonlyMap<WantedPort, string>> {
  const refused = new Map<WantedPort, string>();
  let tries = 0;
  const attempt = async (ports: readonly WantedPort[]): Promise<NftError | undefined> => {
    tries += 1;
    const mirror = new Mirror({ graceMs: 0 });
    const steps = mirror.advance({ ...wanted, ports: new Map(ports.map((p) => [p.key, p])) }, 0);
    try {
      await runner.run(rehearsal(steps));
      return undefined;
    } catch (error) {
      if (error instanceof NftError) return error;
      throw error;
    }
  };
  const search = async (ports: readonly WantedPort[]): Promise<void> => {
    if (tries >= maxTries) return;
    const error = await attempt(ports);
    if (!error) return;
    const [only] = ports;
    if (ports.length === 1 && only) {
      if (!error.tooLong) refused.set(only, error.message);
      return;
    }
    const half = ports.length >> 1;
    await search(ports.slice(0, half));
    await search(ports.slice(half));
  };
  if (await attempt([])) return refused;
  await search([...wanted.ports.values()]);
  return tries >= maxTries ? new Map() : refused;
}
