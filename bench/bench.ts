import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { checkSandbox, runInSandbox, sandboxVariable } from '../src/cli/playground/sandbox.ts';
import { type Figure, type Results, toRow } from './figure.ts';
import { renderTable } from './table.ts';

export interface BenchContext {
  /** Fewer repetitions and smaller sizes: to see that it runs, not for figures to keep. */
  readonly quick: boolean;
  /** What is being done, for people, on standard error. */
  readonly say: (text: string) => void;
}

/** What a file of this folder measures. Runs in a process of its own. */
export interface Bench {
  /** Its file, without the ending. */
  readonly name: string;
  readonly figures: readonly Figure[];
  /** It needs namespaces: it runs as root of its own. */
  readonly sandbox?: boolean;
  readonly run: (context: BenchContext) => Promise<Results>;
}

const usage = `Options:
  --quick      few repetitions: to see that it runs, not for figures to keep
  --json FILE  writes the results there instead of printing a table
  --help
`;

/** Runs a bench by itself: \`node bench/NAME.ts [--quick]\` prints its rows. */
export async function runAlone(bench: Bench): Promise<void> {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      json: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(`Usage: node bench/${bench.name}.ts [options]\n\n${usage}`);
    return;
  }
  if (bench.sandbox && process.env[sandboxVariable] === undefined) {
    checkSandbox();
    const command = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
    process.exitCode = await runInSandbox({ command });
    return;
  }
  const say = (text: string): void => void process.stderr.write(`  ${bench.name}: ${text}\n`);
  const results = await bench.run({ quick: values.quick, say });
  if (values.json === undefined)
    process.stdout.write(renderTable(bench.figures.map((figure) => toRow(bench.name, figure, results))));
  else writeFileSync(values.json, JSON.stringify(results));
}
