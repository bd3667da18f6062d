import { extname, join } from 'node:path';

/** Path of a module of this folder, to start as a program: `.ts` in a clone, `.js` in an installed package. */
export function besideThis(name: string): string {
  return join(import.meta.dirname, `${name}${extname(import.meta.filename)}`);
}
