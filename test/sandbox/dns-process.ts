import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { vi } from 'vitest';
import { enterCommand, type Namespace } from '../../src/cli/playground/namespace.ts';
import { buildCoreDns } from '../coredns/build.ts';

export interface ServerProcess {
  readonly pid: number;
  /** What it has written to standard output and error. */
  readonly output: () => string;
  /** Ends it with SIGTERM; resolves with its exit code. */
  stop(): Promise<number | null>;
  exited(): Promise<number | null>;
}

function start(file: string, argv: readonly string[], input = ''): ServerProcess {
  const child: ChildProcess = spawn(file, argv, { stdio: ['pipe', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  child.stdin?.end(input);
  const exit = once(child, 'exit').then(([code]) => code as number | null);
  return {
    pid: child.pid as number,
    output: () => output,
    exited: () => exit,
    stop: () => {
      child.kill('SIGTERM');
      return exit;
    },
  };
}

/** Stock CoreDNS with this Corefile, once it serves; in `namespace` if one is given. */
export async function startCoreDns(corefile: string, namespace?: Namespace): Promise<ServerProcess> {
  const program = process.env.CAUSEWAY_COREDNS || (await buildCoreDns());
  const command = [program, '-conf', 'stdin'];
  const [file = program, ...argv] = namespace ? enterCommand(namespace.name, command) : command;
  const server = start(file, argv, corefile);
  await says(server, 'CoreDNS-');
  return server;
}

/** `causeway dns` as a process of its own, once it listens. */
export async function startDnsRole(argv: readonly string[]): Promise<ServerProcess> {
  const server = causeway(['dns', ...argv]);
  await says(server, 'dns is up');
  return server;
}

export function causeway(argv: readonly string[]): ServerProcess {
  return start(process.execPath, [join(import.meta.dirname, '..', '..', 'src', 'main.ts'), ...argv]);
}

async function says(server: ServerProcess, text: string): Promise<void> {
  let ended = false;
  void server.exited().then(() => {
    ended = true;
  });
  await vi.waitFor(
    () => {
      if (!ended && !server.output().includes(text)) throw new Error('not yet');
    },
    { timeout: 60_000 },
  );
  if (ended) throw new Error(`it ended instead of serving: ${server.output()}`);
}
