import { buildGoProgram } from '../go-program.ts';

/** Builds stock CoreDNS, as pinned by this folder, and resolves to its path; about 100 s of processor time, once. */
export const buildCoreDns = (): Promise<string> =>
  buildGoProgram({
    name: 'coredns',
    folder: import.meta.dirname,
    package: 'github.com/coredns/coredns',
    purpose: 'stock CoreDNS for the tests (once; about two minutes)',
  });

if (import.meta.main) process.stdout.write(`${await buildCoreDns()}\n`);
