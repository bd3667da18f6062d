import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { AppError } from '../../runtime/errors.ts';

export interface Finished {
  /** Exit code; 128 + n after signal n, 127 if the program could not be run. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly input?: string;
  /** Killed after this time (default 60 s). */
  readonly timeoutMs?: number;
  readonly env?: NodeJS.ProcessEnv;
}

/** Runs a command to its end. Never rejects: what went wrong is in the result. */
export function runCommand(command: readonly string[], options: RunOptions = {}): Promise<Finished> {
  return new Promise((resolve) => {
    const child = spawn(command[0] as string, command.slice(1), {
      stdio: [options.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      env: options.env ?? process.env,
    });
    let stdout = '';
    let stderr = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    const limit = setTimeout(() => child.kill('SIGKILL'), options.timeoutMs ?? 60_000);
    const end = (code: number, more = ''): void => {
      clearTimeout(limit);
      resolve({ code, stdout, stderr: stderr + more });
    };
    child.once('error', (error) => end(127, error.message));
    child.once('close', (code) => end(code ?? 137));
    child.stdin?.on('error', () => {});
    child.stdin?.end(options.input);
  });
}

/** As `runCommand`; an exit code other than 0 is E_SANDBOX. */
export async function mustRun(command: readonly string[], options: RunOptions = {}): Promise<Finished> {
  const done = await runCommand(command, options);
  if (done.code === 0) return done;
  const said = done.stderr.trim() || done.stdout.trim() || `exit code ${done.code}`;
  throw new AppError('E_SANDBOX', `${command.slice(0, 6).join(' ')}: ${said}`);
}

/** Starts a process in a group of its own, so that a Ctrl-C at the terminal reaches only who supervises it. */
export function startProcess(
  command: readonly string[],
  options: { stdio: StdioOptions; env?: NodeJS.ProcessEnv },
): ChildProcess {
  return spawn(command[0] as string, command.slice(1), {
    stdio: options.stdio,
    env: options.env ?? process.env,
    detached: true,
  });
}

/** Kills a process of `startProcess` with its children; resolves when it has ended. */
export function endProcess(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined)
    return Promise.resolve();
  const { pid } = child;
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    try {
      process.kill(-pid, signal);
    } catch {
      child.kill(signal);
    }
  });
}
