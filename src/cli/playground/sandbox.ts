import { type ChildProcess, type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { AppError } from '../../runtime/errors.ts';
import { diagnoseSandbox, type SandboxFacts } from './sandbox-diagnosis.ts';

/** Set in the environment of everything that runs inside a sandbox. */
export const sandboxVariable = 'CAUSEWAY_SANDBOX';

/** Exit code of a sandbox that could not be made ready for its command. */
export const sandboxFailed = 125;

const programs = ['setpriv', 'unshare', 'nsenter', 'ip', 'nft', 'conntrack', 'mount', 'sh'];

/**
 * The first process of the sandbox. A tmpfs hides the machine's own /run (network namespaces, resolver sockets)
 * and takes everything that is written there along when the sandbox ends. The shell stays, as it must reap what
 * loses its parent.
 */
const init = `
fail() { echo "sandbox: cannot $1" >&2; exit ${sandboxFailed}; }
mount -t tmpfs -o mode=0755 causeway /run || fail 'mount a tmpfs on /run'
ip link set lo up || fail 'bring the loopback interface up'
"$@"
exit $?
`;

/** Refuses to be made if the kernel lacks what the playground needs. */
const probe = `
ip link add probe0 type veth peer name probe1 || { echo "sandbox: cannot make veth links" >&2; exit 125; }
nft -f - <<END || { echo "sandbox: cannot load an nftables table" >&2; exit 125; }
add table inet probe
add chain inet probe nat { type nat hook prerouting priority -105; }
END
`;

/**
 * Command and arguments that run `command` as root of user, network, mount and process namespaces of its own,
 * for root and for everybody else alike. Whichever process of the chain is killed, the kernel kills the rest:
 * setpriv binds unshare to us, --kill-child binds the first process to unshare, and a process namespace ends
 * with its first process.
 */
function sandboxCommand(command: readonly string[]): [string, ...string[]] {
  return [
    'setpriv',
    '--pdeathsig',
    'KILL',
    'unshare',
    '--user',
    '--map-root-user',
    '--net',
    '--mount',
    '--uts',
    '--pid',
    '--fork',
    '--kill-child',
    '--mount-proc',
    'sh',
    '-c',
    init,
    'sandbox',
    ...command,
  ];
}

/** The environment with the folders of system programs on the PATH (a login without privileges lacks them). */
export function sandboxEnvironment(base: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  const path = (base.PATH ?? '/usr/bin:/bin').split(delimiter);
  const missing = ['/usr/sbin', '/sbin'].filter((dir) => !path.includes(dir));
  const home = base.HOME && existsSync(base.HOME) ? base.HOME : '/tmp';
  return { ...base, PATH: [...path, ...missing].join(delimiter), HOME: home, [sandboxVariable]: '1' };
}

/** Throws E_SANDBOX, naming what is missing and what to do, if a sandbox cannot be made here. */
export function checkSandbox(): void {
  const env = sandboxEnvironment();
  const missing = programs.filter(
    (p) => !(env.PATH ?? '').split(delimiter).some((d) => existsSync(join(d, p))),
  );
  const facts: SandboxFacts = { root: process.getuid?.() === 0, missing, stderr: '', sysctl: readSysctl };
  if (missing.length === 0) {
    const [file, ...args] = sandboxCommand(['sh', '-c', probe]);
    const done = spawnSync(file, args, {
      env,
      encoding: 'utf8',
      timeout: 30_000,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    if (done.status === 0) return;
    facts.stderr = done.error ? String(done.error) : done.stderr.trim();
  }
  throw new AppError('E_SANDBOX', diagnoseSandbox(facts));
}

function readSysctl(name: string): string | undefined {
  try {
    return readFileSync(`/proc/sys/${name.replaceAll('.', '/')}`, 'utf8').trim();
  } catch {
    return undefined;
  }
}

export interface Sandbox {
  /** The unshare process: the parent, outside, of the sandbox's first process. */
  readonly child: ChildProcess;
  /** The sandbox's first process, as seen from here; undefined until it runs. */
  init(): number | undefined;
  /** Sends a signal to the command inside; a sandbox that has not got so far is killed. */
  signal(name: NodeJS.Signals): void;
  /** Resolves with the command's exit code (128 + n after signal n). */
  readonly exit: Promise<number>;
}

export interface SandboxOptions {
  readonly command: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  readonly stdio?: SpawnOptions['stdio'];
}

/** Starts a command in a sandbox. Call from the main thread: the sandbox dies with the thread that made it. */
function startSandbox(options: SandboxOptions): Sandbox {
  const [file, ...args] = sandboxCommand(options.command);
  const child = spawn(file, args, {
    env: sandboxEnvironment(options.env),
    stdio: options.stdio ?? 'inherit',
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  });
  const first = (): number | undefined => (child.pid === undefined ? undefined : childrenOf(child.pid)[0]);
  return {
    child,
    init: first,
    signal(name) {
      const pid = first();
      const command = pid === undefined ? [] : childrenOf(pid);
      if (command.length === 0) child.kill('SIGKILL');
      for (const each of command) tryKill(each, name);
    },
    exit: new Promise((resolve, reject) => {
      child.once('error', (cause) =>
        reject(new AppError('E_SANDBOX', `cannot run ${file}: ${cause}`, { cause })),
      );
      child.once('exit', (code, signal) => resolve(code ?? 128 + (signalNumbers[signal ?? 'SIGKILL'] ?? 9)));
    }),
  };
}

const signalNumbers: Partial<Record<NodeJS.Signals, number>> = { SIGINT: 2, SIGKILL: 9, SIGTERM: 15 };

/** Direct children of a process, as the kernel lists them. */
function childrenOf(pid: number): number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
    return text === '' ? [] : text.split(' ').map(Number);
  } catch {
    return [];
  }
}

function tryKill(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended by itself.
  }
}

/**
 * Runs a command in a sandbox to its end: passes SIGINT, SIGTERM and SIGHUP on, and ends when npm, which cannot
 * pass on its own kill -9, is gone. Resolves with the exit code.
 */
export async function runInSandbox(
  options: SandboxOptions & { onStart?: (s: Sandbox) => void },
): Promise<number> {
  const sandbox = startSandbox(options);
  options.onStart?.(sandbox);
  const passed = (['SIGINT', 'SIGTERM', 'SIGHUP'] as const).map((name) => {
    const pass = (): void => sandbox.signal(name);
    process.on(name, pass);
    return () => process.off(name, pass);
  });
  const unwatch = watchParent(() => sandbox.child.kill('SIGKILL'));
  try {
    return await sandbox.exit;
  } finally {
    unwatch();
    for (const undo of passed) undo();
  }
}

/** Calls `gone` once npm, when it started us, has died. Returns how to stop watching. */
export function watchParent(gone: () => void): () => void {
  const parent = process.ppid;
  if (process.env.npm_lifecycle_event === undefined) return () => {};
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    gone();
  }, 200);
  timer.unref();
  return () => clearInterval(timer);
}
