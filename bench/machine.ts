import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem } from 'node:os';
import { join } from 'node:path';

export interface Machine {
  readonly processor: string;
  readonly cores: number;
  readonly kernel: string;
  readonly memoryGiB: number;
}

export function machine(): Machine {
  const all = cpus();
  return {
    processor: all[0]?.model ?? 'unknown',
    cores: all.length,
    kernel: release(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
  };
}

const said = (file: string, argv: readonly string[]): string | undefined => {
  try {
    return execFileSync(file, argv, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return undefined;
  }
};

const root = join(import.meta.dirname, '..');

/** The version that a go.mod of ours pins. */
function pinned(folder: string, module: string): string {
  const text = readFileSync(join(root, folder, 'go.mod'), 'utf8');
  return new RegExp(`${module} (v\\S+)`).exec(text)?.[1] ?? 'unknown';
}

/** What took part; an absent program is `none`. */
export function versions(): Readonly<Record<string, string>> {
  const commit = said('git', ['-C', root, 'rev-parse', '--short', 'HEAD']) ?? 'unknown';
  const changed = said('git', ['-C', root, 'status', '--porcelain']) ? ' with changes' : '';
  return {
    causeway: `${commit}${changed}`,
    node: process.version,
    nft: /v(\S+)/.exec(said('nft', ['--version']) ?? '')?.[1] ?? 'none',
    go: /go(\d\S*)/.exec(said('go', ['version']) ?? '')?.[1] ?? 'none',
    'go-control-plane': pinned('bench/go-control-plane', 'github.com/envoyproxy/go-control-plane'),
    CoreDNS: pinned('test/coredns', 'github.com/coredns/coredns'),
  };
}

/** Processes that want to run, over the last minute. */
export const loadNow = (): number => Math.round((loadavg()[0] as number) * 100) / 100;
