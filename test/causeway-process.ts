import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';

const program = join(import.meta.dirname, '..', 'bin', 'causeway.mjs');

/** Line of a role's log, or what it printed otherwise. */
export interface Said {
  readonly text: string;
  /** Fields of a log line; empty: it is none. */
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface StartOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
}

/** `causeway …` as a process of its own, for tests. */
export class CausewayProcess {
  readonly child: ChildProcess;
  readonly said: Said[] = [];
  /** Its exit code; null: a signal ended it. */
  readonly exit: Promise<number | null>;
  #waiting: (() => void)[] = [];

  /** `command` must become the process of causeway, by exec if it is a shell. */
  constructor(command: readonly string[], options: StartOptions = {}) {
    const [file = '', ...args] = command;
    this.child = spawn(file, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: options.env ?? process.env,
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      let rest = '';
      stream?.setEncoding('utf8').on('data', (chunk: string) => {
        const lines = (rest + chunk).split('\n');
        rest = lines.pop() ?? '';
        for (const text of lines) this.said.push({ text, fields: fieldsOf(text) });
        for (const look of this.#waiting) look();
      });
    }
    this.exit = new Promise((resolve) => this.child.once('close', (code) => resolve(code)));
  }

  /** `enter`: prefix of the command, as `ip netns exec x`. */
  static start(
    argv: readonly string[],
    { enter = [], ...options }: StartOptions & { readonly enter?: readonly string[] } = {},
  ): CausewayProcess {
    return new CausewayProcess([...enter, process.execPath, program, ...argv], options);
  }

  get text(): string {
    return this.said.map(({ text }) => text).join('\n');
  }

  get running(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** The first line that matches. Rejects with all it said when it ends without one. */
  async line(pattern: RegExp): Promise<Said> {
    const found = new Promise<Said>((resolve) => {
      const look = (): void => {
        const line = this.said.find(({ text }) => pattern.test(text));
        if (line) resolve(line);
      };
      this.#waiting.push(look);
      look();
    });
    const ended = this.exit.then((code) => {
      throw new Error(`expected a line ${pattern}, found the end with code ${code}:\n${this.text}`);
    });
    return await Promise.race([found, ended]);
  }

  /** Resolves with the fields of the line that says it is up: `admin` and, where it has one, `port`. */
  async up(): Promise<{ readonly admin: number; readonly port: number }> {
    const { fields } = await this.line(/"msg":"[a-z]+ is up"/);
    return { admin: Number(fields.admin), port: Number(fields.port) };
  }

  /** Ends it; resolves with its exit code. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    this.child.kill(signal);
    return await this.exit;
  }
}

function fieldsOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
