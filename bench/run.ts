import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { buildCoreDns } from '../test/coredns/build.ts';
import type { Bench } from './bench.ts';
import { selectBenches } from './benches.ts';
import { type Results, type Row, toRow } from './figure.ts';
import { buildGoControlPlane } from './go-control-plane/build.ts';
import { loadNow, machine, versions } from './machine.ts';
import { renderMarkdown, renderTable } from './table.ts';

const usage = `Usage: npm run bench -- [options]

Measures Causeway, side by side with its peers where they run without Kubernetes, and prints a table.
Each row has a name, which docs/benchmarks.md explains. It wants a quiet machine, and takes up to 15 minutes.

Options:
  --out FILE    where the figures are written as JSON (default: build/bench/<time>.json)
  --only NAMES  only these benches or figures, separated by commas
  --quick       few repetitions: to see that it runs, not for figures to keep
  --docs        writes the table into docs/benchmarks.md as well; only of a whole run
  --help
`;

/** None takes half as long on two quiet cores. */
const limitMs = 10 * 60_000;
const root = join(import.meta.dirname, '..');

interface Options {
  readonly out: string;
  readonly only: readonly string[];
  readonly quick: boolean;
  readonly docs: boolean;
}

function optionsOf(argv: readonly string[]): Options | undefined {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      out: { type: 'string' },
      only: { type: 'string', default: '' },
      quick: { type: 'boolean', default: false },
      docs: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return undefined;
  if (values.docs && (values.quick || values.only !== '')) throw new Error('--docs: expected a whole run');
  const time = new Date().toISOString().slice(0, 19).replaceAll(':', '');
  return {
    out: values.out ?? join(root, 'build', 'bench', `${time}.json`),
    only: values.only.split(',').filter(Boolean),
    quick: values.quick,
    docs: values.docs,
  };
}

/** Before anything is measured: a compiler beside it would be measured too. */
async function buildPeers(chosen: readonly Bench[]): Promise<void> {
  const wanted = [
    { of: 'dns-server', build: buildCoreDns },
    { of: 'xds-fanout', build: buildGoControlPlane },
  ];
  for (const { of, build } of wanted) {
    if (!chosen.some(({ name }) => name === of)) continue;
    await build().catch((error: Error) => say(`${error.message}\n  rows that need it are not run`));
  }
}

const say = (text: string): void => void process.stderr.write(`${text}\n`);

/** Runs one in a process of its own. One that fails gives rows that say why. */
async function runBench(bench: Bench, quick: boolean, folder: string): Promise<Row[]> {
  const results = join(folder, `${bench.name}.json`);
  const argv = ['--expose-gc', join(import.meta.dirname, `${bench.name}.ts`), '--json', results];
  const child = spawn(
    'setpriv',
    ['--pdeathsig', 'KILL', process.execPath, ...argv, ...(quick ? ['--quick'] : [])],
    {
      stdio: ['ignore', 2, 'pipe'],
    },
  );
  let tail = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    process.stderr.write(text);
    tail = (tail + text).slice(-2000);
  });
  const limit = setTimeout(() => child.kill('SIGKILL'), limitMs);
  const code = await new Promise<number>((resolve) => {
    child.once('error', () => resolve(127));
    child.once('close', (exit) => resolve(exit ?? 137));
  });
  clearTimeout(limit);
  if (code === 0) {
    const read = JSON.parse(readFileSync(results, 'utf8')) as Results;
    return bench.figures.map((figure) => toRow(bench.name, figure, read));
  }
  process.exitCode = 1;
  const error = tail.split('\n').find((line) => /Error: /.test(line)) ?? `it ended with ${code}`;
  const notRun = error.slice(0, 200);
  return bench.figures.map((figure) => toRow(bench.name, figure, { [figure.name]: { notRun } }));
}

async function main(options: Options): Promise<void> {
  const chosen = selectBenches(options.only);
  const folder = mkdtempSync(join(tmpdir(), 'causeway-bench-'));
  try {
    await buildPeers(chosen);
    const started = new Date();
    const load = { start: loadNow(), end: 0 };
    const rows: Row[] = [];
    for (const bench of chosen) {
      say(`── ${bench.name}`);
      rows.push(...(await runBench(bench, options.quick, folder)));
    }
    load.end = loadNow();
    const shown = rows.filter(
      ({ bench, name }) =>
        options.only.length === 0 || options.only.includes(bench) || options.only.includes(name),
    );
    const seconds = Math.round((Date.now() - started.getTime()) / 1000);
    const about = {
      date: started.toISOString(),
      seconds,
      quick: options.quick,
      machine: machine(),
      versions: versions(),
      load,
    };
    mkdirSync(dirname(options.out), { recursive: true });
    writeFileSync(options.out, `${JSON.stringify({ ...about, rows: shown }, undefined, 2)}\n`);
    if (options.docs) writeDocs(shown, aboutText(about));
    const missed = shown.filter(({ met }) => met === false).length;
    process.stdout.write(`\n${renderTable(shown)}\n`);
    process.stdout.write(`${aboutText(about)}\n`);
    process.stdout.write(
      `${shown.length} figures, ${missed} miss their target, ${seconds} s; ${relative(process.cwd(), options.out)}\n`,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Between the two comments of docs/benchmarks.md. */
function writeDocs(rows: readonly Row[], about: string): void {
  const path = join(root, 'docs', 'benchmarks.md');
  const text = readFileSync(path, 'utf8');
  const [before = '', after = ''] = text.split(/(?<=<!-- table -->\n)[\s\S]*(?=<!-- end of table -->)/);
  writeFileSync(path, `${before}\n${about}\n\n${renderMarkdown(rows)}\n${after}`);
}

function aboutText({
  date,
  machine: m,
  versions: v,
  load,
}: {
  date: string;
  machine: ReturnType<typeof machine>;
  versions: ReturnType<typeof versions>;
  load: { start: number; end: number };
}): string {
  const programs = Object.entries(v).map(([name, version]) => `${name} ${version}`);
  return `${date} · ${m.cores} × ${m.processor}, ${m.memoryGiB} GiB, Linux ${m.kernel} · ${programs.join(', ')} · load ${load.start} → ${load.end}`;
}

try {
  const options = optionsOf(process.argv.slice(2));
  if (options) await main(options);
  else process.stdout.write(usage);
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 2;
}
