import { spawn } from 'node:child_process';
import { AppError } from '../../runtime/errors.ts';
import { tableName } from './schema.ts';

/** The way to the kernel; the only process boundary of this output. */
export interface NftRunner {
  /** Commits the commands as one transaction, or none of them: throws NftError. */
  run(text: string): Promise<void>;
  /** Syntax and feature check only; throws NftError. */
  check(text: string): Promise<void>;
  /** Our table as listed; `terse` leaves elements out. Undefined: there is no such table. */
  list(terse?: boolean): Promise<string | undefined>;
}

export class NftError extends AppError {
  /** The transaction is larger than the socket buffer an unprivileged process gets: split it. */
  readonly tooLong: boolean;

  constructor(message: string, options: { tooLong?: boolean; cause?: unknown } = {}) {
    super('E_NFT_APPLY', message, { retryable: true, ...options });
    this.tooLong = options.tooLong ?? false;
  }
}

export interface SpawnOptions {
  /** `['nft']`, or with a prefix that enters another namespace. */
  readonly command?: readonly string[];
  readonly timeoutMs?: number;
}

const defaultTimeoutMs = 60_000;

export function spawnRunner(options: SpawnOptions = {}): NftRunner {
  const command = options.command ?? ['nft'];
  const timeoutMs = options.timeoutMs ?? defaultTimeoutMs;
  const nft = async (args: readonly string[], input: string): Promise<string> => {
    const { code, stdout, stderr } = await runProcess([...command, ...args], input, timeoutMs);
    if (code === 0) return stdout;
    throw new NftError(describe(stderr, input) || `nft ended with ${code}`, {
      tooLong: stderr.includes('Message too long'),
    });
  };
  return {
    run: async (text) => void (await nft(['-f', '-'], text)),
    check: async (text) => void (await nft(['-c', '-f', '-'], text)),
    async list(terse = false) {
      try {
        return await nft(['-y', ...(terse ? ['-t'] : []), 'list', 'table', ...tableName.split(' ')], '');
      } catch (error) {
        if (error instanceof NftError && /No such file or directory/.test(error.message)) return undefined;
        throw error;
      }
    },
  };
}

/** nft's first complaint, with the line of the transaction it points at. */
function describe(stderr: string, input: string): string {
  const first = stderr.split('\n').find((l) => l.includes('Error')) ?? stderr.trim().split('\n')[0] ?? '';
  const position = /^\S*?:(\d+):[\d-]+: (.*)$/.exec(first);
  if (!position) return first.slice(0, 400);
  const line = input.split('\n')[Number(position[1]) - 1] ?? '';
  return `${position[2]}, in ${JSON.stringify(line.trim().slice(0, 200))}`;
}

export interface ProcessResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command to its end; throws NftError when it cannot be started or takes too long. */
export function runProcess(
  command: readonly string[],
  input: string,
  timeoutMs: number,
): Promise<ProcessResult> {
  return new Promise((resolve, reject) => {
    const [file, ...args] = command;
    const child = spawn(file as string, args, {
      stdio: ['pipe', 'pipe', 'pipe'],
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
    });
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
    // The child may end without reading all of its input.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
    child.once('error', (cause) => reject(new NftError(`cannot run ${file}: ${cause.message}`, { cause })));
    child.once('close', (code, signal) => {
      if (signal === 'SIGKILL') reject(new NftError(`${file} took longer than ${timeoutMs} ms`));
      else {
        resolve({
          code: code ?? 1,
          stdout: Buffer.concat(out).toString(),
          stderr: Buffer.concat(err).toString(),
        });
      }
    });
  });
}
