import { join } from 'node:path';
import { CaFolder } from '../runtime/ca-folder.ts';

export interface RelayInitOptions {
  readonly set: string;
  readonly state: string;
}

/** `causeway relay init`: makes the CA of a set, or keeps the one that is there. Resolves with the exit code. */
export async function runRelayInit(options: RelayInitOptions): Promise<number> {
  const { made } = await CaFolder.init(options.state, options.set, Date.now());
  const files = `${join(options.state, 'ca.crt')} and ca.key`;
  process.stdout.write(
    made
      ? `made the CA of set ${options.set}: ${files}; whoever has the key can join clusters\n`
      : `the CA of set ${options.set} is there already: ${files}\n`,
  );
  return 0;
}
