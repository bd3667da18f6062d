import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A block of a document that is to be run (`sh`), or a file it shows (`yaml`, its name in the first line). */
export interface Block {
  readonly language: string;
  readonly text: string;
}

export function blocksOf(document: string): readonly Block[] {
  const found = readFileSync(document, 'utf8').matchAll(/^```(sh|yaml)\n([\s\S]*?)^```$/gm);
  return [...found].map(([, language = '', text = '']) => ({ language, text }));
}

/** The block starts a role, which runs until it is told to stop. */
export const isRole = ({ language, text }: Block): boolean =>
  language === 'sh' && /^causeway (relay|controller|dns|agent)(?! (init|certificate|cleanup)\b)/m.test(text);

/** Writes the file that a block shows. */
export function writeShown({ text }: Block, folder: string): void {
  const name = /^# (\S+)\n/.exec(text)?.[1];
  if (name === undefined) throw new Error(`a block of YAML does not name its file:\n${text}`);
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
