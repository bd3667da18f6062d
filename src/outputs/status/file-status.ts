import { createHash } from 'node:crypto';
import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { parse, stringify } from 'yaml';
import type { Status } from '../../model/compiled.ts';
import type { Clock } from '../../runtime/clock.ts';
import { AppError, messageOf } from '../../runtime/errors.ts';
import type { Output } from '../../runtime/output.ts';
import type { WriteFile } from '../../runtime/state-disk.ts';
import { writeAtomic } from '../../runtime/write-atomic.ts';
import { mergeStatus } from './merge.ts';

export interface FileStatusOptions {
  readonly stateFolder: string;
  readonly controllerName: string;
  readonly clock: Clock;
  /** Default: `writeAtomic`. */
  readonly write?: WriteFile;
  /** Called when a summary that was held back may be written: `update` is due for this key. */
  readonly onDue: (key: string) => void;
  /** Somebody had changed what is ours in a status, and it was put right. */
  readonly onRepaired?: (key: string) => void;
}

const summaryMs = 30_000;

/**
 * Statuses as YAML files, `STATE/status/<kind>/<namespace>_<name>.yaml`. A file is written only when something in
 * it changes; a composite's summary, which changes all the time, at most once in 30 seconds.
 */
export class FileStatus implements Output<Status> {
  readonly #options: FileStatusOptions;
  readonly #folder: string;
  /** key → when its summary was written last, and the timer for the next one. */
  readonly #summaries = new Map<string, { at: number; cancel?: () => void }>();
  /** key → the status that its file holds, and how the file looked then. */
  readonly #held = new Map<string, { readonly status: Status; readonly version: string }>();

  constructor(options: FileStatusOptions) {
    this.#options = options;
    this.#folder = join(options.stateFolder, 'status');
  }

  async update(key: string, status: Status): Promise<void> {
    const path = this.#path(key);
    const held = this.#held.get(key);
    const known = held?.status === status;
    if (known && held.version === (await versionOf(path))) return;
    const old = await readStatus(path);
    const wanted = this.#withSettledSummary(key, status.status, old);
    const merged = mergeStatus(wanted, old, this.#context());
    if (!isDeepStrictEqual(plain(merged), old)) {
      await this.#write(path, { ...headOf(status), status: merged });
      if (known) this.#options.onRepaired?.(key);
      if ('summary' in merged && !isDeepStrictEqual(plain(merged.summary), old.summary)) {
        this.#summaries.get(key)?.cancel?.();
        this.#summaries.set(key, { at: this.#options.clock.now() });
      }
    }
    // A summary that is held back makes it another status than this.
    if (wanted === status.status) this.#held.set(key, { status, version: await versionOf(path) });
    else this.#held.delete(key);
  }

  /** What others wrote to it stays. */
  async delete(key: string): Promise<void> {
    this.#summaries.get(key)?.cancel?.();
    this.#summaries.delete(key);
    this.#held.delete(key);
    const path = this.#path(key);
    const object = await readObject(path);
    const merged = mergeStatus({}, fieldsOf(object.status), this.#context());
    if (Object.keys(merged).length === 0) await remove(path);
    else if (!isDeepStrictEqual(plain(merged), object.status))
      await this.#write(path, { ...object, status: merged });
  }

  async prune(keys: ReadonlySet<string>): Promise<void> {
    const wanted = new Set([...keys].map((key) => this.#path(key)));
    for (const kind of await list(this.#folder)) {
      for (const name of await list(join(this.#folder, kind))) {
        const path = join(this.#folder, kind, name);
        if (!wanted.has(path)) await remove(path);
      }
    }
  }

  close(): void {
    for (const { cancel } of this.#summaries.values()) cancel?.();
    this.#summaries.clear();
  }

  #context(): { now: string; controllerName: string } {
    const now = new Date(this.#options.clock.wall()).toISOString().replace(/\.\d+Z$/, 'Z');
    return { now, controllerName: this.#options.controllerName };
  }

  /** The old summary while it is young. */
  #withSettledSummary(
    key: string,
    status: Readonly<Record<string, unknown>>,
    old: Readonly<Record<string, unknown>>,
  ): Readonly<Record<string, unknown>> {
    const last = this.#summaries.get(key);
    if (!last || !('summary' in status) || isDeepStrictEqual(plain(status.summary), old.summary))
      return status;
    const left = last.at + summaryMs - this.#options.clock.now();
    if (left <= 0) return status;
    last.cancel ??= this.#options.clock.after(left, () => {
      delete last.cancel;
      this.#options.onDue(key);
    });
    return { ...status, summary: old.summary };
  }

  async #write(path: string, object: unknown): Promise<void> {
    const { write = writeAtomic } = this.#options;
    await write(path, stringify(object, { lineWidth: 110, aliasDuplicateObjects: false }), {
      durable: false,
    });
  }

  #path(key: string): string {
    const [kind = '', namespace = '', ...name] = key.split('/');
    const file = namespace === '' ? name.join('_') : `${namespace}_${name.join('_')}`;
    // A namespace and a name can be longer together than a file's name may be.
    const hash = createHash('sha256').update(file).digest('hex').slice(0, 16);
    const safe = file.length > 200 ? `${file.slice(0, 200)}_${hash}` : file;
    return join(this.#folder, kind, `${safe}.yaml`);
  }
}

type Fields = Readonly<Record<string, unknown>>;

function headOf({ ref, apiVersion, generation }: Status): Fields {
  const { kind, namespace, name } = ref;
  return {
    apiVersion,
    kind,
    metadata: namespace === '' ? { name, generation } : { name, namespace, generation },
  };
}

/** Changes with every change of the file; empty: there is none. */
async function versionOf(path: string): Promise<string> {
  try {
    const { ino, size, mtimeNs } = await stat(path, { bigint: true });
    return `${ino}:${size}:${mtimeNs}`;
  } catch {
    return '';
  }
}

/** A file that is not there, or that somebody broke, is an empty status: it will be written anew. */
async function readObject(path: string): Promise<Fields> {
  try {
    return fieldsOf(parse(await readFile(path, 'utf8'), { logLevel: 'silent' }));
  } catch {
    return {};
  }
}

const readStatus = async (path: string): Promise<Fields> => fieldsOf((await readObject(path)).status);

const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};

/** As it is when it is read back: without undefined fields. */
const plain = (value: unknown): unknown =>
  value === undefined ? undefined : JSON.parse(JSON.stringify(value));

async function list(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).filter((name) => !name.startsWith('.'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw new AppError('E_STATE_WRITE', `${folder}: ${messageOf(error)}`, { cause: error, retryable: true });
  }
}

async function remove(path: string): Promise<void> {
  try {
    await rm(path, { force: true });
  } catch (error) {
    throw new AppError('E_STATE_WRITE', `${path}: ${messageOf(error)}`, { cause: error, retryable: true });
  }
}
