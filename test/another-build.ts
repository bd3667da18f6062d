import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { mustRun } from '../src/cli/playground/run-command.ts';

const root = join(import.meta.dirname, '..');

/** Builds the program as it is installed, into an empty folder, under another version. Returns its command. */
export async function anotherBuild(folder: string, version: string): Promise<string> {
  mkdirSync(folder, { recursive: true });
  const tsc = join(root, 'node_modules', '.bin', 'tsc');
  await mustRun([tsc, '-p', join(root, 'tsconfig.build.json'), '--outDir', join(folder, 'dist')]);
  const descriptors = ['wire', 'proto', 'descriptors.json'];
  cpSync(join(root, 'src', ...descriptors), join(folder, 'dist', ...descriptors));
  cpSync(join(root, 'bin'), join(folder, 'bin'), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as object;
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...manifest, version }));
  return join(folder, 'bin', 'causeway.mjs');
}
