import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Change } from '../../model/inputs.ts';
import { AppError, messageOf } from '../../runtime/errors.ts';
import { FieldPlaces } from './field-places.ts';
import { type FileProblem, problemOfFile } from './file-problem.ts';
import { Folder } from './folder.ts';
import { Identities } from './identity.ts';
import { parseFile } from './parse-file.ts';
import { scanFolder } from './scan.ts';

/**
 * A folder once, without following it: the same files give the same answer at any time, so objects that do not
 * say when they were made are all equally old. Rejects with E_FILE_READ when the folder cannot be read.
 */
export async function readFolder(
  path: string,
): Promise<{ changes: Change[]; problems: readonly FileProblem[]; places: FieldPlaces }> {
  const folder = new Folder(new Identities());
  try {
    const { files, unreadable } = await scanFolder(path);
    const failed = new Map(unreadable);
    for (const file of files.keys()) {
      try {
        folder.set(file, parseFile(file, await readFile(join(path, file), 'utf8')), 0);
      } catch (error) {
        failed.set(file, messageOf(error));
      }
    }
    for (const [file, message] of failed) folder.fail(file, problemOfFile(file, message));
  } catch (error) {
    throw new AppError('E_FILE_READ', `${path}: ${messageOf(error)}`, { cause: error });
  }
  return {
    changes: folder.takeChanges(0),
    problems: folder.problems(),
    places: new FieldPlaces(path, (id) => folder.placeOf(id)),
  };
}
