import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { AppError } from '../../runtime/errors.ts';
import { type Entry, parseEntry } from './entry.ts';

/** conntrack-tools: the process boundary. Both throw E_CONNTRACK. */
export interface ConntrackTool {
  /** Calls `visit` for every entry of a family. */
  list(protocol: 'udp' | 'all', family: 4 | 6, visit: (entry: Entry) => void): Promise<void>;
  /** Deletes the entries of all clients that are led from `sentTo` to `answeredBy`. */
  deleteUdp(entry: Entry): Promise<void>;
}

/** `command`: `['conntrack']`, or with a prefix that enters another namespace. */
export function conntrackTool(
  options: { command?: readonly string[]; timeoutMs?: number } = {},
): ConntrackTool {
  const command = options.command ?? ['conntrack'];
  const timeoutMs = options.timeoutMs ?? 30_000;
  const family = (f: 4 | 6): string[] => ['-f', f === 4 ? 'ipv4' : 'ipv6'];
  return {
    async list(protocol, f, visit) {
      const only = protocol === 'udp' ? ['-p', 'udp'] : [];
      await run([...command, '-L', ...only, ...family(f)], timeoutMs, (line) => {
        const entry = parseEntry(line);
        if (entry) visit(entry);
      });
    },
    async deleteUdp(entry) {
      const [to, port] = entry.sentTo.split(' . ') as [string, string];
      const [from, fromPort] = entry.answeredBy.split(' . ') as [string, string];
      const original = ['--orig-dst', to, '--orig-port-dst', port];
      const reply = ['--reply-src', from, '--reply-port-src', fromPort];
      await run([...command, '-D', '-p', 'udp', ...family(entry.family), ...original, ...reply], timeoutMs);
    },
  };
}

function run(
  command: readonly string[],
  timeoutMs: number,
  onLine: (line: string) => void = () => {},
): Promise<void> {
  return new Promise((resolve, reject) => {
    const [file, ...args] = command;
    const child = spawn(file as string, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
    });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-1000);
    });
    const fail = (why: string, cause?: unknown): void =>
      reject(
        new AppError('E_CONNTRACK', `${command.slice(0, 4).join(' ')}: ${why}`, { cause, retryable: true }),
      );
    const lines = createInterface({ input: child.stdout }).on('line', onLine);
    const read = new Promise<void>((done) => lines.once('close', done));
    child.once('error', (cause) => fail(cause.message, cause));
    child.once('close', (code) => {
      // Deleting what is already gone is an error to conntrack-tools, and what we want.
      if (code === 0 || /\b0 flow entries have been/.test(said)) void read.then(resolve);
      else fail(said.trim().split('\n').at(-1) || `exit code ${code}`);
    });
  });
}
