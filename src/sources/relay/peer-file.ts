import { readFile, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../runtime/clock.ts';
import { messageOf } from '../../runtime/errors.ts';
import type { Log } from '../../runtime/log.ts';
import type { Metrics } from '../../runtime/metrics.ts';
import type { WriteFile } from '../../runtime/state-disk.ts';
import { writeAtomic } from '../../runtime/write-atomic.ts';
import { formatKeptPeers, type KeptPeers, parseKeptPeers } from './kept-peers.ts';

/** What the file of an earlier process says. */
export interface LoadedPeers {
  /** Undefined: nothing can be used. */
  readonly kept?: KeptPeers;
  /** Until about then the earlier process was in contact with every cluster that is not in `staleSince`. */
  readonly contactUntil: number;
  /** Why a file that is there cannot be used. */
  readonly fault?: string;
}

/** What the file follows. */
interface KeptSource {
  /** Undefined: not to be written yet. */
  readonly kept: KeptPeers | undefined;
  /** A cluster is heard now. */
  readonly hasContact: boolean;
}

export interface PeerFileOptions {
  readonly stateFolder: string;
  readonly source: KeptSource;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Default: `writeAtomic`. */
  readonly write?: WriteFile;
}

const periodMs = 1_000;
const maxRestMs = 60_000;
/** How often the time of the last contact is noted. */
const contactMs = 2_000;
/** Writing may take this part of the time. */
const share = 0.05;
const maxBytes = 256 * 1024 * 1024;

const pathOf = (stateFolder: string): string => join(stateFolder, 'peers.json');

/** Never rejects: a file that cannot be read is as if it were not there, and `fault` says so. */
export async function loadPeers(
  stateFolder: string,
  own: { readonly set: string; readonly cluster: string },
): Promise<LoadedPeers> {
  const path = pathOf(stateFolder);
  try {
    const { size, mtimeMs } = await stat(path);
    if (size > maxBytes)
      return { contactUntil: 0, fault: `${path}: expected at most ${maxBytes} bytes, found ${size}` };
    const kept = parseKeptPeers(await readFile(path, 'utf8'), own);
    if (typeof kept === 'string') return { contactUntil: 0, fault: `${path}: ${kept}` };
    return { kept, contactUntil: mtimeMs + contactMs };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { contactUntil: 0 };
    return { contactUntil: 0, fault: `${path}: ${messageOf(error)}` };
  }
}

/**
 * `STATE/peers.json` follows what peers gave: written whole, at once and then about once a second while it changes,
 * less often where that takes long. Its modification time is that of the last contact. What cannot be written is tried again.
 */
export class PeerFile {
  readonly #options: PeerFileOptions;
  readonly #path: string;
  readonly #failures;
  #dirty = false;
  #wroteAt = Number.NEGATIVE_INFINITY;
  /** Between the starts of two writes. */
  #restMs = periodMs;
  #fault = '';
  #contactAt = Number.NEGATIVE_INFINITY;
  #running: Promise<void> | undefined;
  #cancel: (() => void) | undefined;
  #closed = false;

  constructor(options: PeerFileOptions) {
    this.#options = options;
    this.#path = pathOf(options.stateFolder);
    this.#failures = options.metrics.counter({
      name: 'output_failures_total',
      help: 'failed attempts to bring an output to what is wanted',
      labels: ['output'],
    });
    this.#plan(contactMs);
  }

  /** What is kept has changed. */
  changed(): void {
    if (this.#dirty) return;
    this.#dirty = true;
    const passed = this.#options.clock.now() - this.#wroteAt;
    if (this.#cancel) this.#plan(Math.max(0, this.#restMs - passed));
  }

  /** Resolves when nothing is being written. */
  async settled(): Promise<void> {
    await this.#running;
  }

  /** Writes what is not written yet; `changed` does nothing from then on. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancel?.();
    this.#cancel = undefined;
    await this.#running;
    await this.#look();
  }

  #plan(ms: number): void {
    this.#cancel?.();
    this.#cancel = undefined;
    if (this.#closed) return;
    this.#cancel = this.#options.clock.after(ms, () => {
      this.#cancel = undefined;
      const started = this.#options.clock.now();
      this.#running = this.#look().then(() => {
        const took = this.#options.clock.now() - started;
        this.#restMs = Math.min(maxRestMs, Math.max(periodMs, took / share));
        this.#plan(this.#dirty ? this.#restMs : contactMs);
      });
    });
  }

  async #look(): Promise<void> {
    const { source, clock, log, write = writeAtomic } = this.#options;
    const { kept } = source;
    if (!kept) return;
    try {
      if (this.#dirty) {
        this.#dirty = false;
        this.#wroteAt = clock.now();
        const text = formatKeptPeers(kept);
        if (text.length > maxBytes)
          throw new Error(`expected at most ${maxBytes} bytes, found ${text.length}`);
        await write(this.#path, text);
        this.#contactAt = Number.NEGATIVE_INFINITY;
      }
      if (this.#contactAt === Number.NEGATIVE_INFINITY || source.hasContact) {
        this.#contactAt = clock.wall();
        await utimes(this.#path, this.#contactAt / 1000, this.#contactAt / 1000);
      }
      if (this.#fault !== '') log.info({ file: this.#path }, 'what peers gave is kept on disk again');
      this.#fault = '';
    } catch (error) {
      this.#dirty = true;
      this.#failures.inc({ output: 'peers' });
      const fault = messageOf(error);
      if (fault === this.#fault) return;
      this.#fault = fault;
      log.warn(
        { file: this.#path, error: fault },
        'what peers gave cannot be kept on disk; it is tried again',
      );
    }
  }
}
