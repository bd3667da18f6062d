import { readdir, readlink, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../../runtime/errors.ts';

/** The YAML and JSON files of a folder, at one moment. */
export interface Scan {
  /** Another one where another folder has taken the place of the one before, as when a disk is unmounted. */
  readonly id: string;
  /** Path relative to the folder, with `/` → what tells one version of the file from another. */
  readonly files: ReadonlyMap<string, string>;
  /** Folders and files below it that could not be looked at, and why. Nothing below them is known to be gone. */
  readonly unreadable: ReadonlyMap<string, string>;
}

const maxFiles = 20_000;
const maxDepth = 32;

/**
 * Follows symbolic links (Kubernetes mounts are made of them), leaves out dot files and what editors leave
 * behind. Rejects when the folder itself cannot be read.
 */
export async function scanFolder(folder: string): Promise<Scan> {
  const files = new Map<string, string>();
  const unreadable = new Map<string, string>();
  const seen = new Set<string>();

  const readLink = async (child: string): Promise<void> => {
    const target = await readlink(join(folder, child)).catch(() => undefined);
    if (target !== undefined)
      unreadable.set(child, `expected a file or folder, found a link to ${target}, which does not exist`);
  };

  const visit = async (path: string, depth: number): Promise<void> => {
    const real = await realpath(join(folder, path));
    if (seen.has(real)) return;
    seen.add(real);
    const entries = await readdir(join(folder, path), { withFileTypes: true });
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      if (entry.name.startsWith('.')) continue;
      const child = path === '' ? entry.name : `${path}/${entry.name}`;
      if (!entry.isDirectory() && !entry.isSymbolicLink() && !isManifest(entry.name)) continue;
      try {
        const info = await stat(join(folder, child), { bigint: true });
        if (info.isDirectory()) {
          if (depth < maxDepth) await visit(child, depth + 1);
          else unreadable.set(child, `expected at most ${maxDepth} levels of folders`);
        } else if (info.isFile() && isManifest(entry.name)) {
          if (files.size < maxFiles)
            files.set(child, `${info.dev}:${info.ino}:${info.size}:${info.mtimeNs}:${info.ctimeNs}`);
          else unreadable.set(child, `expected at most ${maxFiles} files in the folder`);
        }
      } catch (error) {
        // What vanished since it was listed is gone; a link that is there and leads nowhere is a mistake.
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') unreadable.set(child, messageOf(error));
        else if (entry.isSymbolicLink()) await readLink(child);
      }
    }
  };
  const { dev, ino } = await stat(folder, { bigint: true });
  await visit('', 0);
  return { id: `${dev}:${ino}`, files, unreadable };
}

const isManifest = (name: string): boolean => /\.(ya?ml|json)$/i.test(name);
