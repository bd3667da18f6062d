import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type FSWatcher, watch } from 'chokidar';
import type { Change } from '../../model/inputs.ts';
import type { Clock } from '../../runtime/clock.ts';
import { Coalescer } from '../../runtime/coalesce.ts';
import { messageOf } from '../../runtime/errors.ts';
import type { Log } from '../../runtime/log.ts';
import type { WriteFile } from '../../runtime/state-disk.ts';
import { FieldPlaces } from './field-places.ts';
import { type FileProblem, problemOfFile } from './file-problem.ts';
import { Folder } from './folder.ts';
import { FolderState } from './folder-state.ts';
import { Identities } from './identity.ts';
import { parseFile } from './parse-file.ts';
import { type Scan, scanFolder } from './scan.ts';
import { Settling } from './settling.ts';
import { defaultLimits } from './yaml-documents.ts';

export interface FileBatch {
  /** Objects set or gone, each at most once. */
  readonly changes: readonly Change[];
  /** The whole folder has been read at least once. Until then there are problems only. */
  readonly complete: boolean;
  /** All of them, not only new ones; sorted by file and line. */
  readonly problems: readonly FileProblem[];
}

export interface FileSourceOptions {
  readonly folder: string;
  /** Where to remember generations and last good versions. Absent: they do not survive this process. */
  readonly stateFolder?: string;
  /** Default: `writeAtomic`. */
  readonly write?: WriteFile;
  readonly clock: Clock;
  readonly log: Log;
  /** Called in order; the next batch waits for it. Must not reject. */
  readonly onBatch: (batch: FileBatch) => void | Promise<void>;
}

/** How often the folder is looked at without an event: events get lost when folders come and go. */
const auditMs = 10_000;
/** While something is in the way. */
const troubleAuditMs = 500;

/**
 * Follows a folder of manifests. The watcher only says that something happened; what there is comes from looking,
 * so that a lost or doubled event changes nothing. A folder that cannot be read keeps everything in force.
 */
export class FileSource {
  readonly #options: FileSourceOptions;
  readonly #state: FolderState | undefined;
  readonly #settling = new Settling();
  readonly #pass: Coalescer;
  /** The version of each file that was read last. */
  readonly #read = new Map<string, string>();
  /** Texts to save. */
  readonly #good = new Map<string, string>();
  /** To save: without it an object could be taken for another one after a restart. */
  #entries: ReturnType<Identities['takeChanged']>;
  /** Some saved texts may be of files that are gone. */
  #forget = true;
  #folder: Folder | undefined;
  #identities = new Identities();
  #watcher: FSWatcher | undefined;
  #cancelTimer: (() => void) | undefined;
  #folderProblem: FileProblem | undefined;
  /** Of the folder that was read last. */
  #folderId: string | undefined;
  #reported = '';
  #complete = false;
  #closed = false;
  #running: Promise<void> = Promise.resolve();

