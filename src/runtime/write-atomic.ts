import { mkdir, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { AppError, messageOf } from './errors.ts';

/**
 * Replaces a file by its whole new text: whoever reads it, and whatever is killed when, there is the old text or
 * the new one. Makes its folder. When it resolves the text is on disk, unless `durable` is false: then a machine
 * that loses its power may lose the text. Rejects with E_STATE_WRITE.
 */
export async function writeAtomic(
  path: string,
  text: string,
  { mode = 0o600, durable = true }: { readonly mode?: number; readonly durable?: boolean } = {},
): Promise<void> {
  const folder = dirname(path);
  const temporary = join(folder, `.${basename(path)}.new`);
  try {
    await mkdir(folder, { recursive: true });
    await using file = await open(temporary, 'w', mode);
    await file.writeFile(text);
    if (durable) await file.datasync();
    await rename(temporary, path);
    if (!durable) return;
    await using parent = await open(folder, 'r');
    await parent.sync();
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw new AppError('E_STATE_WRITE', `${path}: ${messageOf(error)}`, { cause: error, retryable: true });
  }
}
