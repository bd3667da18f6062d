import { readdirSync, readFileSync } from 'node:fs';

export interface Marked {
  readonly pid: number;
  readonly command: string;
}

/** Processes of the whole machine whose environment carries the text, zombies left out. */
export function marked(mark: string): Marked[] {
  const found: Marked[] = [];
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      if (!readFileSync(`/proc/${name}/environ`, 'latin1').split('\0').includes(mark)) continue;
      const command = readFileSync(`/proc/${name}/cmdline`, 'latin1').replaceAll('\0', ' ').trim();
      if (command !== '') found.push({ pid: Number(name), command });
    } catch {
      // It ended between the listing and the reading.
    }
  }
  return found;
}

/** Reads again and again until it is as wanted; fails after a generous time with what was read last. */
export async function until<T>(
  what: string,
  read: () => T,
  done: (value: T) => boolean,
  seconds = 30,
): Promise<T> {
  const deadline = Date.now() + seconds * 1_000;
  for (;;) {
    const value = read();
    if (done(value)) return value;
    if (Date.now() > deadline)
      throw new Error(`waited for ${what}, last ${JSON.stringify(value).slice(0, 4_000)}`);
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
}

let marks = 0;

/** A variable for the environment of one launch, by which everything that comes of it is found. */
export function newMark(): { readonly text: string; readonly env: NodeJS.ProcessEnv } {
  marks += 1;
  const value = `${process.pid}-${marks}`;
  return { text: `CAUSEWAY_MARK=${value}`, env: { CAUSEWAY_MARK: value, CAUSEWAY_PLAYGROUND_NAME: value } };
}
