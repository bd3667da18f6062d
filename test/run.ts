import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkSandbox, runInSandbox, watchParent } from '../src/cli/playground/sandbox.ts';
import { buildCoreDns } from './coredns/build.ts';
import { fetchEnvoy } from './envoy/fetch.ts';

/**
 * `npm test`: static checks, the unit tests, and inside a sandbox the tests that need namespaces; the last line
 * is the sum. `npm test -- ARGS` passes ARGS to vitest (`-t 'P2'`, a file) and leaves the static checks out.
 */

const root = join(import.meta.dirname, '..');
const args = process.argv.slice(2);
const temporary = mkdtempSync(join(tmpdir(), 'causeway-test-'));
const stageLimitMs = 45 * 60_000;
const modules = join(root, 'node_modules');
const vitest = join(modules, 'vitest', 'vitest.mjs');

let passed = 0;
let failed = 0;

let interrupted = false;

function begin(title: string): void {
  if (interrupted) process.exit(130);
  console.log(`\n── ${title}`);
}

/** Runs a command to its end; one that hangs is killed. Resolves with its exit code. */
function run(file: string, argv: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<number> {
  return new Promise((resolve) => {
    // Whatever ends this process ends the stage too.
    const bound = ['--pdeathsig', 'KILL', file, ...argv];
    const child = spawn('setpriv', bound, { cwd: root, stdio: 'inherit', env: { ...process.env, ...env } });
    const limit = setTimeout(() => child.kill('SIGKILL'), stageLimitMs);
    const end = (code: number): void => {
      clearTimeout(limit);
      resolve(code);
    };
    child.once('error', (error) => {
      console.error(`${file}: ${error.message}`);
      end(127);
    });
    child.once('exit', (code) => end(code ?? 1));
  });
}

/** A stage that is not a run of vitest: it counts as one test, unless only some tests were asked for. */
async function stage(title: string, command: () => Promise<number>): Promise<boolean> {
  begin(title);
  const ok = (await command()) === 0;
  if (!ok) failed += 1;
  else if (args.length === 0) passed += 1;
  return ok;
}

/** A program that tests run; they find its path in `variable`. */
async function provide(title: string, variable: string, make: () => Promise<string>): Promise<void> {
  await stage(title, async () => {
    try {
      process.env[variable] = await make();
      return 0;
    } catch (error) {
      console.error(error instanceof Error ? error.message : error);
      return 1;
    }
  });
}

/** A run of vitest. One that ends badly without having counted a failure is itself a failure. */
async function tests(project: string, command: (argv: string[], env: NodeJS.ProcessEnv) => Promise<number>) {
  begin(`tests: ${project}`);
  const counts = join(temporary, `${project}.counts`);
  const argv = [vitest, 'run', '--project', project, '--passWithNoTests', ...args];
  const code = await command(argv, { CAUSEWAY_TEST_COUNTS: counts });
  const lines = existsSync(counts) ? readFileSync(counts, 'utf8').trim().split('\n') : [];
  const sum = (column: number): number =>
    lines.reduce((n, line) => n + Number(line.split(' ')[column] ?? 0), 0);
  passed += sum(0);
  failed += sum(1);
  if (lines.length === 0 || (code !== 0 && sum(1) === 0)) {
    console.error(`the ${project} tests ended with exit code ${code} and no failed test`);
    failed += 1;
  }
}

async function sandboxed(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  try {
    checkSandbox();
    let limit: NodeJS.Timeout | undefined;
    const code = await runInSandbox({
      command: [process.execPath, ...argv],
      env: { ...process.env, ...env },
      cwd: root,
      onStart: (sandbox) => {
        limit = setTimeout(() => sandbox.child.kill('SIGKILL'), stageLimitMs);
      },
    });
    clearTimeout(limit);
    return code;
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    return 1;
  }
}

const node = process.execPath;
watchParent(() => process.exit(1));
process.on('exit', () => rmSync(temporary, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    interrupted = true;
    setTimeout(() => process.exit(130), 5_000).unref();
  });
}

if (args.length === 0) {
  await stage('biome ci', () => run(join(modules, '.bin', 'biome'), ['ci', '.']));
  await stage('tsc', () => run(join(modules, '.bin', 'tsc'), ['-p', 'tsconfig.json']));
  await stage('knip', () => run(join(modules, '.bin', 'knip'), ['--no-progress']));
}
await provide('stock CoreDNS for the DNS tests', 'CAUSEWAY_COREDNS', buildCoreDns);
await provide('stock Envoy for the xDS tests', 'CAUSEWAY_ENVOY', fetchEnvoy);
await tests('unit', (argv, env) => run(node, argv, env));
await tests('sandbox', sandboxed);
await tests('launch', (argv, env) => run(node, argv, env));

if (passed === 0 && failed === 0) {
  console.error(`no test matches ${args.join(' ')}`);
  failed = 1;
}
console.log(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
