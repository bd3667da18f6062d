import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { stringify } from 'yaml';

/** A cluster's folder of YAML. Files appear, change and vanish whole: they are written beside it and moved in. */
export class ObjectFolder {
  readonly dir: string;
  readonly #scratch: string;
  #written = 0;

  constructor(dir: string) {
    this.dir = dir;
    this.#scratch = `${dir}.new`;
    mkdirSync(dir, { recursive: true });
    mkdirSync(this.#scratch, { recursive: true });
  }

  /** `path` is relative to the folder. */
  writeText(path: string, text: string): void {
    const target = join(this.dir, path);
    const scratch = join(this.#scratch, String(this.#written++));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(scratch, text);
    renameSync(scratch, target);
  }

  write(path: string, ...objects: readonly object[]): void {
    this.writeText(path, objects.map((o) => stringify(o, { aliasDuplicateObjects: false })).join('---\n'));
  }

  remove(path: string): void {
    rmSync(join(this.dir, path), { force: true, recursive: true });
  }
}
