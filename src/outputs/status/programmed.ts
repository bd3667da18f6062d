import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';

interface WrittenGateway {
  readonly metadata?: { readonly name?: unknown; readonly namespace?: unknown };
  readonly status?: { readonly conditions?: readonly Readonly<Record<string, unknown>>[] };
}

/**
 * Which generation of which Gateway (`<namespace>/<name>`) a status in the state folder calls Programmed. What
 * cannot be read is not Programmed: it will be decided anew.
 */
export async function readProgrammed(stateFolder: string): Promise<ReadonlyMap<string, number>> {
  const folder = join(stateFolder, 'status', 'Gateway');
  const latched = new Map<string, number>();
  for (const name of await readdir(folder).catch(() => [])) {
    const gateway = await readGateway(join(folder, name));
    const { metadata, status } = gateway ?? {};
    const condition = status?.conditions?.find?.((c) => c.type === 'Programmed' && c.status === 'True');
    if (!condition || typeof condition.observedGeneration !== 'number') continue;
    latched.set(`${metadata?.namespace}/${metadata?.name}`, condition.observedGeneration);
  }
  return latched;
}

async function readGateway(path: string): Promise<WrittenGateway | undefined> {
  try {
    return parse(await readFile(path, 'utf8'), { logLevel: 'silent' }) as WrittenGateway;
  } catch {
    return undefined;
  }
}
