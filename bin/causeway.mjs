#!/usr/bin/env node
// Runs the sources in a clone and the build in an installed package: Node strips no types under node_modules.
import { existsSync } from 'node:fs';

if (Number(process.versions.node.split('.')[0]) < 24) {
  process.stderr.write(
    `causeway: expected Node 24 or newer, found ${process.version}; in a clone use: npx causeway …\n`,
  );
  process.exit(2);
}
const source = new URL('../src/main.ts', import.meta.url);
const built = new URL('../dist/main.js', import.meta.url);
const useSource = existsSync(source) && !source.pathname.includes('/node_modules/');
await import((useSource ? source : built).href);
