import { readFileSync } from 'node:fs';
import { parseDocument } from 'yaml';
import { firstYamlFault } from '../wire/yaml-fault.ts';
import type { Clock } from './clock.ts';
import { AppError, messageOf } from './errors.ts';
import type { Log } from './log.ts';

const pollMs = 500;
const maxBytes = 1_048_576;

export interface FollowedFileOptions<T> {
  readonly path: string;
  /** For messages, as `the list of members`. */
  readonly what: string;
  /** From the value of the YAML, its scalars being texts. A throw says what is wrong with it. */
  readonly parse: (value: unknown) => T;
  readonly clock: Clock;
  readonly log: Log;
  readonly onContent: (content: T) => void;
  /** Without a first content there is none to keep: throws E_FILE_READ or E_USAGE. Default: it may come later. */
  readonly required?: boolean;
}

/** The value of a YAML document, its scalars being texts. Throws E_USAGE. */
export function readTexts(text: string): unknown {
  if (text.length > maxBytes) throw new AppError('E_USAGE', `expected at most ${maxBytes} characters`);
  // Texts only: a serial number must not become a floating-point number.
  const document = parseDocument(text, { schema: 'failsafe' });
  const fault = firstYamlFault(document.errors, text);
  if (fault !== undefined) throw new AppError('E_USAGE', fault);
  return document.toJS({ maxAliasCount: 100 });
}

/**
 * Follows a small YAML file: replaced, renamed over or mounted anew, it counts within a second. A new content
 * counts once it is read twice the same, since half a list reads as a list from which entries were taken. A file
 * that cannot be read or is wrong changes nothing.
 */
export class FollowedFile<T> {
  readonly #options: FollowedFileOptions<T>;
  /** The content that was last looked at, or why there was none. */
  #seen: string | undefined;
  #pending: string | undefined;
  #cancel: (() => void) | undefined;

  constructor(options: FollowedFileOptions<T>) {
    this.#options = options;
    if (options.required) this.#require();
    this.#poll();
  }

  close(): void {
    this.#cancel?.();
  }

  #require(): void {
    const { path, parse, what } = this.#options;
    try {
      parse(readTexts(readFileSync(path, 'utf8')));
    } catch (cause) {
      const code = cause instanceof AppError ? cause.code : 'E_FILE_READ';
      throw new AppError(code, `${path}: ${what} cannot be used: ${messageOf(cause)}`, { cause });
    }
  }

  #poll(): void {
    this.#read();
    this.#cancel = this.#options.clock.after(pollMs, () => this.#poll());
  }

  #read(): void {
    const { path, parse, onContent } = this.#options;
    let text: string;
    try {
      text = readFileSync(path, 'utf8');
    } catch (cause) {
      this.#warn(`!${messageOf(cause)}`, messageOf(cause));
      return;
    }
    if (text === this.#seen) return;
    const isSettled = this.#seen === undefined || this.#pending === text;
    this.#pending = text;
    if (!isSettled) return;
    let content: T;
    try {
      content = parse(readTexts(text));
    } catch (cause) {
      this.#warn(text, messageOf(cause));
      return;
    }
    this.#seen = text;
    onContent(content);
  }

  /** Once for each content. */
  #warn(seen: string, error: string): void {
    if (this.#seen === seen) return;
    this.#seen = seen;
    const { path, what } = this.#options;
    this.#options.log.warn({ file: path, error }, `${what} cannot be used; the last good one stays`);
  }
}
