import type { ChildProcess } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Backoff } from '../../runtime/backoff.ts';
import { AppError } from '../../runtime/errors.ts';
import type { Namespace } from './namespace.ts';
import { endProcess } from './run-command.ts';

export interface ProcessSpec {
  /** For people, as `east agent e1`. */
  readonly name: string;
  readonly host: Namespace;
  readonly command: readonly string[];
  /** Answers 200 once it is ready. */
  readonly readyUrl: string;
}

interface Supervised {
  readonly spec: ProcessSpec;
  readonly log: string;
  readonly child: ChildProcess;
  /** It takes the place of one that died. */
  readonly isAgain: boolean;
  /** It was ready once. */
  ready: boolean;
  /** How it ended. */
  ended: string | undefined;
  /** We ended it ourselves. */
  expected: boolean;
}

export interface SupervisorOptions {
  /** Folder. */
  readonly logs: string;
  /** A process that was ready has ended and nobody asked it to, or one that was started in its place has. */
  readonly onDeath: (name: string, how: string, lastLines: readonly string[]) => void;
  /** What died is started again, later each time it dies anew, as by a DaemonSet or Deployment. Absent: it stays dead. */
  readonly onReturn?: (name: string) => void;
}

/** Keeps the control plane's processes: their logs, whether they live, and how they end. */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #processes = new Map<string, Supervised>();
  readonly #backoffs = new Map<string, Backoff>();

  constructor(options: SupervisorOptions) {
    this.#options = options;
    mkdirSync(options.logs, { recursive: true });
  }

  /** Starts a process and resolves when it is ready. Throws E_SANDBOX with its last lines if it does not get so far. */
  async start(spec: ProcessSpec, timeoutMs?: number): Promise<void> {
    this.launch(spec);
    await this.untilReady(spec.name, timeoutMs);
  }

  /** Starts a process; it may not be ready for long. */
  launch(spec: ProcessSpec): void {
    this.#launch(spec, false);
  }

  #launch(spec: ProcessSpec, isAgain: boolean): void {
    const log = join(this.#options.logs, `${spec.name.replaceAll(' ', '-')}.log`);
    const output = openSync(log, this.#processes.has(spec.name) ? 'a' : 'w');
    const child = spec.host.start(spec.command, { stdio: ['ignore', output, output] });
    closeSync(output);
    const supervised: Supervised = {
      ...{ spec, log, child, isAgain },
      ...{ ready: false, ended: undefined, expected: false },
    };
    this.#processes.set(spec.name, supervised);
    const end = (how: string): void => {
      supervised.ended = how;
      if (supervised.expected || !(supervised.ready || isAgain)) return;
      this.#options.onDeath(spec.name, how, tailOf(log));
      if (this.#options.onReturn) void this.#startAgain(supervised, this.#options.onReturn);
    };
    child.once('error', (error) => end(error.message));
    child.once('exit', (code, signal) => end(signal ? `killed by ${signal}` : `exit code ${code}`));
  }

  /** Unless somebody ends or starts it meanwhile. */
  async #startAgain(dead: Supervised, onReturn: (name: string) => void): Promise<void> {
    const { spec } = dead;
    const backoff = this.#backoffs.get(spec.name) ?? new Backoff(again);
    this.#backoffs.set(spec.name, backoff);
    await wait(backoff.next());
    if (dead.expected || this.#processes.get(spec.name) !== dead) return;
    this.#launch(spec, true);
    const next = this.#get(spec.name);
    while (next.ended === undefined && !next.ready) {
      next.ready = (await readiness(spec.readyUrl)) === '';
      if (!next.ready) await wait(100);
    }
    if (next.ended !== undefined || next.expected) return;
    backoff.reset();
    onReturn(spec.name);
  }

  /** Resolves when a process that was launched is ready; throws as `start` does. */
  async untilReady(name: string, timeoutMs = 30_000): Promise<void> {
    const supervised = this.#get(name);
    const deadline = Date.now() + timeoutMs;
    let answer = 'no answer';
    while (supervised.ended === undefined && Date.now() < deadline) {
      answer = await readiness(supervised.spec.readyUrl);
      supervised.ready = answer === '';
      if (supervised.ready) return;
      await wait(40);
    }
    const why = supervised.ended ?? `not ready after ${timeoutMs / 1000} s: ${answer}`;
    throw new AppError('E_SANDBOX', [`${name}: ${why}`, ...this.tail(name)].join('\n  '));
  }

  /** Ends a process with a signal that we send. */
  async kill(name: string, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const supervised = this.#get(name);
    supervised.expected = true;
    await endProcess(supervised.child, signal);
  }

  /** Ends it, where it still runs, and starts it again; resolves when it is ready. */
  async restart(name: string, signal?: NodeJS.Signals): Promise<void> {
    await this.kill(name, signal);
    await this.start(this.spec(name));
  }

  /** Sends a signal that does not end it: SIGSTOP lets it stand where it is until SIGCONT. */
  signal(name: string, signal: NodeJS.Signals): void {
    this.#get(name).child.kill(signal);
  }

  spec(name: string): ProcessSpec {
    return this.#get(name).spec;
  }

  alive(name: string): boolean {
    const { child } = this.#get(name);
    return child.exitCode === null && child.signalCode === null;
  }

  pid(name: string): number {
    return this.#get(name).child.pid ?? 0;
  }

  get names(): readonly string[] {
    return [...this.#processes.keys()];
  }

  /** The last lines of a process's log. */
  tail(name: string, lines?: number): readonly string[] {
    return tailOf(this.#get(name).log, lines);
  }

  #get(name: string): Supervised {
    const found = this.#processes.get(name);
    if (!found) throw new Error(`no process is called ${name}`);
    return found;
  }
}

const again = { minMs: 500, maxMs: 30_000, random: Math.random };

function tailOf(log: string, lines = 8): readonly string[] {
  try {
    return readFileSync(log, 'utf8').split('\n').filter(Boolean).slice(-lines);
  } catch {
    return [];
  }
}

/** Empty when ready, or why not. */
async function readiness(url: string): Promise<string> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000) });
    const text = await response.text();
    return response.ok ? '' : text.trim();
  } catch (error) {
    const cause = error instanceof Error ? (error.cause ?? error) : error;
    return cause instanceof Error ? cause.message : String(cause);
  }
}
