import type { Place } from './yaml-documents.ts';

/** Something wrong with a file of the folder, or (a note) something in it that is not read. */
export interface FileProblem extends Place {
  readonly severity: 'error' | 'note';
  /** Relative to the folder, with `/`. */
  readonly file: string;
  /** As far as they are known; empty otherwise. */
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** As `spec.rules[0].backendRefs`; empty: the whole object or file. */
  readonly path: string;
  /** What was expected and what was found; no trailing period. */
  readonly message: string;
  /** The next step. */
  readonly hint?: string;
  /** Epoch milliseconds at which the version was read that stays in force. Absent: nothing is in force. */
  readonly keptFrom?: number;
}

/** A whole file that cannot be used. */
export const problemOfFile = (file: string, message: string): FileProblem => ({
  severity: 'error',
  file,
  line: 1,
  column: 1,
  kind: '',
  namespace: '',
  name: '',
  path: '',
  message,
});

/** A file's path as people may open it. */
export const inFolder = (folder: string, file: string): string =>
  folder === '' ? file : `${folder.replace(/\/+$/, '')}/${file}`;

/** A problem as people read it, several lines. `folder` is put before the file's name. */
export function formatProblem(problem: FileProblem, folder = ''): string {
  const { file, line, kind, namespace, name, path, message, hint, keptFrom } = problem;
  const where = `${inFolder(folder, file)}:${line}`;
  const object = [kind, namespace && name ? `${namespace}/${name}` : name].filter((s) => s !== '').join(' ');
  const lines = [
    `${problem.severity === 'error' ? '✖' : '●'} ${where}${object === '' ? '' : `  ${object}`}`,
    `  ${path === '' ? '' : `${path}: `}${message}`,
  ];
  if (hint !== undefined) lines.push(`  ${hint}`);
  if (keptFrom !== undefined) lines.push(`  kept: the last good version (${timeOfDay(keptFrom)})`);
  return lines.join('\n');
}

function timeOfDay(epochMs: number): string {
  const at = new Date(epochMs);
  return [at.getHours(), at.getMinutes(), at.getSeconds()].map((n) => String(n).padStart(2, '0')).join(':');
}
