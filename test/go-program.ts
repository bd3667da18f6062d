import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { cacheFolder, isWritable } from './cache-folder.ts';

const flags = ['-trimpath', '-buildvcs=false', '-mod=readonly', '-ldflags=-s -w'];

export interface GoProgram {
  /** Name of the program in the cache. */
  readonly name: string;
  /** Folder of its go.mod and go.sum. */
  readonly folder: string;
  readonly package: string;
  /** Files of the folder that it is built from, beside go.mod and go.sum. */
  readonly sources?: readonly string[];
  /** Said before it is built: what for, and how long it takes. */
  readonly purpose: string;
}

/**
 * Builds a program, as pinned by its go.mod and go.sum, into the cache folder and resolves to its path. Does nothing
 * when the program there was built from the same files. Needs Go 1.21 or newer (it fetches the toolchain that go.mod
 * names) and a Go module proxy.
 */
export async function buildGoProgram(wanted: GoProgram): Promise<string> {
  const cache = cacheFolder();
  const program = join(cache, 'bin', wanted.name);
  const mark = `${program}.built-from`;
  const from = fingerprint(wanted);
  if (existsSync(program) && existsSync(mark) && readFileSync(mark, 'utf8') === from) return program;

  mkdirSync(join(cache, 'bin'), { recursive: true });
  const env = goEnvironment(cache, wanted.name);
  process.stderr.write(`${wanted.name}: building ${wanted.purpose}\n`);
  // Built beside and renamed: a program that another run is executing is never written to.
  const fresh = `${program}.${process.pid}`;
  await go(['build', ...flags, '-o', fresh, wanted.package], wanted.folder, env);
  renameSync(fresh, program);
  writeFileSync(mark, from);
  return program;
}

function fingerprint({ folder, package: package_, sources = [] }: GoProgram): string {
  const hash = createHash('sha256');
  for (const file of ['go.mod', 'go.sum', ...sources]) hash.update(readFileSync(join(folder, file)));
  return hash.update(JSON.stringify([package_, flags, process.arch])).digest('hex');
}

function goEnvironment(cache: string, name: string): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = { ...process.env, CGO_ENABLED: '0', GOWORK: 'off', GOFLAGS: '' };
  env.PATH = [env.PATH, '/usr/local/go/bin', '/usr/lib/go/bin'].join(delimiter);
  if (!env.HOME || !isWritable(env.HOME)) env.HOME = cache;
  const version = spawnSync('go', ['version'], { env, encoding: 'utf8' });
  if (version.status !== 0) {
    throw new Error(`expected Go 1.21 or newer to build ${name}, found none; see https://go.dev/doc/install`);
  }
  return env;
}

/** A proxy that does not answer must not hang whoever waits. */
const buildLimitMs = 30 * 60_000;

function go(args: readonly string[], cwd: string, env: NodeJS.ProcessEnv): Promise<void> {
  return new Promise((resolve, reject) => {
    const options = { cwd, env, timeout: buildLimitMs } as const;
    const child = spawn('go', args, { ...options, stdio: ['ignore', 'ignore', 'pipe'] });
    let tail = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      tail = (tail + text).slice(-4000);
    });
    child.on('error', reject);
    child.on('close', (code, signal) =>
      code === 0 ? resolve() : reject(new Error(`go ${args[0]} ended with ${code ?? signal}:\n${tail}`)),
    );
  });
}
