import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { AppError } from '../../runtime/errors.ts';
import { tableName } from './schema.ts';

/** The way to the kernel; the only process boundary of this output. */
export interface NftRunner {
  /** Commits the commands as one transaction, or none of them: throws NftError. */
  run(text: string): Promise<void>;
  /** Syntax and feature check only; throws NftError. */
  check(text: string): Promise<void>;
  /**
   * Tells our table as listed, line by line; nothing where there is no such table. Throws NftError, then what was told
   * is worthless.
   */
  read(take: (line: string) => void, options?: ReadOptions): Promise<void>;
}

export interface ReadOptions {
  /** Leaves elements out. */
  readonly terse?: boolean;
  /** Gives up, with NftError. */
  readonly signal?: AbortSignal;
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
  const nft = async (
    args: readonly string[],
    input: string,
    more: Pick<ProcessOptions, 'onLine' | 'signal'> = {},
  ): Promise<void> => {
    const { code, stderr } = await runProcess([...command, ...args], { input, timeoutMs, ...more });
    if (code === 0) return;
    throw new NftError(describe(stderr, input) || `nft ended with ${code}`, {
      tooLong: stderr.includes('Message too long'),
    });
  };
  return {
    run: (text) => nft(['-f', '-'], text),
    check: (text) => nft(['-c', '-f', '-'], text),
    async read(take, { terse = false, signal } = {}) {
      const args = ['-y', ...(terse ? ['-t'] : []), 'list', 'table', ...tableName.split(' ')];
      try {
        await nft(args, '', { onLine: take, ...(signal ? { signal } : {}) });
      } catch (error) {
        if (error instanceof NftError && /No such file or directory/.test(error.message)) return;
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

interface ProcessOptions {
  readonly input?: string;
  readonly timeoutMs: number;
  /** Given each line of the output. */
  readonly onLine?: (line: string) => void;
  readonly signal?: AbortSignal;
}

interface ProcessResult {
  readonly code: number;
  readonly stderr: string;
}

/** Runs a command to its end; throws NftError when it cannot be started, takes too long or is given up. */
export function runProcess(
  command: readonly string[],
  { input = '', timeoutMs, onLine, signal }: ProcessOptions,
): Promise<ProcessResult> {
  return new Promise((resolve, reject) => {
    const [file, ...args] = command;
    const child = spawn(file as string, args, {
      stdio: ['pipe', 'pipe', 'pipe'],
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
      ...(signal ? { signal } : {}),
    });
    const err: Buffer[] = [];
    const read = onLine ? eachLine(child.stdout, onLine) : child.stdout.resume();
    child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
    // The child may end without reading all of its input.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
    child.once('error', (cause) => {
      const what = signal?.aborted ? `${file} was given up` : `cannot run ${file}: ${cause.message}`;
      reject(new NftError(what, { cause }));
    });
    child.once('close', async (code, killed) => {
      await read;
      if (killed === 'SIGKILL') reject(new NftError(`${file} took longer than ${timeoutMs} ms`));
      else resolve({ code: code ?? 1, stderr: Buffer.concat(err).toString() });
    });
  });
}

function eachLine(input: Readable, take: (line: string) => void): Promise<void> {
  const lines = createInterface({ input }).on('line', take);
  return new Promise((resolve) => lines.once('close', resolve));
}
