import type { ChildProcess } from 'node:child_process';

/**
 * The first line a process prints. If it ends first or the time is over: what it said on standard error. Both
 * outputs are drained from then on, so that the process never blocks.
 */
export function firstLine(child: ChildProcess, timeoutMs: number): Promise<string> {
  return new Promise((resolve) => {
    let out = '';
    let err = '';
    const end = (text: string): void => {
      clearTimeout(limit);
      child.stdout?.removeAllListeners('data').resume();
      child.stderr?.removeAllListeners('data').resume();
      resolve(text);
    };
    const limit = setTimeout(() => end(err.trim() || `no word for ${timeoutMs} ms`), timeoutMs);
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      out += text;
      if (out.includes('\n')) end(out.slice(0, out.indexOf('\n')));
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      err += text;
    });
    child.once('error', (error) => end(error.message));
    child.once('close', (code) => end(err.trim() || `exit code ${code}`));
  });
}
