import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { Reading } from './readings.ts';

export const wireFolder = join(import.meta.dirname, '..', '..', 'testdata', 'wire', 'v1');

/** Bytes as they were once, and what they meant. */
export interface Fixture {
  readonly about: string;
  readonly reading: Reading;
  /** Full name of the message; absent: it is none. */
  readonly message?: string;
  /** Of the resource. */
  readonly name: string;
  /** The message as people read it. */
  readonly view?: unknown;
  readonly means: unknown;
  readonly bytes: Buffer;
}

/** By the file's name without `.yaml`. */
export function fixtures(): ReadonlyMap<string, Fixture> {
  const files = readdirSync(wireFolder).filter((file) => file.endsWith('.yaml'));
  return new Map(
    files.sort().map((file) => {
      const { bytes, ...rest } = parse(readFileSync(join(wireFolder, file), 'utf8')) as Fixture & {
        bytes: string;
      };
      return [file.slice(0, -'.yaml'.length), { ...rest, bytes: Buffer.from(bytes, 'base64') }];
    }),
  );
}
