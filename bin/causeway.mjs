#!/usr/bin/env node
// Runs the sources in a clone and the build in an installed package: Node strips no types under node_modules.
import { existsSync } from 'node:fs';

if (Number(process.versions.node.split('.')[0]) < 24) {
  process.stderr.write(
    `causeway: expected Node 24 or newer, found ${process.version}; a clone brings one on x64 and arm64, which its bin/causeway uses\n`,
  );
  process.exit(2);
}
// V8 would keep up to 128 MiB for young objects alone, and an agent shares its node with workloads. Flags cannot be
// changed later, so that the process of a role begins again as itself.
const room = '--max-semi-space-size=16';
const frugal = {
  agent: ['--max-semi-space-size=4', '--heap-growing-percent=50'],
  controller: [room],
  dns: [room],
  relay: [room],
}[process.argv[2]];
if (frugal && !process.execArgv.some((flag) => flag.startsWith('--max-semi-space-size'))) {
  const args = [...frugal, ...process.execArgv, ...process.argv.slice(1)];
  process.execve?.(process.execPath, [process.execPath, ...args], process.env);
}
const source = new URL('../src/main.ts', import.meta.url);
const built = new URL('../dist/main.js', import.meta.url);
const useSource = existsSync(source) && !source.pathname.includes('/node_modules/');
await import((useSource ? source : built).href);
