#!/usr/bin/env node
// Runs the sources in a clone and the build in an installed package: Node strips no types under node_modules.
import { existsSync } from 'node:fs';

if (Number(process.versions.node.split('.')[0]) < 24) {
  process.stderr.write(
    `causeway: expected Node 24 or newer, found ${process.version}; in a clone use: npx causeway …\n`,
  );
  process.exit(2);
}
// An agent shares its node with workloads. V8 would give young objects up to 128 MiB and let garbage be three times
// what is in use; flags cannot be changed later, so that this process begins again as itself.
const frugal = ['--max-semi-space-size=4', '--heap-growing-percent=50'];
if (process.argv[2] === 'agent' && !process.execArgv.includes(frugal[0])) {
  const args = [...frugal, ...process.execArgv, ...process.argv.slice(1)];
  process.execve?.(process.execPath, [process.execPath, ...args], process.env);
}
const source = new URL('../src/main.ts', import.meta.url);
const built = new URL('../dist/main.js', import.meta.url);
const useSource = existsSync(source) && !source.pathname.includes('/node_modules/');
await import((useSource ? source : built).href);
