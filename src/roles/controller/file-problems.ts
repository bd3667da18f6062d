import type { Log } from '../../runtime/log.ts';
import { type FileProblem, formatProblem } from '../../sources/file/file-problem.ts';

/** What is wrong with the files of a folder now. Each problem is one line of the log when it appears. */
export class FileProblems {
  readonly #folder: string;
  readonly #log: Log;
  #texts: readonly string[] = [];
  #now: readonly FileProblem[] = [];

  constructor(folder: string, log: Log) {
    this.#folder = folder;
    this.#log = log;
  }

  /** As people read them, several lines each. */
  get texts(): readonly string[] {
    return this.#texts;
  }

  get now(): readonly FileProblem[] {
    return this.#now;
  }

  replace(problems: readonly FileProblem[]): void {
    const gone = new Set(this.#texts);
    this.#now = problems;
    this.#texts = problems.map((problem) => formatProblem(problem, this.#folder));
    for (const [i, { severity, file, line, path, kind, namespace, name }] of problems.entries()) {
      const text = this.#texts[i] as string;
      if (gone.delete(text)) continue;
      const fields = { file, line, kind, namespace, name, path };
      if (severity === 'error') this.#log.warn(fields, text);
      else this.#log.info(fields, text);
    }
    if (gone.size === 0) return;
    this.#log.info({ problems: gone.size, left: problems.length }, 'problems of files are gone');
  }
}
