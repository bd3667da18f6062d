import { buildGoProgram } from '../../test/go-program.ts';

/** Builds the server of this folder and resolves to its path; about a minute of processor time, once. */
export const buildGoControlPlane = (): Promise<string> =>
  buildGoProgram({
    name: 'bench-go-control-plane',
    folder: import.meta.dirname,
    package: '.',
    sources: ['main.go'],
    purpose: 'a server of go-control-plane to compare with (once; about a minute)',
  });
