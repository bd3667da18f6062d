import { readFileSync } from 'node:fs';
import { parseDocument } from 'yaml';
import type { Clock } from '../../runtime/clock.ts';
import { messageOf } from '../../runtime/errors.ts';
import type { Log } from '../../runtime/log.ts';

const pollMs = 500;
const maxBytes = 1_048_576;
const maxMembers = 10_000;
const dnsLabel = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** `{members: [{cluster: west}, …]}`; other fields are left for later. The text says what is wrong, or undefined. */
export function parseMembers(text: string): ReadonlySet<string> | { readonly error: string } {
  if (text.length > maxBytes) return { error: `expected at most ${maxBytes} characters` };
  const document = parseDocument(text);
  const [fault] = document.errors;
  if (fault) return { error: fault.message.split('\n')[0] as string };
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 100 });
  } catch (cause) {
    return { error: messageOf(cause) };
  }
  const members = (value as { members?: unknown } | null)?.members;
  if (!Array.isArray(members)) return { error: `members: expected a list, found ${shown(members)}` };
  if (members.length > maxMembers) return { error: `members: expected at most ${maxMembers}` };
  const clusters = new Set<string>();
  for (const [i, member] of (members as unknown[]).entries()) {
    const cluster = (member as { cluster?: unknown } | null)?.cluster;
    const at = `members[${i}].cluster`;
    if (typeof cluster !== 'string' || !dnsLabel.test(cluster)) {
      return { error: `${at}: expected a DNS label, found ${shown(cluster)}` };
    }
    if (clusters.has(cluster)) return { error: `${at}: expected each cluster once, found ${cluster} again` };
    clusters.add(cluster);
  }
  return clusters;
}

const shown = (value: unknown): string =>
  value === undefined ? 'none' : JSON.stringify(value).slice(0, 100);

/**
 * Follows the file of members: replaced, renamed over or mounted anew, it counts within a second. A new content
 * counts once it is read twice the same, since half a list reads as a list from which members were taken. A file
 * that cannot be read or is wrong changes nothing.
 */
export class MembersFile {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #onList: (clusters: ReadonlySet<string>) => void;
  /** The content that was last looked at, or why there was none. */
  #seen: string | undefined;
  #pending: string | undefined;
  #cancel: (() => void) | undefined;

  constructor(options: {
    readonly path: string;
    readonly clock: Clock;
    readonly log: Log;
    readonly onList: (clusters: ReadonlySet<string>) => void;
  }) {
    this.#path = options.path;
    this.#clock = options.clock;
    this.#log = options.log;
    this.#onList = options.onList;
    this.#poll();
  }

  close(): void {
    this.#cancel?.();
  }

  #poll(): void {
    this.#read();
    this.#cancel = this.#clock.after(pollMs, () => this.#poll());
  }

  #read(): void {
    let text: string;
    try {
      text = readFileSync(this.#path, 'utf8');
    } catch (cause) {
      this.#warn(`!${messageOf(cause)}`, messageOf(cause));
      return;
    }
    if (text === this.#seen) return;
    const isSettled = this.#seen === undefined || this.#pending === text;
    this.#pending = text;
    if (!isSettled) return;
    const list = parseMembers(text);
    if ('error' in list) {
      this.#warn(text, list.error);
      return;
    }
    this.#seen = text;
    this.#onList(list);
  }

  /** Once for each content. */
  #warn(seen: string, error: string): void {
    if (this.#seen === seen) return;
    this.#seen = seen;
    this.#log.warn(
      { file: this.#path, error },
      'the list of members cannot be used; the last good one stays',
    );
  }
}