  constructor(options: FileSourceOptions) {
    this.#options = options;
    this.#state =
      options.stateFolder === undefined ? undefined : new FolderState(options.stateFolder, options.write);
    this.#pass = new Coalescer(options.clock, 5, () => {
      this.#running = this.#look().catch((error: unknown) => {
        options.log.error({ error: messageOf(error) }, 'reading the folder of manifests went wrong');
      });
      return this.#running;
    });
  }

  /** The folder has been read whole at least once. */
  get complete(): boolean {
    return this.#complete;
  }

  /** Where objects and their fields stand now: for one page. */
  get places(): FieldPlaces {
    return new FieldPlaces(this.#options.folder, (id) => this.#folder?.placeOf(id));
  }

  start(): void {
    this.#watch();
    this.#pass.trigger();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#pass.close();
    this.#cancelTimer?.();
    await this.#running;
    await this.#watcher?.close();
  }

  #watch(): void {
    // Dot files matter here: Kubernetes swaps a mounted folder through a link called `..data`.
    this.#watcher = watch(this.#options.folder, { ignoreInitial: true, persistent: true });
    this.#watcher.on('all', () => this.#pass.trigger());
    this.#watcher.on('error', (error) =>
      this.#options.log.warn({ error: messageOf(error) }, 'watching the folder of manifests went wrong'),
    );
  }

  async #look(): Promise<void> {
    if (this.#closed) return;
    if (!this.#folder) {
      this.#identities = new Identities(await this.#state?.identities());
      this.#folder = new Folder(this.#identities);
    }
    let again = auditMs;
    try {
      const scan = await scanFolder(this.#options.folder);
      this.#doubt(scan);
      this.#folderId = scan.id;
      if (this.#folderProblem) await this.#watchAnew();
      this.#folderProblem = undefined;
      again = Math.min(again, await this.#readChanged(this.#folder, scan));
    } catch (error) {
      again = troubleAuditMs;
      this.#folderProblem = problemOfFile('', `expected a readable folder, found: ${messageOf(error)}`);
    }
    await this.#report(this.#folder);
    if (this.#unsaved) again = Math.min(again, troubleAuditMs);
    this.#cancelTimer?.();
    if (!this.#closed) this.#cancelTimer = this.#options.clock.after(again, () => this.#pass.trigger());
  }

  /**
   * Throws where a folder with nothing in it took the place of one that had something: a disk that is not mounted
   * looks so. Who empties a folder while we look is believed.
   */
  #doubt({ id, files, unreadable }: Scan): void {
    if (files.size + unreadable.size > 0 || id === this.#folderId) return;
    const had = this.#complete ? this.#read.size > 0 : this.#identities.hasAny;
    if (!had) return;
    const remembered = this.#complete
      ? ''
      : '; if that is meant, remove the folder "files" of the state folder';
    throw new Error(
      `an empty one in the place of one that had objects, as if its disk were not mounted${remembered}`,
    );
  }

  /** A watcher of a folder that went away does not see another one of the same name. */
  async #watchAnew(): Promise<void> {
    await this.#watcher?.close();
    if (!this.#closed) this.#watch();
  }

  /** Returns after how many milliseconds to look again. */
  async #readChanged(folder: Folder, scan: Scan): Promise<number> {
    const { clock } = this.#options;
    const now = clock.now();
    const first = !this.#complete;
    let again = auditMs;
    for (const [path, message] of scan.unreadable) {
      folder.fail(path, problemOfFile(path, message));
      this.#read.set(path, '');
    }
    const below = [...scan.unreadable.keys()].map((path) => `${path}/`);
    for (const file of [...this.#read.keys()]) {
      if (scan.files.has(file) || scan.unreadable.has(file) || below.some((b) => file.startsWith(b)))
        continue;
      // With nothing left it is more likely that somebody is replacing the whole folder.
      const wait = this.#settling.wait(file, 'gone', now, scan.files.size === 0 ? 1000 : 100);
      if (wait > 0) {
        again = Math.min(again, wait);
        continue;
      }
      folder.remove(file);
      this.#read.delete(file);
      this.#good.delete(file);
      this.#forget = true;
    }
    for (const [file, version] of scan.files) {
      if (this.#read.get(file) === version) continue;
      const wait = first
        ? 0
        : this.#settling.wait(file, version, now, version.split(':')[2] === '0' ? 300 : 20);
      if (wait > 0) again = Math.min(again, wait);
      else await this.#readFile(folder, file, version, clock.wall());
    }
    if (first && !folder.unsure) this.#identities.prune(folder.presentIds);
    return again;
  }

  async #readFile(folder: Folder, file: string, version: string, now: number): Promise<void> {
    const path = join(this.#options.folder, file);
    let text: string;
    try {
      const size = Number(version.split(':')[2]);
      if (size > 4 * defaultLimits.length)
        throw new Error(`expected at most ${defaultLimits.length} bytes, found ${size}`);
      text = await readFile(path, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
      await this.#recall(folder, file, now);
      folder.fail(file, problemOfFile(file, messageOf(error)));
      this.#read.set(file, version);
      return;
    }
    const parsed = parseFile(file, text);
    const good = !parsed.problems.some((p) => p.severity === 'error');
    if (!good) await this.#recall(folder, file, now);
    folder.set(file, parsed, now);
    this.#read.set(file, version);
    if (good && this.#state) this.#good.set(file, text);
  }

  /** A file that is broken when the process starts: the last good version is on disk. */
  async #recall(folder: Folder, file: string, now: number): Promise<void> {
    if (this.#read.has(file)) return;
    const text = await this.#state?.lastGood(file);
    if (text !== undefined) folder.set(file, parseFile(file, text), now);
  }

  async #report(folder: Folder): Promise<void> {
    const changes = folder.takeChanges(this.#options.clock.wall());
    const problems = this.#folderProblem ? [this.#folderProblem, ...folder.problems()] : folder.problems();
    // What was not read whole must not be mistaken for a folder with nothing in it.
    const complete = this.#complete || this.#folderProblem === undefined;
    const said = JSON.stringify(problems);
    const isNew = complete !== this.#complete || changes.length > 0 || said !== this.#reported;
    if (!isNew && !this.#unsaved) return;
    this.#complete = complete;
    this.#reported = said;
    const entries = this.#identities.takeChanged() ?? this.#entries;
    this.#entries = entries;
    if (entries && (await this.#remember(() => this.#state?.saveIdentities(entries))))
      this.#entries = undefined;
    if (isNew) await this.#options.onBatch({ changes, complete, problems });
    await this.#saveGood();
  }

  get #unsaved(): boolean {
    return this.#entries !== undefined || this.#good.size > 0 || this.#forget;
  }

  async #saveGood(): Promise<void> {
    for (const [file, text] of this.#good) {
      if (!(await this.#remember(() => this.#state?.saveGood(file, text)))) return;
      this.#good.delete(file);
    }
    if (this.#forget && (await this.#remember(() => this.#state?.keepGood(this.#read.keys()))))
      this.#forget = false;
  }

  /** Whether it was saved. State is a convenience: without it, traffic goes on, and it is tried again. */
  async #remember(save: () => Promise<void> | undefined): Promise<boolean> {
    try {
      await save();
      return true;
    } catch (error) {
      this.#options.log.debug({ error: messageOf(error) }, 'the state of the file source was not saved');
      return false;
    }
  }
}
